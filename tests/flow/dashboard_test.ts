import assert from "node:assert/strict";
import { canonicalJson } from "../../lib/core/canonical_json.ts";
import { sha256 } from "../../lib/host/digest.ts";
import { type TempDir, tempDir } from "../../lib/testing/temp_dir.ts";
import { type Dashboard, startDashboard } from "../../roles/operator/dashboard/dashboard.ts";
import { POLICY } from "../../roles/operator/dashboard/guard.ts";
import { READS } from "../../roles/operator/dashboard/reads.ts";
import {
  fleetToml,
  json,
  nodeHealth,
  type NodeScript,
  nodeWith,
  SimulatedNode,
} from "../fixtures/node.ts";
import { operatorAt } from "../fixtures/operator_cli.ts";
import { startAgentRig, TOKENS } from "../support/agent.ts";
import { CANARY } from "../support/dispatch.ts";
import { freePort } from "../support/free_port.ts";
import { until } from "../support/wait.ts";

const MARKUP = `<img src=x onerror="alert(1)"><script>alert(2)</script>`;
const done = (operation: string, result: unknown) =>
  json({ operation, dry_run: false, known: false, result });

/** A host with everything, whose words are markup wherever it can say one. */
const TALKS: NodeScript = nodeWith({
  "router.status": () =>
    done("router.status", {
      status: {
        ...{ draining: false, aliases: { [MARKUP]: MARKUP, "llm.primary": "primary" } },
        tiers: [{
          ...{ tier: MARKUP, intent: "admit", readiness: "not_ready", in_flight: 7, waiting: 0 },
          members: [{ id: MARKUP, state: "ready", expected: MARKUP, observed: MARKUP, age_ms: 1 }],
        }],
        paces: [{ tier: MARKUP, requests: 1, failed: 0, duration_ms: { p50: 1, p95: 321 } }],
      },
    }),
  "serves.list": () => done("serves.list", { host: {}, serves: [] }),
  "candidates.status": () =>
    done("candidates.status", {
      ...{ freshness: "stale", why: MARKUP, state: MARKUP, offered: null, pending_boot: null },
      ...{ proven: { rev: MARKUP, at: "2026-01-01T00:00:00.000Z" }, last: null },
      failures: [{ code: MARKUP, last: "2026-01-01T00:00:00.000Z" }],
    }),
}, { version: MARKUP });

/** A folder with a topology and tokens, and a dashboard on it. */
async function start(
  dir: TempDir,
  hosts: readonly (readonly [id: string, port: number])[],
  more: {
    readonly token?: (host: string) => string;
    readonly operatorTokens?: boolean;
    readonly rereadMs?: number;
  } = {},
): Promise<Dashboard & AsyncDisposable> {
  const { token = (host) => `${host}-dashboard`, operatorTokens = false, rereadMs } = more;
  await Deno.writeTextFile(dir.at("topology.toml"), fleetToml(hosts));
  await Deno.mkdir(dir.at("tokens"), { recursive: true, mode: 0o700 });
  for (const [host] of hosts) {
    await Deno.writeTextFile(dir.at(`tokens/${token(host)}`), CANARY, { mode: 0o600 });
  }
  const troubles: string[] = [];
  const dashboard = await startDashboard(operatorAt(dir.at("home")), {
    ...{ topology: dir.at("topology.toml"), tokens: dir.at("tokens"), connectTimeout: 2, port: 0 },
    operatorTokens,
    ...(rereadMs === undefined ? {} : { rereadMs }),
  }, (line) => troubles.push(line));
  assert.ok(dashboard.kind === "listening", JSON.stringify(dashboard));
  return Object.assign(dashboard, {
    async [Symbol.asyncDispose]() {
      await dashboard.stop();
      assert.deepEqual(troubles, []);
    },
  });
}

const asked = (dashboard: Dashboard) => () =>
  Promise.resolve(dashboard.watch.views.every(({ look }) => look !== null));
const textAt = async (url: string) => (await fetch(url)).text();

Deno.test("dashboard: hosts that answer, that do not, and that are somebody else; all escaped", async () => {
  await using dir = await tempDir();
  await using talks = new SimulatedNode("talks", TALKS);
  await using plain = new SimulatedNode("plain");
  await using other = new SimulatedNode("somebody");
  await using dashboard = await start(dir, [
    ["talks", talks.port],
    ["plain", plain.port],
    ["other", other.port],
    ["gone", freePort()],
  ]);
  await until("all were asked", asked(dashboard));
  const page = await textAt(dashboard.url);
  const row = (host: string) =>
    new RegExp(`<tr id="h-${host}".*?</tr>`, "s").exec(page)?.[0].replaceAll(/<[^>]+>/g, " ") ?? "";
  assert.match(row("plain"), /answers .* no router/s);
  assert.match(row("gone"), /unreachable .*connection_refused/s);
  assert.match(row("other"), /wrong node .*node somebody answers there/s);
  assert.ok(!/answers/.test(row("gone") + row("other").replace("answers there", "")));
  assert.match(row("talks"), /321 ms/);
  const sheet = await textAt(`${dashboard.url}host/talks`);
  for (const text of [page, sheet]) {
    assert.ok(!/<img|<script>|onerror="/.test(text), "a node's word became markup");
    assert.ok(text.includes("&lt;img src=x onerror=&quot;alert(1)&quot;&gt;"));
    assert.ok(!text.includes(CANARY));
  }
  assert.match(page, /All 4<\/a>/);
  assert.match(page, /Attention 3<\/a>/);
});

Deno.test("dashboard: nodes are asked for nothing but the table's reads", async () => {
  await using dir = await tempDir();
  await using talks = new SimulatedNode("talks", TALKS);
  await using liar = new SimulatedNode(
    "liar",
    nodeWith({ "serves.list": () => done("serves.list", { serves: [] }) }),
  );
  await using dashboard = await start(dir, [["talks", talks.port], ["liar", liar.port]]);
  await until("all were asked", asked(dashboard));
  const allowed = [
    ...["/livez", "/health", "/v1/operations"],
    ...Object.keys(READS).map((name) => `/v1/operations/${name}`),
  ];
  for (const { method, path, headers, body } of [...talks.requests, ...liar.requests]) {
    assert.ok(allowed.includes(path), path);
    assert.equal(method === "POST", path.startsWith("/v1/operations/"), path);
    if (method === "POST") assert.deepEqual(JSON.parse(body).input, {});
    if (path === "/livez") assert.equal(headers.get("authorization"), undefined);
  }
  assert.ok(talks.posts.length >= 4);
  // What a node's catalogue does not have is not sent there.
  assert.ok(!liar.posts.some(({ path }) => path.endsWith("router.status")));
});

Deno.test("dashboard: what a node calls a mutation is not sent there, whatever the table says", async () => {
  await using dir = await tempDir();
  const operations = Object.keys(READS).map((name) => ({
    ...{ name, effect: "mutate", deadline_ms: 1000 },
  }));
  const digest = sha256(canonicalJson(operations)).toHex();
  await using node = new SimulatedNode("a", ({ path, headers }) => {
    if (headers.get("authorization") === undefined) return null;
    if (path === "/health") return json({ ...nodeHealth("a"), catalogue_digest: digest });
    return path === "/v1/operations" ? json({ node: "a", digest, operations }) : null;
  });
  await using dashboard = await start(dir, [["a", node.port]]);
  await until("it was asked", asked(dashboard));
  assert.deepEqual(node.posts, []);
  const { router, look } = dashboard.watch.views[0] ?? {};
  assert.equal(look?.kind, "done");
  assert.deepEqual(router?.kind === "unknown" ? router.code : router?.kind, "not_a_read");
});

Deno.test("dashboard: its reads are reads in a real agent's catalogue, and nothing else there", async () => {
  await using dir = await tempDir();
  await using rig = await startAgentRig(dir.path);
  const answer = await fetch(`http://127.0.0.1:${rig.agent.port}/v1/operations`, {
    headers: { authorization: `Bearer ${TOKENS.all}` },
  });
  const told = await answer.json() as { operations: { name: string; effect: string }[] };
  const reads = told.operations.filter(({ name }) => Object.hasOwn(READS, name));
  assert.ok(reads.length >= 2, JSON.stringify(reads));
  assert.ok(reads.every(({ effect }) => effect === "read"));
});

Deno.test("dashboard: the token is its own; the operator's only when asked; none is in what it says", async () => {
  await using dir = await tempDir();
  await using node = new SimulatedNode("a");
  {
    await using dashboard = await start(dir, [["a", node.port]], { token: (host) => host });
    await until("it was tried", asked(dashboard));
    const { look } = dashboard.watch.views[0] ?? {};
    assert.deepEqual([look?.kind, look?.code], ["unauthorized", "credential_missing"]);
    assert.match(look?.nextStep ?? "", /tokens issue --target host:a --client dashboard/);
    assert.equal(node.requests.length, 0, "somebody was asked without a token");
  }
  await using dashboard = await start(dir, [["a", node.port]], {
    token: (host) => host,
    operatorTokens: true,
  });
  await until("it was asked", asked(dashboard));
  assert.equal(dashboard.watch.views[0]?.look?.kind, "done");
});

Deno.test("dashboard: a node that repeats its token in every answer: not in page nor stream", async () => {
  await using dir = await tempDir();
  const echo: NodeScript = nodeWith({
    "router.status": ({ headers }) =>
      done("router.status", {
        status: {
          ...{ draining: false, aliases: { [headers.get("authorization") ?? ""]: "t" } },
          tiers: [{
            ...{ tier: headers.get("authorization"), intent: "admit", readiness: "not_ready" },
            ...{ in_flight: 1, members: [] },
          }],
        },
      }),
  }, { version: `0 ${CANARY}` });
  await using node = new SimulatedNode("a", echo);
  await using dashboard = await start(dir, [["a", node.port]]);
  await until("it was asked", asked(dashboard));
  const stream = await fetch(`${dashboard.url}updates?since=x`);
  const reader = stream.body?.getReader();
  const update = new TextDecoder().decode((await reader?.read())?.value);
  await reader?.cancel();
  assert.ok(update.includes("h-a"));
  const all = update + await textAt(dashboard.url) + await textAt(`${dashboard.url}host/a`);
  assert.ok(!all.includes(CANARY));
  assert.match(all, /not ready/);
});

Deno.test("dashboard: headers, methods, hosts, paths", async () => {
  await using dir = await tempDir();
  await using node = new SimulatedNode("a");
  await using dashboard = await start(dir, [["a", node.port]]);
  const { url, port } = dashboard;
  for (const path of ["", "host/a", "page.css", "page.js", "icon.svg", "host/b", "nothing"]) {
    const answer = await fetch(url + path);
    const body = await answer.text();
    assert.equal(answer.status, /^(host\/b|nothing)$/.test(path) ? 404 : 200, path);
    assert.equal(answer.headers.get("content-security-policy"), POLICY, path);
    assert.equal(answer.headers.get("x-content-type-options"), "nosniff", path);
    assert.equal(answer.headers.get("access-control-allow-origin"), null, path);
    if (path === "" || path === "host/a") {
      assert.ok(!/ style=|<style| on[a-z]+=|<script(?! src="\/page\.js")/.test(body), path);
      assert.ok(!/https?:\/\/(?!www\.w3\.org)/.test(body), "something comes from elsewhere");
    }
  }
  for (const method of ["POST", "PUT", "DELETE", "OPTIONS"]) {
    const answer = await fetch(url, { method });
    await answer.body?.cancel();
    assert.equal(answer.status, 405, method);
  }
  for (const path of ["", "updates"]) {
    const head = await fetch(url + path, { method: "HEAD" });
    assert.deepEqual([head.status, await head.text()], [200, ""]);
  }
  assert.equal(dashboard.updates.readers, 0, "a HEAD reads nothing");
  // A name that points here, as DNS rebinding does; and a port that only looks like this one.
  for (const host of ["evil.example", `evil.example:${port}`, `127.0.0.1:${port + 1}`]) {
    await using conn = await rawGet(port, host);
    assert.match(conn.head, /^HTTP\/1\.1 421 /, host);
  }
  await using local = await rawGet(port, `localhost:${port}`);
  assert.match(local.head, /^HTTP\/1\.1 200 /);
});

/** The beginning of an answer to a request with this Host. */
async function rawGet(port: number, host: string) {
  const conn = await Deno.connect({ hostname: "127.0.0.1", port });
  await conn.write(new TextEncoder().encode(
    `GET / HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`,
  ));
  const bytes = new Uint8Array(512);
  const count = await conn.read(bytes) ?? 0;
  const head = new TextDecoder().decode(bytes.subarray(0, count));
  return { head, [Symbol.asyncDispose]: () => Promise.resolve(conn.close()) };
}

Deno.test("dashboard: stopped and started again it knows nothing old, then what is true", async () => {
  await using dir = await tempDir();
  await using node = new SimulatedNode("a");
  await Deno.mkdir(dir.at("home"));
  const at = "2026-01-01T00:00:00.000Z";
  await Deno.writeTextFile(
    dir.at("home/seen.json"),
    JSON.stringify({
      schema: 1,
      hosts: { a: { at, version: "0.0.9", build_digest: null, started_at: at } },
    }),
  );
  {
    await using dashboard = await start(dir, [["a", node.port]]);
    await until("it was asked", asked(dashboard));
  }
  const hold = Promise.withResolvers<void>();
  await using slow = new SimulatedNode("a", async () => {
    await hold.promise;
    return null;
  });
  await using again = await start(dir, [["a", slow.port]]);
  const before = await textAt(again.url);
  assert.match(before, /not asked yet/);
  assert.match(before, /was 0\.0\.9/, "what an earlier command saw is told as such");
  assert.match(before, /0 of 1 hosts asked/);
  assert.ok(!/class="state fresh"/.test(before), "something looks well that nobody knows");
  hold.resolve();
  await until("it was asked", asked(again));
  assert.match(await textAt(again.url), /1 of 1 hosts asked/);
  // Asked once at start, it writes nothing down.
  assert.match(await Deno.readTextFile(dir.at("home/seen.json")), /0\.0\.9/);
});

Deno.test("dashboard: the topology changes under it, and breaks: the page follows, and says so", async () => {
  await using dir = await tempDir();
  await using one = new SimulatedNode("one");
  await using two = new SimulatedNode("two");
  await using dashboard = await start(dir, [["one", one.port]], { rereadMs: 20 });
  await Deno.writeTextFile(dir.at("tokens/two-dashboard"), CANARY, { mode: 0o600 });
  await until("the first was asked", asked(dashboard));
  const file = dir.at("topology.toml");
  await Deno.writeTextFile(file, fleetToml([["one", one.port], ["two", two.port]]));
  await until(
    "the second is there and asked",
    () => Promise.resolve(dashboard.watch.viewOf("two")?.look?.kind === "done"),
  );
  assert.match(await textAt(dashboard.url), /2 answer/);
  await Deno.writeTextFile(file, "schema = ");
  await until(
    "it is said",
    async () => (await textAt(dashboard.url)).includes("The topology cannot be read"),
  );
  assert.match(await textAt(dashboard.url), /2 answer/, "what is known went with the file");
  await Deno.writeTextFile(file, fleetToml([["two", two.port]]));
  await until(
    "the first is gone",
    () =>
      Promise.resolve(dashboard.watch.viewOf("one") === null && dashboard.watch.problem === null),
  );
  const gone = await fetch(`${dashboard.url}host/one`);
  await gone.body?.cancel();
  assert.equal(gone.status, 404);
});
