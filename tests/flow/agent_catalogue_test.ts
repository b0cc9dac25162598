import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { z } from "zod";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { defineRead, type Operation } from "../../lib/operation/operation.ts";
import { readTopology } from "../../lib/topology/read.ts";
import { SERVING_HOSTS } from "../../roles/agent/host_roles.ts";
import { type AgentRig, startAgentRig } from "../support/agent.ts";

/** An operation as serves bring it: for hosts that run models. */
const served: Operation = defineRead({
  name: "serves.probe",
  brief: `Tells <b>&"'</b> of serves`,
  effect: "read",
  roles: SERVING_HOSTS,
  deadlineMs: 1000,
  input: z.strictObject({}),
  output: z.strictObject({}),
  run: () => Promise.resolve({ kind: "ok" as const, value: {} }),
});

async function namesOf({ get }: AgentRig): Promise<string[]> {
  const { body } = await get("/v1/operations");
  return (body["operations"] as { name: string }[]).map(({ name }) => name);
}

/** What every host has. */
const ALWAYS = [
  "audit.tail",
  "config.backups",
  "config.digests",
  "config.export",
  "config.fingerprint",
  "config.inventory",
  "node.facts",
  "node.health",
  "node.identity",
  "node.port-owner",
  "operations.cancel",
  "operations.get",
  "operations.list",
];

for (const fleet of ["workstation", "mac-laptop", "gpu-rack", "nixos-house", "reference"]) {
  Deno.test(`catalogue: of every host of ${fleet}, by its roles alone`, async () => {
    const url = new URL(`../../fleet/examples/${fleet}/topology.toml`, import.meta.url);
    const read = readTopology(await Deno.readTextFile(url));
    assert.ok(read.kind === "ok");
    for (const [id, { roles }] of Object.entries(read.model.hosts)) {
      await using dir = await tempDir();
      await using rig = await startAgentRig(dir.path, [served], { roles });
      const names = await namesOf(rig);
      const has = (...any: string[]) => any.some((role) => (roles as string[]).includes(role));
      for (const name of ALWAYS) assert.ok(names.includes(name), `${id}: ${name}`);
      assert.equal(names.includes("serves.probe"), has("serving", "voice"), id);
      const routed = has("router", "gateway", "proxy", "serving", "voice");
      assert.equal(names.includes("router.status"), routed, id);
      const called = await rig.call("serves.probe", {});
      assert.equal(called.code, has("serving", "voice") ? null : "operation_unknown", id);
      const { body: document } = await rig.get("/openapi.json");
      const paths = Object.keys(document["paths"] as object)
        .filter((path) => /^\/v1\/operations\/[a-z-]+\./.test(path));
      assert.deepEqual(paths, names.map((name) => `/v1/operations/${name}`), id);
    }
  });
}

Deno.test("catalogue: an evaluation laptop and a gateway have no operation on serves", async () => {
  for (const roles of [["evaluation"], ["gateway", "operator"], []]) {
    await using dir = await tempDir();
    await using rig = await startAgentRig(dir.path, [served], { roles });
    const names = await namesOf(rig);
    assert.ok(!names.some((name) => name.startsWith("serves.")), String(roles));
  }
});

Deno.test("docs page: open, whole, from the catalogue, and nothing in it can run or load", async () => {
  await using dir = await tempDir();
  await using rig = await startAgentRig(dir.path, [served], { roles: ["serving"] });
  const response = await fetch(`${rig.url}/docs`);
  const page = await response.text();
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "text/html; charset=utf-8");
  for (const name of await namesOf(rig)) assert.ok(page.includes(`<h3 id="${name}">`), name);
  assert.ok(page.includes("Tells &lt;b&gt;&amp;&quot;&#39;&lt;/b&gt; of serves"));
  assert.doesNotMatch(page, /<script|<link|<img|<iframe|<form|\bon[a-z]+=|\bstyle=|@import|url\(/i);
  assert.doesNotMatch(page, /(?:src|href)="(?!#)/);
  const policy = response.headers.get("content-security-policy") ?? "";
  const style = /<style>([\s\S]*?)<\/style>/.exec(page)?.[1] ?? "";
  const hash = createHash("sha256").update(style).digest("base64");
  assert.ok(policy.startsWith(`default-src 'none'; style-src 'sha256-${hash}';`), policy);
  assert.match(policy, /form-action 'none'; frame-ancestors 'none'$/);
  const other = await fetch(`${rig.url}/docs`, { headers: { "x-anvil-node": "gpu-b" } });
  await other.body?.cancel();
  assert.equal(other.status, 421);
  const posted = await fetch(`${rig.url}/docs`, { method: "POST", body: "x" });
  await posted.body?.cancel();
  assert.equal(posted.status, 405);
});
