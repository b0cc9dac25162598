// needs: dockerd docker busybox debootstrap npm git tar ss ps
/**
 * Our own bundle, twice, adopted under real systemd: by the agent that is replaced by it, with the
 * permissions of each role's task, and streams on the router while it is.
 *
 * @module
 */

import assert from "node:assert/strict";
import { fileURLToPath, pathToFileURL } from "node:url";
import { missingFor } from "../../scripts/needs.ts";
import { bundle } from "../../scripts/bundle.ts";
import { TARGETS } from "../../scripts/bundle/runtimes.ts";
import { VERSION } from "../../lib/core/version.ts";
import type { ProcessOutcome } from "../../lib/core/process.ts";
import type { CandidatesStatus } from "../../roles/agent/operations/candidates_shown.ts";
import { publish } from "../../roles/publisher/publish.ts";
import { type Engine, startEngine } from "../fixtures/engine.ts";
import { publishAsk } from "../fixtures/publisher_rig.ts";
import { adopterRig, adopterToml } from "../support/adopter_rig.ts";
import { told } from "../support/agent.ts";
import { DockerRig } from "../support/docker_rig.ts";
import { freePort } from "../support/free_port.ts";
import { clientsToml, OBSERVER, routerToml } from "../support/router_toml.ts";
import { ask, askBody, CHAT, StreamReader } from "../support/stream_reader.ts";
import { SystemdRig } from "../support/systemd_rig.ts";
import { until } from "../support/wait.ts";

const ignore = Deno.build.os !== "linux" || Deno.build.arch !== "x86_64" || Deno.uid() !== 0 ||
  missingFor(import.meta.url).length > 0;
const ROOT = new URL("../../", import.meta.url);
/** Where the host's folder is inside. */
const HOME = "/var/lib/anvil";
const [FIRST, SECOND, BAD] = ["1", "2", "3"].map((digit) => digit.repeat(40)) as [
  string,
  string,
  string,
];
const NEXT = `${VERSION}-next`;
const ROLES = ["router", "agent"] as const;

async function sh(script: string, ...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command("sh", {
    args: ["-euc", script, "sh", ...args],
    cwd: fileURLToPath(ROOT),
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
}

/** Builds the bundle of the tree at `root`, and gives its folder. */
async function build(root: URL, out: string, commit: string): Promise<string> {
  const targets = TARGETS.filter(({ name }) => name === "linux-x64");
  const store = fileURLToPath(new URL(".tools/runtimes", ROOT));
  const revision = { commit, builtAt: Date.UTC(2026, 0, 2) / 1000 };
  const [made] = await bundle({ root, targets, out, store, files: [], revision });
  assert.ok(made !== undefined);
  return `${out}/${made.path.replace(/\/$/, "")}`;
}

/** Two bundles of this tree that say another version, and one whose agent ends at once. */
async function buildAll(at: (name: string) => string): Promise<[string, string, string]> {
  const tree = at("next-tree");
  await sh(
    'mkdir -p "$1"; git ls-files -co --exclude-standard | tar -cf - -T - | tar -xf - -C "$1"; ' +
      'sed -i "s/VERSION = \\"$2\\"/VERSION = \\"$3\\"/" "$1/lib/core/version.ts"',
    ...[tree, VERSION, NEXT],
  );
  const first = await build(ROOT, at("first"), FIRST);
  const second = await build(pathToFileURL(`${tree}/`), at("second"), SECOND);
  const bad = at("bad");
  await sh('cp -r "$1" "$2"; rm "$2/manifest.json"', second, bad);
  await Deno.writeTextFile(`${bad}/lib/anvil-agent.js`, "Deno.exit(1);\n");
  const committed_at = "2026-01-03T00:00:00Z";
  const revision = { rev: BAD, dirty: false, committed_at };
  await Deno.writeTextFile(`${bad}/anvil-revision.json`, JSON.stringify(revision));
  return [first, second, bad];
}

function configs(url: string, engine: Engine, ports: Record<"data" | "admin" | "agent", number>) {
  const probe = (name: string, text: string) =>
    `[[probes]]\nname = "${name}"\nrequired = false\ndeadline_seconds = 10\n${text}\n`;
  const adopter = adopterToml(HOME, url)
    .replace(/"thing\.service"/, ROLES.map((role) => `"anvil-${role}.service"`).join(", "))
    .replace("deadline_seconds = 3\n", "deadline_seconds = 40\n")
    .replace("timeout_seconds = 5", "timeout_seconds = 60")
    .replace(/\[\[gates\]\][\s\S]*/, "") +
    probe("units", 'kind = "unit"\nunits = ["anvil-router.service", "anvil-agent.service"]') +
    probe(
      "router",
      `kind = "http-json"\naddress = "127.0.0.1:${ports.admin}"\n` +
        `target = "/v1/router/status"\ntoken_file = "${HOME}/observer"\npath = "draining"\n` +
        "value = false",
    ) +
    probe("agent", `kind = "tcp"\naddress = "127.0.0.1:${ports.agent}"`);
  return {
    "adopter.toml": adopter,
    "router.toml": routerToml({
      members: [engine.port],
      limits: { drain_seconds: 30 },
      timeouts: { idle_seconds: 60 },
      top: { listen: { data: `127.0.0.1:${ports.data}`, admin: `127.0.0.1:${ports.admin}` } },
    }),
    "clients.toml": clientsToml(),
    "observer": OBSERVER,
    "agent.toml": `schema = 1\nnode = "gpu-a"\nroles = []\nlisten = "127.0.0.1:${ports.agent}"\n` +
      'state = "agent-state"\n[adopter]\n[limits]\ndrain_seconds = 2\n',
  };
}

/** Runs the installed adopter inside, as a person does, and gives what it printed. */
async function byHand(system: SystemdRig, verb: string): Promise<string> {
  const ended: ProcessOutcome = await system.run({
    argv: ["/usr/local/bin/anvil-adopter", verb, `--config=${HOME}/adopter.toml`, "--json"],
    env: { PATH: "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", USER: "root" },
    deadlineMs: 90_000,
    maxOutputBytes: 1024 * 1024,
  });
  const told = "stdout" in ended
    ? new TextDecoder().decode(ended.stdout) + new TextDecoder().decode(ended.stderr)
    : ended.cause;
  assert.ok(ended.kind === "exited" && ended.code === 0, `${verb}: ${ended.kind} ${told}`);
  return new TextDecoder().decode(ended.stdout);
}

/** The agent on its port, whichever build it is. */
class AgentAt {
  readonly #url: string;
  #keys = 0;

  constructor(port: number) {
    this.#url = `http://127.0.0.1:${port}`;
  }

  /** A live call; null when the agent went away before it answered. */
  async call(name: string, input: object = {}, key = `bundle-${++this.#keys}-key`) {
    return await told(
      fetch(`${this.#url}/v1/operations/candidates.${name}`, {
        method: "POST",
        headers: {
          ...{ "x-anvil-node": "gpu-a", "content-type": "application/json" },
          "idempotency-key": key,
        },
        body: JSON.stringify({ input, confirm: true }),
        signal: AbortSignal.timeout(120_000),
      }),
    ).catch(() => null);
  }

  /** Null while nobody answers. */
  async look(): Promise<CandidatesStatus | null> {
    const answer = await this.call("status");
    return answer?.status === 200 ? answer.body["result"] as CandidatesStatus : null;
  }

  async status(): Promise<CandidatesStatus> {
    const seen = await this.look();
    assert.ok(seen !== null, "the agent does not answer");
    return seen;
  }

  async version(): Promise<unknown> {
    const health = await told(fetch(`${this.#url}/health`)).catch(() => null);
    return health?.body["version"] ?? null;
  }
}

Deno.test({
  name:
    "real, bundle: our own router and agent adopt each other's next build, and go back from a bad one",
  ignore,
  async fn(t) {
    const docker = await DockerRig.start();
    if (typeof docker === "string") return console.warn(`skipped: ${docker}`);
    await using _docker = docker;
    await using rig = await adopterRig();
    const built = await buildAll((name) => rig.dir.at(name));
    const [first] = built;
    const { folder } = await rig.host();
    const boot = first.slice(0, first.lastIndexOf("/"));
    const system = await SystemdRig.start(docker, [`${folder}:${HOME}`, `${boot}:${boot}:ro`]);
    if (typeof system === "string") return console.warn(`skipped: ${system}`);
    await using _system = system;
    const engine = await startEngine();
    const ports = { data: freePort(), admin: freePort(), agent: freePort() };
    const agent = new AgentAt(ports.agent);
    const digests = new Map<string, string>();
    const offer = async (tree: string, rev: string, day: number) => {
      const committedAt = `2026-01-0${day}T00:00:00.000Z`;
      const done = await publish(rig.ports, rig.config, publishAsk(tree, rev, { committedAt }));
      assert.ok(done.kind === "published", JSON.stringify(done));
      const { target } = done.payload;
      assert.ok(target.kind === "bundle");
      digests.set(rev, target.digest.replace(/^sha256:/, ""));
    };
    /** Programs of ours that run, as `ROLE DIGEST`. */
    const running = async () => {
      const args = await system.text("ps", "-eo", "args=");
      const found = args.matchAll(
        /generations\/([0-9a-f]{64})\/lib\/anvil-(router|agent)\.js run/g,
      );
      return [...new Set([...found].map(([, digest, role]) => `${role} ${digest}`))].sort();
    };
    const both = (rev: string) => [`agent ${digests.get(rev)}`, `router ${digests.get(rev)}`];
    const ended = (attempt: string | undefined) =>
      until("the attempt ended", async () => {
        const seen = await agent.look();
        const last = seen?.last ?? null;
        return last !== null && last.attempt !== attempt && seen?.attempt === null;
      }, 180_000);
    try {
      await Deno.mkdir(`${folder}/agent-state`);
      for (const [name, text] of Object.entries(configs(rig.url, engine, ports))) {
        await Deno.writeTextFile(`${folder}/${name}`, text, { mode: 0o600 });
      }
      await Deno.copyFile(`${first}/launch/anvil`, `${folder}/store/anvil`);
      await Deno.chmod(`${folder}/store/anvil`, 0o755);
      await system.write(
        "/usr/local/bin/anvil-adopter",
        `#!/bin/sh\ncd ${HOME}\n[ -e store/current ] || exec ${first}/bin/anvil-adopter "$@"\n` +
          'exec store/anvil adopter "$@"\n',
        "755",
      );
      const flags = { router: "", agent: " --allow-unauthenticated-loopback" };
      for (const role of ROLES) {
        await system.write(
          `/etc/systemd/system/anvil-${role}.service`,
          `[Service]\nKillMode=mixed\nTimeoutStopSec=40\nRestart=always\nRestartSec=1\n` +
            `StartLimitIntervalSec=0\nExecStart=${HOME}/store/anvil ${role} ` +
            `run ${HOME}/${role}.toml${flags[role]}\n`,
        );
      }

      await t.step("by hand: the first bundle starts both, and is proven", async () => {
        await offer(first, FIRST, 1);
        for (const verb of ["offer", "stage", "adopt"]) {
          const text = await byHand(system, verb);
          if (verb === "adopt") assert.equal(JSON.parse(text).data.code, "proven", text);
        }
        await until("the agent answers", async () => await agent.version() === VERSION, 30_000);
        assert.deepEqual(await running(), both(FIRST));
      });

      await t.step("through the agent: both are replaced, and a stream is not cut", async () => {
        await offer(built[1], SECOND, 2);
        const staged = await agent.call("stage");
        assert.equal(staged?.status, 200, JSON.stringify(staged?.body));
        const before = await agent.status();
        assert.equal(before.staged?.rev, SECOND);
        // An event every 3 s: it begins before the switch, ends after it, inside the drain budget.
        const stream = await StreamReader.open(
          ports.data,
          ask(CHAT, askBody({ stream: true }), { "x-fixture-fault": "slow-body;ms=3000" }),
        );
        const whole = stream.readUntil("data: [DONE]");
        await until("the engine is at work", () => engine.last !== null, 20_000);
        const asked = agent.call("adopt", {}, "adopt-second");
        const current = async () => (await Deno.readTextFile(`${folder}/store/current`)).trim();
        await until("it switched", async () => await current() === digests.get(SECOND), 60_000);
        assert.ok(!stream.text.includes("[DONE]"), "the stream was over before the switch");
        const told = await asked;
        if (told !== null) assert.equal(told.code, "operation_interrupted", JSON.stringify(told));
        await ended(before.last?.attempt);
        const after = await agent.status();
        assert.deepEqual([after.last?.ending, after.proven?.rev], ["known-good", SECOND]);
        assert.equal(await whole, true, "the stream was cut");
        stream[Symbol.dispose]();
        assert.equal(await agent.version(), NEXT);
        assert.deepEqual(await running(), both(SECOND));
      });

      await t.step(
        "the ledger of the new agent says what became of the old one's run",
        async () => {
          const again = await agent.call("adopt", {}, "adopt-second");
          assert.equal(again?.code, "operation_interrupted", JSON.stringify(again?.body));
          const run = again?.body["run"] as { step: string; effect: string };
          assert.deepEqual([run.step, run.effect], ["adopt", "unknown"]);
        },
      );

      await t.step(
        "a bad agent: the proven bundle runs again, with a failure on record",
        async () => {
          await offer(built[2], BAD, 3);
          const staged = await agent.call("stage");
          assert.equal(staged?.status, 200, JSON.stringify(staged?.body));
          const before = await agent.status();
          await agent.call("adopt", {}, "adopt-bad-one");
          await ended(before.last?.attempt);
          const after = await agent.status();
          assert.equal(after.last?.ending, "rolled-back", JSON.stringify(after.last));
          assert.equal(after.proven?.rev, SECOND);
          assert.equal(after.rejected[0]?.class, "candidate", JSON.stringify(after.rejected));
          assert.equal(after.failures[0]?.unit, "anvil-adopter-activate");
          const marker = `${folder}/failures/anvil-adopter-activate.failure`;
          assert.match(await Deno.readTextFile(marker), /^anvil-failure 1/);
          assert.equal(await agent.version(), NEXT);
          assert.deepEqual(await running(), both(SECOND));
        },
      );
    } finally {
      await engine.close();
    }
  },
});
