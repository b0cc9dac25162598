import assert from "node:assert/strict";
import { connect } from "node:net";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { type AgentRig, lampOperation, startAgentRig, TOKENS } from "../support/agent.ts";

async function withAgent(
  run: (rig: AgentRig, lamps: () => Promise<string>) => Promise<void>,
  between: Parameters<typeof lampOperation>[1] = () => Promise.resolve(),
  settings: Parameters<typeof startAgentRig>[2] = {},
): Promise<void> {
  await using dir = await tempDir();
  const path = dir.at("lamps");
  await Deno.writeTextFile(path, "");
  await using rig = await startAgentRig(dir.path, [lampOperation(path, between)], settings);
  await run(rig, () => Deno.readTextFile(path));
}

Deno.test("agent: who is asked, and who asks", async () => {
  await withAgent(async ({ get, call, url }) => {
    const cases: [Promise<{ status: number; code: string | null }>, number, string | null][] = [
      [get("/livez", null), 200, null],
      [get("/health", null), 401, "token_missing"],
      [get("/health", `anvil_${"x".repeat(43)}`), 401, "token_unknown"],
      [get("/health", TOKENS.spent), 401, "token_unknown"],
      [get("/health", TOKENS.nobody), 403, "scope_missing"],
      [get("/health", TOKENS.reader), 200, null],
      [get("/v1/operations", TOKENS.nobody), 200, null],
      [get("/openapi.json", null), 401, "token_missing"],
      [get("/docs/", null), 404, "route_unknown"],
      [get("/nothing", null), 404, "route_unknown"],
      [get("//health", TOKENS.all), 404, "route_unknown"],
      [get("/v1/operations/node.health"), 405, "method_not_allowed"],
      [call("node.facts", {}, { token: null }), 401, "token_missing"],
      [call("node.identity", {}, { token: TOKENS.reader }), 200, null],
      [call("audit.tail", {}, { token: TOKENS.reader }), 403, "scope_missing"],
      [call("lamp.light", {}, { token: TOKENS.reader }), 403, "scope_missing"],
      [call("node.nothing", {}), 404, "operation_unknown"],
      [call("serves.list", {}, { token: TOKENS.nobody }), 404, "operation_unknown"],
      [call("Node", {}), 404, "operation_unknown"],
    ];
    for (const [asked, status, code] of cases) {
      const { status: seen, code: said } = await asked;
      assert.deepEqual([seen, said], [status, code]);
    }
    // A 401 of ours says whose it is: one without these is another program on that port.
    const denied = await get("/health", null);
    assert.equal(denied.headers.get("x-anvil-node"), "gpu-a");
    assert.equal(denied.headers.get("www-authenticate"), 'Bearer realm="anvil-agent"');
    assert.equal(denied.headers.get("content-type"), "application/problem+json");
    const other = { headers: { "x-anvil-node": "gpu-b" } };
    // Before anything else: no token, no route, not even livez.
    for (const path of ["/livez", "/nothing", "/health"]) {
      const answer = await fetch(`${url}${path}`, other);
      assert.deepEqual([answer.status, answer.headers.get("x-anvil-node")], [421, "gpu-a"]);
      assert.equal((await answer.json()).code, "wrong_node");
    }
    assert.equal((await call("lamp.light", "{", other)).code, "wrong_node");
  });
});

Deno.test("agent: bodies that are refused, each before anything was begun", async () => {
  await withAgent(async ({ call }, lamps) => {
    const input = { lamp: "a" };
    const cases: [unknown, number, string, string[]?][] = [
      ["", 400, "json_malformed"],
      ["{", 400, "json_malformed"],
      ['{"input":{"lamp":NaN}}', 400, "json_malformed"],
      ['{"input":{"lamp":"a","lamp":"b"}}', 400, "json_duplicate_key"],
      [`{"input":${"[".repeat(200)}${"]".repeat(200)}}`, 400, "json_too_deep"],
      [`{"input":{"lamp":"${"x".repeat(1024 * 1024)}"}}`, 413, "body_too_large"],
      [[], 422, "input_invalid", ["$"]],
      [{ input, more: 1 }, 422, "input_invalid", ["more"]],
      [{ input, dry_run: "yes" }, 422, "input_invalid", ["dry_run"]],
      [{ input: { lamp: 1, x: 2 } }, 422, "input_invalid", ["lamp", "x"]],
      [{ input }, 428, "key_required"],
    ];
    for (const [body, status, code, paths] of cases) {
      const answer = await call("lamp.light", body);
      assert.deepEqual([answer.status, answer.code, answer.body["code"]], [status, code, code]);
      assert.equal(answer.body["may_have_executed"], false);
      assert.equal(answer.headers.get("content-type"), "application/problem+json");
      const problems = (answer.body["problems"] ?? []) as { path: string }[];
      assert.deepEqual(problems.map(({ path }) => path).sort(), paths ?? []);
    }
    const plain = { headers: { "content-type": "text/plain" } };
    assert.equal((await call("lamp.light", { input }, plain)).code, "content_type_wrong");
    assert.equal((await call("lamp.light", { input }, { key: "short" })).code, "key_malformed");
    assert.equal(await lamps(), "");
  });
});

Deno.test("agent: a dry run, a live run, its replay, a conflict, and the run itself", async () => {
  await withAgent(async ({ call, get }, lamps) => {
    const body = { input: { lamp: "a" } };
    const key = "key-00000001";
    const dry = await call("lamp.light", { ...body, dry_run: true });
    assert.deepEqual([dry.body["result"], dry.body["dry_run"]], [{ lamp: "a" }, true]);
    assert.equal(await lamps(), "");
    const both = await Promise.all([1, 2].map(() => call("lamp.light", body, { key })));
    assert.deepEqual(both.map(({ body }) => body["known"]).sort(), [false, true]);
    for (const one of both) assert.deepEqual(one.body["result"], { lit: "a" });
    assert.equal(await lamps(), "a\n");
    const conflict = await call("lamp.light", { input: { lamp: "b" } }, { key });
    assert.deepEqual([conflict.status, conflict.code], [409, "key_conflict"]);
    const { id } = both[0]?.body["run"] as { id: string };
    const run = await get(`/v1/operations/runs/${id}`);
    assert.deepEqual([run.body["state"], run.body["effect"], run.body["result"]], [
      "done",
      "applied",
      { lit: "a" },
    ]);
    assert.equal((await get(`/v1/operations/runs/${id}`, TOKENS.reader)).code, "run_unknown");
    assert.equal((await get("/v1/operations/runs/x")).code, "run_unknown");
    const tail = await call("audit.tail", { input: { most: 2 } });
    const { records } = tail.body["result"] as { records: { phase: string; code: string }[] };
    assert.equal(records.length, 2);
    assert.ok(!JSON.stringify(records).includes("anvil_"));
  });
});

Deno.test("agent: a run is cancelled by another client, though every slot is taken", async () => {
  const hang = (_moment: string, signal: AbortSignal) =>
    new Promise<void>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  await withAgent(
    async ({ call }, lamps) => {
      const hung = call("lamp.light", { input: { lamp: "a" } }, { key: "key-00000001" });
      let id: string | undefined;
      while (id === undefined) {
        const listed = await call("operations.list", { input: {} });
        const { runs } = listed.body["result"] as { runs: { id: string; step: string | null }[] };
        id = runs.find(({ step }) => step === "light")?.id;
      }
      const busy = await call("lamp.light", { input: { lamp: "b" } }, { key: "key-00000002" });
      assert.deepEqual([busy.status, busy.code], [503, "agent_busy"]);
      const asked = await call("operations.cancel", { input: { run: id } }, {
        key: "key-cancel-1",
      });
      assert.equal(asked.status, 200);
      const ended = await hung;
      assert.deepEqual([ended.status, ended.code], [409, "operation_cancelled"]);
      assert.equal(ended.body["may_have_executed"], true);
      assert.equal(await lamps(), "");
      const again = await call("operations.cancel", { input: { run: id } }, {
        key: "key-cancel-2",
      });
      assert.deepEqual([again.status, again.code], [409, "run_not_running"]);
    },
    hang,
    { toml: "[limits]\nmutations = 1\n" },
  );
});

Deno.test("agent: catalogue, OpenAPI and health agree", async () => {
  await withAgent(async ({ get, call }) => {
    const { body: catalogue } = await get("/v1/operations");
    const { body: health } = await get("/health");
    const { body: document } = await get("/openapi.json");
    const identity = (await call("node.identity", {})).body["result"] as Record<string, unknown>;
    assert.equal(catalogue["digest"], health["catalogue_digest"]);
    assert.equal(identity["catalogue_digest"], health["catalogue_digest"]);
    const names = (catalogue["operations"] as { name: string }[]).map(({ name }) => name);
    assert.deepEqual(names, names.toSorted());
    assert.ok(names.includes("router.status") && names.includes("node.facts"));
    const paths = Object.keys(document["paths"] as object);
    for (const name of names) assert.ok(paths.includes(`/v1/operations/${name}`), name);
  });
});

Deno.test("agent: the router's status, or why there is none", async () => {
  await withAgent(async ({ call }) => {
    assert.equal((await call("router.status", {})).code, "router_not_configured");
  });
  let answer = () => Response.json({ node: "gpu-a", tiers: [] });
  const seen: (string | null)[] = [];
  await using router = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    (asked) => {
      seen.push(new URL(asked.url).pathname);
      return answer();
    },
  );
  const toml = `[router]\nadmin = "http://127.0.0.1:${router.addr.port}"\n`;
  await withAgent(
    async ({ call }) => {
      const told = await call("router.status", {});
      assert.deepEqual(told.body["result"], { status: { node: "gpu-a", tiers: [] } });
      answer = () => new Response("no", { status: 401 });
      assert.deepEqual((await call("router.status", {})).code, "router_refused");
      answer = () => new Response("<html>");
      assert.deepEqual((await call("router.status", {})).code, "router_refused");
      assert.deepEqual(new Set(seen), new Set(["/v1/router/status"]));
    },
    undefined,
    { toml },
  );
});

Deno.test("agent: trusted loopback is for literal addresses only, not for names pages make up", async () => {
  await withAgent(
    async ({ agent, get }) => {
      assert.equal((await get("/health", null)).status, 200);
      const answer = await new Promise<string>((resolve) => {
        const socket = connect(agent.port, "127.0.0.1", () => {
          socket.write("GET /health HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n");
        });
        let text = "";
        socket.on("data", (bytes) => text += String(bytes));
        socket.on("close", () => resolve(text));
      });
      assert.match(answer, /^HTTP\/1\.1 403/);
      assert.match(answer, /host_refused/);
    },
    undefined,
    { trusted: true },
  );
});

Deno.test("agent: one state folder has one agent", async () => {
  await using dir = await tempDir();
  await using first = await startAgentRig(dir.path);
  assert.ok(first.agent.port > 0);
  await assert.rejects(startAgentRig(dir.path), /state_in_use/);
});
