import assert from "node:assert/strict";
import { refuse } from "../../lib/core/refusal.ts";
import { sha256 } from "../../lib/host/digest.ts";
import { runProgram } from "../../lib/terminal/program.ts";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { NAME, operatorApp } from "../../roles/operator/app.ts";
import { type Check, CHECKS, type Look } from "../../roles/operator/doctor/look.ts";
import type { DoctorPorts, Operator } from "../../roles/operator/operator.ts";
import { selfSigned } from "../fixtures/certificate.ts";
import { commitFiles, makeRepo } from "../fixtures/git_repo.ts";
import {
  fleetToml,
  goodReply,
  json,
  type NodeScript,
  problem,
  SimulatedNode,
} from "../fixtures/node.ts";
import { operatorAt } from "../fixtures/operator_cli.ts";
import { CANARY } from "../support/dispatch.ts";

const DAY = 86_400_000;
const ID = `tk-${sha256(CANARY).toHex().slice(0, 24)}`;

/** What a test breaks. */
interface World {
  readonly home: string;
  readonly repo: string;
  readonly at: (name: string) => string;
  readonly nodes: readonly [SimulatedNode, SimulatedNode];
  scripts: [NodeScript, NodeScript];
  doctor: Partial<DoctorPorts>;
  open: Operator["dispatch"]["open"] | null;
  ports: Partial<Operator["ports"]>;
  args: string[];
}

/** The tokens that a node lists; the operator's own first. */
function tokens(ours: string | null, other: string | null = null): NodeScript {
  return (request) => {
    if (request.path !== "/v1/operations/tokens.list") return null;
    const row = (client: string, id: string, expires_at: string | null) => ({
      ...{ client, id, expires_at, state: "valid", scopes: ["*"], created_at: null },
    });
    const list = [row("me", ID, ours), row("laptop", "tk-1", other)];
    return json({
      operation: "tokens.list",
      dry_run: false,
      known: false,
      result: { tokens: list },
    });
  };
}

const WELL = tokens(null);
const iso = (ms: number) => new Date(Date.now() + ms).toISOString();

/** A health that differs. */
function health(change: object, headers: Readonly<Record<string, string>> = {}): NodeScript {
  return (request) => {
    const good = goodReply("gpu-a", request);
    if (request.path !== "/health" || good.kind !== "answer") return WELL(request);
    const body = JSON.stringify({ ...JSON.parse(good.body), ...change });
    return { ...good, headers: { date: new Date().toUTCString(), ...headers }, body };
  };
}

const ADOPTER = (url: string) => `schema = 1\nhost = "gpu-a"\n[publisher]\nurl = "${url}"\n`;
const DATED = health({});

/** Runs doctor in a world that is well but for what `arrange` does. */
async function doctor(
  arrange: (world: World) => Promise<void> | void = () => {},
): Promise<{ readonly code: number; readonly looks: readonly Look[]; readonly out: string }> {
  await using dir = await tempDir();
  const scripts: [NodeScript, NodeScript] = [DATED, DATED];
  const dated = (which: 0 | 1): NodeScript => (request) => scripts[which](request);
  await using one = new SimulatedNode("gpu-a", dated(0));
  await using two = new SimulatedNode(
    "gpu-b",
    (request) =>
      request.path === "/health"
        ? scripts[1] === DATED ? renamed(goodReply("gpu-b", request)) : scripts[1](request)
        : scripts[1](request),
  );
  const repo = dir.at("repo");
  const home = dir.at("home");
  await makeRepo(repo, {
    "topology.toml": fleetToml([["gpu-a", one.port], ["gpu-b", two.port]]),
    "hosts/gpu-a/adopter.toml": ADOPTER(`http://127.0.0.1:${one.port}`),
  });
  const world: World = {
    ...{ home, repo, at: dir.at, nodes: [one, two], scripts, ports: {}, open: null },
    doctor: { programFolder: dir.path, completionFiles: [dir.at("completion")] },
    args: ["--repo", repo],
  };
  await Deno.writeTextFile(dir.at("completion"), "anvil-operator __complete");
  const run = async (...args: readonly string[]) => {
    const at = operatorAt(home);
    const operator = {
      ...at,
      ports: { ...at.ports, ...world.ports },
      doctor: { ...at.doctor, ...world.doctor },
      dispatch: world.open === null ? at.dispatch : { ...at.dispatch, open: world.open },
    };
    let out = "";
    const build = { name: NAME, version: "0", build_digest: null, deno: "0", platform: "test" };
    const code = await runProgram(operatorApp(operator), build, args, {
      out: (text) => out += text,
      err: () => {},
      isTerminal: false,
      color: false,
    });
    return { code, out };
  };
  assert.equal((await run("home", "materialize", "--repo", repo, "--rev", "HEAD")).code, 0);
  await Deno.mkdir(`${home}/tokens`, { mode: 0o700 });
  for (const host of ["gpu-a", "gpu-b"]) {
    await Deno.writeTextFile(`${home}/tokens/${host}`, `${CANARY}\n`, { mode: 0o600 });
  }
  await arrange(world);
  const { code, out } = await run("doctor", "--json", "--connect-timeout", "1", ...world.args);
  assert.ok(!out.includes(CANARY), "a token is told");
  return { code, looks: JSON.parse(out).data, out };
}

function renamed(reply: ReturnType<typeof goodReply>): ReturnType<typeof goodReply> {
  return reply.kind === "answer"
    ? { ...reply, headers: { date: new Date().toUTCString() } }
    : reply;
}

const of = (looks: readonly Look[], check: Check) => looks.filter((one) => one.check === check);

Deno.test("doctor: a world that is well passes every check, and exits 0", async () => {
  const { code, looks } = await doctor();
  const bad = looks.filter(({ verdict }) => verdict !== "pass");
  assert.deepEqual(bad, []);
  assert.deepEqual(
    [...new Set(looks.map(({ check }) => check))].sort(),
    Object.keys(CHECKS).sort(),
  );
  assert.equal(code, 0);
});

/** One world per check in which it fails, or is not known where failing is not to be told. */
const BROKEN: readonly (readonly [
  check: Check,
  verdict: "fail" | "warning" | "unknown",
  observed: RegExp,
  arrange: (world: World) => Promise<void> | void,
])[] = [
  ["git", "fail", /git version 2\.20\.1/, (world) => {
    world.ports = { run: answering("git", "git version 2.20.1\n", "") };
  }],
  ["git", "fail", /could not be started/, (world) => {
    world.ports = { searchPath: world.at("nothing") };
  }],
  ["ssh", "unknown", /no OpenSSH client/, (world) => {
    world.ports = { run: answering("ssh", "", "Sun_SSH\n") };
  }],
  ["ssh", "fail", /1 hosts need it/, async (world) => {
    await withSsh(world, HOST_KEY);
    world.ports = { run: answering("ssh", "", "Sun_SSH\n") };
  }],
  [
    "known_host",
    "fail",
    /no public key/,
    (world) => withSsh(world, `ssh-ed25519 ${btoa("\0\0\0\x07ssh-rsa and more of it")}`),
  ],
  ["program", "unknown", /branch switch/, (world) => {
    world.doctor = { ...world.doctor, programFolder: world.repo };
  }],
  ["completion", "fail", /does not ask this program/, async ({ at }) => {
    await Deno.writeTextFile(at("completion"), "complete -W 'home fleet' anvil-operator\n");
  }],
  ["completion", "unknown", /no usual place/, ({ at }) => Deno.remove(at("completion"))],
  ["disk_space", "fail", /^12 MiB free/, (world) => {
    const seen = { kind: "seen", bytes: 12.5 * 1024 * 1024 } as const;
    world.doctor = { ...world.doctor, freeBytes: () => Promise.resolve(seen) };
  }],
  ["disk_space", "unknown", /does not tell/, (world) => {
    const no = { ...refuse("space_unknown", "it does not tell"), cause: "" } as const;
    world.doctor = { ...world.doctor, freeBytes: () => Promise.resolve(no) };
  }],
  ["live_paths", "fail", /inside a git repository/, async (world) => {
    await Deno.rename(`${world.home}/tokens`, `${world.repo}/tokens`);
    world.args.push("--tokens", `${world.repo}/tokens`);
  }],
  ["live_paths", "fail", /inside a git repository/, async ({ home }) => {
    await makeRepo(home, {});
  }],
  ["live_set", "fail", /1 files differ/, async ({ home }) => {
    const [{ name } = { name: "" }] = [...Deno.readDirSync(`${home}/generations`)];
    const path = `${home}/generations/${name}/files/hosts/gpu-a/adopter.toml`;
    await Deno.chmod(path, 0o600);
    await Deno.writeTextFile(path, "schema = 2\n");
  }],
  ["live_set", "fail", /does not say which/, async ({ home }) => {
    await Deno.writeTextFile(`${home}/current`, "{");
  }],
  ["topology", "fail", /differs from its receipt/, async ({ home }) => {
    const [{ name } = { name: "" }] = [...Deno.readDirSync(`${home}/generations`)];
    const path = `${home}/generations/${name}/files/topology.toml`;
    await Deno.chmod(path, 0o600);
    await Deno.writeTextFile(path, "schema = 2\n");
  }],
  ["history", "fail", /not what was written/, async ({ home }) => {
    await Deno.writeTextFile(`${home}/history.jsonl`, "{}\n");
  }],
  ["readable", "fail", /something other than a file|regular/, async ({ home }) => {
    await Deno.remove(`${home}/seen.json`).catch(() => {});
    await Deno.mkdir(`${home}/seen.json`);
  }],
  ["clock", "fail", /behind the last switch/, (world) => {
    const { clock } = operatorAt(world.home).ports;
    const late = { ...clock, now: () => Date.now() - DAY };
    world.ports = {
      clock: {
        now: late.now,
        monotonic: () => clock.monotonic(),
        sleep: (ms, signal) => clock.sleep(ms, signal),
      },
    };
  }],
  ["materialisation", "fail", /1 commits behind HEAD/, async ({ repo }) => {
    await commitFiles(repo, { "notes.txt": "x\n" });
  }],
  ["materialisation", "unknown", /which repository/, (world) => void (world.args = [])],
  [
    "secret_files",
    "fail",
    /observed mode 0644/,
    ({ home }) => Deno.chmod(`${home}/tokens/gpu-a`, 0o644),
  ],
  ["secret_files", "fail", /symbolic link/, async ({ home, at }) => {
    await Deno.rename(`${home}/tokens/gpu-a`, at("elsewhere"));
    await Deno.symlink(at("elsewhere"), `${home}/tokens/gpu-a`);
  }],
  ["unfinished", "fail", /not in its place/, async ({ home }) => {
    await Deno.mkdir(`${home}/tokens/.pending-gpu-a`);
  }],
  [
    "unfinished",
    "fail",
    /rotation over several hosts/,
    ({ home }) => Deno.mkdir(`${home}/tokens/.rotation`),
  ],
  ["unfinished", "fail", /config install of router.toml .* was cut short/, async ({ home }) => {
    const folder = `${home}/arrows/20260101T000000000Z-install-gpu-a-router.toml`;
    await Deno.mkdir(folder, { recursive: true });
    await Deno.writeTextFile(`${folder}/receipt.json`, JSON.stringify(CUT_SHORT));
  }],
  ["tokens", "fail", /no token gpu-b/, ({ home }) => Deno.remove(`${home}/tokens/gpu-b`)],
  ["agents", "fail", /unreachable: connection_refused/, ({ nodes }) => nodes[1].refuse()],
  ["agents", "fail", /unauthorized: token_unknown/, ({ scripts }) => {
    scripts[0] = ({ path }) => path === "/health" ? problem(401, "token_unknown") : null;
  }],
  ["agents", "fail", /wrong_node/, ({ scripts }) => {
    scripts[0] = () => ({
      ...{ kind: "answer", status: 200, body: "", headers: { "x-anvil-node": "gpu-z" } },
    });
  }],
  ["clocks", "fail", /3(599|600) s ahead/, ({ scripts }) => {
    scripts[0] = health({}, { date: new Date(Date.now() + 3_600_000).toUTCString() });
  }],
  ["clocks", "unknown", /has no date/, ({ scripts }) => {
    scripts[0] = health({}, { date: "" });
  }],
  ["versions", "warning", /0\.2\.0 on 1, .* on 1; they speak one protocol/, ({ scripts }) => {
    scripts[0] = health({ version: "0.2.0" });
  }],
  ["versions", "fail", /speaks protocol 2/, ({ scripts }) => {
    scripts[0] = health({ protocol: 2 });
  }],
  ["token_ends", "fail", /our own token: ends in 2 d/, ({ scripts }) => {
    scripts[0] = also(tokens(iso(3 * DAY - 60_000)));
  }],
  ["token_ends", "fail", /laptop, tk-1: over since 3 d/, ({ scripts }) => {
    scripts[0] = also(tokens(null, iso(-3 * DAY - 60_000)));
  }],
  ["token_ends", "unknown", /does not list its tokens: scope_missing/, ({ scripts }) => {
    scripts[0] = also(({ path }) =>
      path.endsWith("tokens.list") ? problem(403, "scope_missing") : null
    );
  }],
  ["certificates", "fail", /^it ends in \d+ h|^it ends in 23 h|^it ends in 1 d/, async (world) => {
    // A certificate of tests is good for a day.
    const { cert } = await selfSigned("127.0.0.1");
    await Deno.writeTextFile(world.at("ca.pem"), cert);
    world.args.push("--ca", world.at("ca.pem"));
  }],
  ["publisher", "fail", /connect_refused; gpu-a would stage nothing/, async (world) => {
    using free = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = free.addr as Deno.NetAddr;
    await review(world, { "hosts/gpu-a/adopter.toml": ADOPTER(`http://127.0.0.1:${port}`) });
  }],
  [
    "publisher",
    "fail",
    /publisher\.url/,
    (world) => review(world, { "hosts/gpu-a/adopter.toml": ADOPTER("ftp://x") }),
  ],
  ["publisher", "unknown", /no adopter\.toml/, async (world) => {
    const text = await Deno.readTextFile(`${world.repo}/topology.toml`);
    const adopts = '[hosts.gpu-b]\nadoption = { policy = "rolling", reboot = "notify" }';
    await review(world, { "topology.toml": text.replace("[hosts.gpu-b]", adopts) });
  }],
];

const CUT_SHORT = {
  ...{ schema: 1, arrow: "install", host: "gpu-a", file: "router.toml", path: null },
  ...{ live_sha256: null, home_sha256: "0".repeat(64), generation: null, commit: null },
  ...{ patch_sha256: null, withheld: null, outcome: "sent", code: null, change: null },
  ...{ backup: null, at: "2026-01-01T00:00:00.000Z", by: "tester" },
};

const HOST_KEY = `ssh-ed25519 ${btoa(`\0\0\0\x0bssh-ed25519\0\0\0\x20${"k".repeat(32)}`)}`;

function also(script: NodeScript): NodeScript {
  return async (request) => await script(request) ?? DATED(request);
}

async function review(world: World, files: Readonly<Record<string, string>>): Promise<void> {
  const commit = await commitFiles(world.repo, files);
  const { materialize } = await import("../../lib/home/materialize.ts");
  const { ports } = operatorAt(world.home);
  const ask = { repo: world.repo, rev: commit, path: "", by: "tester" };
  const made = await materialize(ports, world.home, ask);
  assert.equal(made.kind, "materialized", JSON.stringify(made));
}

async function withSsh(world: World, key: string): Promise<void> {
  const text = await Deno.readTextFile(`${world.repo}/topology.toml`);
  await review(world, {
    "topology.toml":
      `${text}[[transports]]\nhost = "gpu-a"\nkind = "ssh"\naddress = "192.0.2.7"\n` +
      `user = "anvil"\nknown_host = "${key}"\n`,
  });
}

function answering(program: string, stdout: string, stderr: string): Operator["ports"]["run"] {
  const real = operatorAt("/").ports.run;
  const bytes = (text: string) => new TextEncoder().encode(text);
  return (ask) => {
    const asked = ask.argv[0] === program && ask.argv.some((word) => /^(--version|-V)$/.test(word));
    return asked
      ? Promise.resolve({ kind: "exited", code: 0, stdout: bytes(stdout), stderr: bytes(stderr) })
      : real(ask);
  };
}

for (const [check, verdict, observed, arrange] of BROKEN) {
  Deno.test(`doctor: ${check} is ${verdict}: ${observed.source}`, async () => {
    const { code, looks } = await doctor(arrange);
    const found = of(looks, check);
    const one = found.find((look) => look.verdict === verdict && observed.test(look.observed));
    assert.ok(one !== undefined, JSON.stringify(found, null, 1));
    assert.ok((one.next ?? "").length > 0, "it says what to do");
    const fails = looks.some((look) => look.verdict === "fail");
    assert.equal(code, fails ? 1 : 0);
    if (verdict !== "unknown") assert.equal(fails, verdict === "fail", JSON.stringify(looks));
  });
}

Deno.test("doctor: every check has a world in which it fails, or at least does not pass", () => {
  const broken = new Set(BROKEN.map(([check]) => check));
  // Without a home nothing but the machine can be looked at: the next test.
  const rest = Object.keys(CHECKS).filter((check) => !broken.has(check as Check));
  assert.deepEqual(rest, ["home"]);
});

Deno.test("doctor: --offline asks nobody, and what needs the network is unknown, not a pass", async () => {
  let asked = -1;
  const { code, looks } = await doctor((world) => {
    asked = world.nodes[0].connections + world.nodes[1].connections;
    world.args.push("--offline");
  });
  assert.equal(asked, 0);
  const net: readonly Check[] = ["tokens", "agents", "clocks", "versions", "token_ends"];
  for (const check of [...net, "certificates", "publisher"] as const) {
    assert.deepEqual(of(looks, check).map(({ verdict }) => verdict), ["unknown"], check);
  }
  assert.equal(code, 0);
  const strict = await doctor((world) => void world.args.push("--offline", "--require-all"));
  assert.equal(strict.code, 1, "an unknown is no pass");
});

Deno.test("doctor: a machine without a network has unknowns, where a host that is down is a fail", async () => {
  const { looks, code } = await doctor((world) => {
    const none = { kind: "failed", code: "connect_unreachable", sent: "no", cause: "" } as const;
    world.open = () => () => ({ send: () => Promise.resolve(none), close: () => {} });
  });
  const agents = of(looks, "agents");
  assert.deepEqual(agents.map(({ verdict }) => verdict), ["unknown", "unknown"]);
  for (const check of ["clocks", "versions", "token_ends", "publisher"] as const) {
    assert.deepEqual(of(looks, check).map(({ verdict }) => verdict), ["unknown"], check);
  }
  assert.equal(code, 0);
});

Deno.test("doctor: its guide has every check, and no other", async () => {
  const page = await Deno.readTextFile(new URL("../../docs/guides/doctor.md", import.meta.url));
  const told = [...page.matchAll(/^\| `([a-z_]+)`/gm)].map(([, check]) => check).sort();
  assert.deepEqual(told, Object.keys(CHECKS).sort());
});

Deno.test("doctor: a rollout under way is a warning, until every check must pass", async () => {
  const mixed = async (...args: readonly string[]) => {
    const seen = await doctor((world) => {
      world.scripts[0] = health({ version: "0.2.0" });
      world.args.push(...args);
    });
    const bad = seen.looks.filter(({ verdict }) => verdict !== "pass");
    assert.deepEqual(bad.map(({ check, verdict }) => [check, verdict]), [["versions", "warning"]]);
    assert.match(bad[0]?.next ?? "", /`fleet versions`.*candidates\.status/);
    return seen.code;
  };
  assert.equal(await mixed(), 0);
  assert.equal(await mixed("--require-all"), 1);
});

Deno.test("doctor: another protocol fails, whatever its version; a mix beside it is still told", async () => {
  const { code, looks } = await doctor(({ scripts }) => {
    scripts[0] = health({ protocol: 2, version: "0.2.0" });
  });
  assert.deepEqual(of(looks, "versions").map(({ verdict, subject }) => [verdict, subject]), [
    ["fail", "gpu-a"],
  ]);
  assert.equal(code, 1);
});
