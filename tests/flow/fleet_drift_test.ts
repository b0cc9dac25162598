import assert from "node:assert/strict";
import { good, ports } from "../fixtures/home_rig.ts";
import {
  fleetToml,
  json,
  type NodeScript,
  nodeWith,
  problem,
  SimulatedNode,
} from "../fixtures/node.ts";
import { operator, type Said } from "../fixtures/operator_cli.ts";
import { makeRepo } from "../fixtures/git_repo.ts";
import { hostFiles } from "../../lib/home/host_files.ts";
import { liveTopology, openHome, readSet } from "../../lib/home/open_home.ts";
import {
  adopterToml,
  agentToml,
  publisherToml,
  receiverToml,
  SPECS,
} from "../fleet/description.ts";
import { TOKENS } from "../support/agent.ts";
import { type DriftHost, driftHost, hexOf } from "../support/drift_host.ts";
import { adopterRig, adopterToml as rigAdopterToml } from "../support/adopter_rig.ts";
import { freePort } from "../support/free_port.ts";
import { roleWords } from "../support/role_process.ts";

const ROUTER = 'schema = 1\nnode = "gpu-a"\n';
const UNIT = "[Unit]\nDescription=a router\n# /etc/systemd/system/not-a-heading\n";
const BUILD = "b".repeat(64);

interface Item {
  readonly kind: string;
  readonly name: string;
  readonly state: string;
  readonly code: string | null;
  readonly keys: readonly string[];
}
interface Row {
  readonly host: string;
  readonly verdict: string;
  readonly failed: { readonly code: string } | null;
  readonly items: readonly Item[];
}

/** A fleet whose home is live and whose host gpu-a has all of it installed. */
class Fleet implements AsyncDisposable {
  readonly host: DriftHost;
  readonly #home: string;

  private constructor(host: DriftHost, home: string) {
    this.host = host;
    this.#home = home;
  }

  /** `more` are further files of the set, null takes one out of it; `toml` is of its agent.toml. */
  static async of(
    others: readonly (readonly [string, number])[] = [],
    more: Readonly<Record<string, string | null>> = {},
    toml = "",
  ): Promise<Fleet> {
    const host = await driftHost(toml);
    const home = host.dir.at("home");
    const topology = fleetToml([["gpu-a", host.agent.agent.port], ...others])
      .replace("roles = []", 'roles = ["router"]');
    const set = {
      "topology.toml": topology,
      "builds.toml": `schema = 1\nbuild = "${BUILD}"\n`,
      "hosts/gpu-a/router.toml": ROUTER,
      "hosts/gpu-a/extra/notes.txt": "read me\n",
      "hosts/gpu-a/units/anvil-router.service": UNIT,
      ...Object.fromEntries(others.map(([id]) => [`hosts/${id}/router.toml`, ROUTER])),
      ...more,
    };
    const texts = Object.entries(set).filter((one): one is [string, string] => one[1] !== null);
    const commit = await makeRepo(host.dir.at("repo"), Object.fromEntries(texts));
    await good(home, host.dir.at("repo"), commit);
    await Deno.mkdir(`${home}/tokens`, { mode: 0o700 });
    for (const [id] of [["gpu-a"] as const, ...others]) {
      await Deno.writeTextFile(`${home}/tokens/${id}`, TOKENS.all, { mode: 0o600 });
    }
    const live = await openHome(ports, home);
    assert.ok(live.kind === "live");
    const held = await readSet(ports, home, live.receipt);
    const read = await liveTopology(ports, home, live);
    assert.ok(!("kind" in held) && !("kind" in read));
    const files = hostFiles(held, read.fleet, "gpu-a", "native");
    assert.ok(files.kind === "ok");
    for (const { path, bytes } of files.files) {
      if (path.startsWith("units/")) continue;
      await Deno.mkdir(host.etc(path).replace(/\/[^/]*$/, ""), { recursive: true });
      await Deno.writeFile(host.etc(path), bytes, { mode: 0o644 });
    }
    host.units.set("anvil-router.service", { text: UNIT, dropIns: new Map(), reloadDue: false });
    host.router = { config_digest: hexOf(ROUTER), build_digest: BUILD };
    host.installed = BUILD;
    return new Fleet(host, home);
  }

  drift(...more: readonly string[]): Promise<Said> {
    return operator(this.#home, "fleet", "drift", ...more);
  }

  async row(host = "gpu-a"): Promise<Row> {
    const { out, err } = await this.drift("--json");
    const rows = JSON.parse(out).data.fleet as Row[];
    const row = rows.find((one) => one.host === host);
    assert.ok(row, out + err);
    return row;
  }

  /** Items of gpu-a that are not as they should be, without those this rig always has. */
  async items(): Promise<readonly string[]> {
    const { items } = await this.row();
    return items.filter(({ name }) => name !== "anvil-agent running")
      .map(({ kind, name, state, code }) => [kind, name, state, code ?? ""].join(" ").trim());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.host[Symbol.asyncDispose]();
  }
}

Deno.test("drift: edited, missing, extra, router, unit and build are each found, alone", async () => {
  await using fleet = await Fleet.of();
  const { host } = fleet;
  assert.deepEqual(await fleet.items(), [], "what was installed is identical");
  const restore = async () => {
    await Deno.writeTextFile(host.etc("router.toml"), ROUTER);
    host.router = { config_digest: hexOf(ROUTER), build_digest: BUILD };
    host.installed = BUILD;
  };

  await Deno.writeTextFile(host.etc("router.toml"), ROUTER.replace("gpu-a", "gpu-b"));
  assert.deepEqual(await fleet.items(), ["file router.toml differs"]);
  const [edited] = (await fleet.row()).items;
  assert.deepEqual(edited?.keys, ["node"], "the keys that differ, not the values");
  await Deno.remove(host.etc("router.toml"));
  assert.deepEqual(await fleet.items(), ["file router.toml missing"]);
  await restore();

  await Deno.writeTextFile(host.etc("extra/other.toml"), "a = 1\n");
  assert.deepEqual(await fleet.items(), ["file extra/other.toml extra"]);
  await Deno.remove(host.etc("extra/other.toml"));
  await Deno.symlink("/etc/hostname", host.etc("link.toml"));
  assert.deepEqual(await fleet.items(), ["file link.toml extra file_is_link"]);
  await Deno.remove(host.etc("link.toml"));

  host.router = { config_digest: "0".repeat(64), build_digest: BUILD };
  assert.deepEqual(await fleet.items(), [
    "router running configuration differs router_digest_differs",
  ]);
  host.router = { config_digest: hexOf(ROUTER), build_digest: "c".repeat(64) };
  assert.deepEqual(await fleet.items(), [
    "build anvil-router running differs build_differs",
    "build anvil-router running differs restart_due",
  ]);
  await restore();
  host.installed = "c".repeat(64);
  assert.deepEqual(await fleet.items(), [
    "build anvil-router installed differs build_differs",
    "build anvil-router running differs restart_due",
  ]);
  await restore();

  const unit = host.units.get("anvil-router.service");
  assert.ok(unit);
  unit.text = UNIT.replace("a router", "another");
  assert.deepEqual(await fleet.items(), ["unit anvil-router.service differs"]);
  unit.text = UNIT;
  unit.dropIns.set("override.conf", "[Service]\nUser=root\n");
  assert.deepEqual(await fleet.items(), ["unit anvil-router.service.d/override.conf extra"]);
  unit.dropIns.clear();
  unit.reloadDue = true;
  assert.deepEqual(await fleet.items(), ["unit anvil-router.service differs unit_reload_due"]);
  unit.reloadDue = false;
  host.units.set("anvil-agent.service", { text: "", dropIns: new Map(), reloadDue: false });
  assert.deepEqual(await fleet.items(), ["unit anvil-agent.service extra"]);
  host.units.clear();
  assert.deepEqual(await fleet.items(), ["unit anvil-router.service missing"]);
});

Deno.test("drift: what cannot be looked at is unknown, and unknown is no success", async () => {
  await using fleet = await Fleet.of();
  const { host } = fleet;
  host.router = null;
  assert.ok((await fleet.items()).includes("router running configuration unknown router_refused"));
  host.router = { config_digest: hexOf(ROUTER), build_digest: BUILD };
  host.systemctl = 1;
  assert.deepEqual(await fleet.items(), [
    "unit anvil-router.service unknown supervisor_unreadable",
  ]);
  host.systemctl = 0;
  // A file with a second name would let whoever has the other one choose what is read.
  await Deno.link(host.etc("router.toml"), host.dir.at("second-name"));
  assert.deepEqual(await fleet.items(), ["file router.toml unknown file_hard_linked"]);
  const { code, out } = await fleet.drift();
  assert.equal(code, 1);
  assert.match(out, /^gpu-a +drift +build +anvil-agent running +differs /m);
  assert.match(out, /^ +file +router\.toml +unknown .*file_hard_linked$/m);
});

Deno.test("drift: secrets are the host's own; they are named, and not hashed", async () => {
  await using fleet = await Fleet.of();
  const { host } = fleet;
  await Deno.writeTextFile(host.etc("router.token"), "hunter2\n", { mode: 0o600 });
  assert.deepEqual(await fleet.items(), ["file router.token own"]);
  const told = await host.agent.call("config.digests", { input: {} });
  const text = JSON.stringify(told.body);
  assert.ok(text.includes("router.token") && text.includes("digest_withheld"));
  assert.ok(!text.includes(hexOf("hunter2\n")), "a digest of a short secret tells it");
  assert.ok(!text.includes("node ="), "no content");
});

Deno.test("drift: nodes that are down, barred, older or wrong are told of, and none is identical", async () => {
  const digests = (result: unknown): NodeScript =>
    nodeWith({
      "config.digests": () =>
        json({ operation: "config.digests", dry_run: false, known: false, result }),
    });
  const scripts: Readonly<Record<string, NodeScript>> = {
    barred: ({ path }) => path === "/health" ? problem(401, "token_unknown") : null,
    older: nodeWith({
      "config.inventory": () =>
        json({
          ...{ operation: "config.inventory", dry_run: false, known: false },
          result: {
            files: ["topology.toml", "router.toml"].map((name) => (
              { name, state: "absent", sha256: null }
            )),
          },
        }),
    }),
    strange: digests({ files: 7 }),
    loud: digests({
      ...{ left_out: 0, units: [], programs: [] },
      files: [{ name: "\u001b[2J\u009b31m\u202e", own: false, state: "present", sha256: null }],
    }),
  };
  await using stack = new AsyncDisposableStack();
  const nodes = Object.entries(scripts).map(([name, script]) =>
    stack.use(new SimulatedNode(name, script))
  );
  await using fleet = await Fleet.of([
    ...nodes.map(({ name, port }) => [name, port] as const),
    ["gone", freePort()],
  ]);
  const { code, out, err } = await fleet.drift();
  assert.equal(code, 1);
  assert.doesNotMatch(out + err, /[^\n\P{Cc}]|\u202e/u);
  assert.match(out, /^gone +unknown .*connection_refused/m);
  assert.match(out, /^barred +unknown .*token_unknown/m);
  const older = await fleet.row("older");
  assert.deepEqual(
    older.items.filter(({ kind }) => kind === "file").map(({ name, state, code }) => [
      ...[name, state, code],
    ]),
    [["router.toml", "missing", null], ["…", "unknown", "files_left_out"]],
  );
  const strange = await fleet.row("strange");
  assert.deepEqual(strange.items.find(({ kind }) => kind === "file")?.code, "answer_unreadable");
  // Problems come first.
  const hosts = out.split("\n").flatMap((line) => /^(\S+) +(drift|unknown) /.exec(line)?.[2] ?? []);
  assert.deepEqual(hosts, [...hosts].sort());
});

Deno.test("drift: a bootstrapped host is called identical once it has proven what it runs", async () => {
  await using rig = await adopterRig();
  const adopter = await rig.host();
  const { folder } = adopter;
  const cache = Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`;
  const program = [
    ...["env", "-C", folder, `DENO_DIR=${cache}`, Deno.execPath()],
    ...await roleWords("adopter", folder),
  ];
  await using fleet = await Fleet.of(
    [],
    {},
    `[adopter]\nconfig = "${folder}/adopter.toml"\noutside = []\n` +
      `program = ${JSON.stringify(program)}\n`,
  );
  const { agent } = fleet.host;
  const text = rigAdopterToml(folder, rig.url).replace(/\[\[gates\]\][\s\S]*/, "") +
    `[[probes]]\nname = "agent"\nkind = "tcp"\naddress = "127.0.0.1:${agent.agent.port}"\n`;
  await Deno.writeTextFile(`${folder}/adopter.toml`, text);
  const target = await rig.publish("one");
  assert.ok(target?.kind === "bundle");
  await rig.bootstrap(adopter, target.digest);
  let keys = 0;
  const call = async (verb: string) => {
    const told = await agent.call(
      `candidates.${verb}`,
      { input: {}, confirm: true, dry_run: false },
      { key: `drift-proof-${++keys}` },
    );
    return (told.body["result"] as Record<string, unknown>)["code"];
  };
  assert.equal(await call("stage"), "already_current");
  // This adopter is run from its source, which is no build: that is told beside it.
  const generation = async () =>
    (await fleet.items()).filter((item) => item.startsWith("generation "));
  assert.deepEqual(await generation(), ["generation current unknown nothing_proven"]);
  assert.equal(await call("adopt"), "proven");
  assert.deepEqual(await generation(), []);
});

/** What a host's owner installs by our guides, besides the router's file. */
const BY_OWNER: Readonly<Record<string, string>> = {
  "agent.toml": agentToml("192.0.2", SPECS["gpu-a"], "f".repeat(64)),
  "adopter.toml": adopterToml("192.0.2", SPECS["gpu-a"]),
  "receiver.toml": receiverToml("gpu-a"),
  "publisher.toml": publisherToml("192.0.2"),
  "trust.json": `{"schema":1,"keys":[{"id":"${"0a".repeat(8)}","public":"${
    "0123456789abcdef".repeat(4)
  }"}]}\n`,
  "authorized_keys": 'command="/opt/anvil-receiver/bin/anvil-receiver serve ' +
    '/etc/anvil/receiver.toml --log /var/lib/anvil/receiver/log.jsonl",restrict ssh-ed25519 ' +
    "AAAAC3NzaC1lZDI1NTE5AAAAIExampleExampleExampleExampleExampleExampleExamp operator\n",
};

Deno.test("drift: a host set up by our guides is identical from its first day, and says each edit", async () => {
  const set = Object.entries(BY_OWNER).map(([name, text]) => [`hosts/gpu-a/${name}`, text]);
  // This agent runs from source, and never as a build.
  await using fleet = await Fleet.of([], { ...Object.fromEntries(set), "builds.toml": null });
  const { host } = fleet;
  await Deno.chmod(host.etc("receiver.toml"), 0o600); // as the guide has it
  const clean = await fleet.drift();
  assert.equal(clean.code, 0, clean.out + clean.err);
  assert.equal((await fleet.row()).verdict, "identical");

  for (const [name, text] of Object.entries(BY_OWNER)) {
    await Deno.writeTextFile(host.etc(name), `${text}# edited\n`);
    assert.deepEqual(await fleet.items(), [`file ${name} differs`]);
    assert.equal((await fleet.drift()).code, 1);
    await Deno.remove(host.etc(name));
    assert.deepEqual(await fleet.items(), [`file ${name} missing`]);
    await Deno.writeTextFile(host.etc(name), text);
  }
  assert.equal((await fleet.drift()).code, 0, "repaired");
});

Deno.test("drift: a view of the topology is missed where serves are held against it alone", async () => {
  await using fleet = await Fleet.of([], { "builds.toml": null });
  const { host } = fleet;
  const view = await Deno.readTextFile(host.etc("topology.toml"));
  await Deno.remove(host.etc("topology.toml"));
  assert.equal((await fleet.drift()).code, 0, "nothing there reads it");
  await Deno.writeTextFile(host.etc("topology.toml"), `${view}# edited\n`);
  assert.deepEqual(await fleet.items(), ["file topology.toml differs"]);
});
