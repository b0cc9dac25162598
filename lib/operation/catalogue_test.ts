import assert from "node:assert/strict";
import { z } from "zod";
import { ACTIONS, authorize, scopeShape } from "./authorize.ts";
import { Catalogue } from "./catalogue.ts";
import { defineRead, jsonShape } from "./operation.ts";

const read = (name: string, roles: readonly string[] | null, brief = "b") =>
  defineRead({
    name,
    brief,
    effect: "read",
    roles,
    deadlineMs: 10,
    input: z.strictObject({}),
    output: jsonShape,
    run: () => Promise.resolve({ kind: "ok" as const, value: null }),
  });

Deno.test("scopes: a pattern opens what it names, and nothing matches by default", () => {
  const opened = (scope: string, operation: string) =>
    ACTIONS.filter((action) => authorize([scope], operation, action) === null).join();
  const cases: [string, string, string][] = [
    ["*", "box.put", "read,plan,apply"],
    ["*:read", "box.put", "read"],
    ["box.*", "box.put", "read,plan,apply"],
    ["box.*", "boxes.put", ""],
    ["box.put", "box.put", "read,plan,apply"],
    ["box.put", "box.put-all", ""],
    ["box.put:plan", "box.put", "plan"],
    ["box.put:apply", "box.put", "plan,apply"],
    ["box.put:read", "box.put", "read"],
    ["box.take", "box.put", ""],
    ["", "box.put", ""],
    ["box", "box.put", ""],
    ["*.put", "box.put", ""],
    ["box.put:", "box.put", ""],
    ["box.put:admin", "box.put", ""],
  ];
  for (const [scope, operation, actions] of cases) {
    assert.equal(opened(scope, operation), actions, `${scope} for ${operation}`);
    assert.equal(
      scopeShape.safeParse(scope).success,
      actions !== "" || /^box\.(\*|take|put)$/.test(scope),
    );
  }
  assert.equal(authorize([], "box.put", "read")?.code, "scope_missing");
});

Deno.test("catalogue: derived from the host's roles, in one order, with one digest", () => {
  const all = [read("b.b", ["gpu"]), read("a.a", null), read("c.c", ["gateway", "gpu"])];
  const names = (roles: string[]) => Catalogue.for(roles, all).entries.map(({ name }) => name);
  assert.deepEqual(names([]), ["a.a"]);
  assert.deepEqual(names(["gateway"]), ["a.a", "c.c"]);
  assert.deepEqual(names(["gpu"]), ["a.a", "b.b", "c.c"]);
  assert.equal(Catalogue.for(["gateway"], all).get("b.b"), null);
  const { digest } = Catalogue.for(["gpu"], all);
  assert.equal(Catalogue.for(["gpu"], all.toReversed()).digest, digest);
  assert.notEqual(Catalogue.for(["gateway"], all).digest, digest);
  assert.notEqual(
    Catalogue.for([], [read("a.a", null)]).digest,
    Catalogue.for([], [read("a.a", null, "other")]).digest,
  );
});

Deno.test("catalogue: a bad name and a name twice are bugs", () => {
  assert.throws(() => read("put", null), /noun\.verb/);
  assert.throws(() => read("Box.put", null), /noun\.verb/);
  assert.throws(() => Catalogue.for([], [read("a.a", null), read("a.a", null)]), /one name/);
});

Deno.test("an output of another shape than declared is a bug, not an answer", async () => {
  const operation = defineRead({
    name: "a.a",
    brief: "b",
    effect: "read",
    roles: null,
    deadlineMs: 10,
    input: z.strictObject({}),
    output: z.strictObject({ size: z.int() }),
    run: () => Promise.resolve({ kind: "ok" as const, value: { size: 1.5 } }),
  });
  const prepared = operation.prepare({});
  assert.ok(prepared.kind === "ok" && prepared.model.kind === "read");
  const signal = new AbortController().signal;
  const context = { principal: "p", run: null, signal, step: () => {} };
  await assert.rejects(prepared.model.run(context), /another output/);
});
