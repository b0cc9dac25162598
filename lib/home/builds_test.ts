import assert from "node:assert/strict";
import { buildOf, readBuilds } from "./builds.ts";

const A = "a".repeat(64);
const B = "b".repeat(64);

/** The problems of a text, as `path: code`; none when it is read. */
function problemsOf(text: string, hosts?: readonly string[]): readonly string[] {
  const read = readBuilds(text, hosts);
  return read.kind === "ok" ? [] : read.problems.map(({ path, code }) => `${path}: ${code}`);
}

function buildsOf(text: string) {
  const read = readBuilds(text, ["gpu-a", "gpu-b", "constructor"]);
  assert.ok(read.kind === "ok", JSON.stringify(read));
  return read.model;
}

Deno.test("builds: one for all, another for a host that is named", () => {
  const both = buildsOf(`schema = 1\nbuild = "${A}"\n[hosts]\ngpu-b = "${B}"\n`);
  assert.equal(buildOf(both, "gpu-a"), A);
  assert.equal(buildOf(both, "gpu-b"), B);
  const named = buildsOf(`schema = 1\n[hosts]\ngpu-b = "${B}"\n`);
  assert.equal(buildOf(named, "gpu-a"), null);
  assert.equal(buildOf(named, "gpu-b"), B);
  assert.equal(buildOf(buildsOf("schema = 1\n"), "gpu-a"), null);
});

Deno.test("builds: a host called as every object's property is named only where the file says so", () => {
  assert.equal(buildOf(buildsOf(`schema = 1\nbuild = "${A}"\n`), "constructor"), A);
  assert.equal(buildOf(buildsOf(`schema = 1\n`), "constructor"), null);
  const named = buildsOf(`schema = 1\n[hosts]\nconstructor = "${B}"\n`);
  assert.equal(buildOf(named, "constructor"), B);
});

Deno.test("builds: a host that the topology does not declare is a problem, where hosts are known", () => {
  const text = `schema = 1\n[hosts]\ngpu-a = "${A}"\ngpu-z = "${B}"\nmac = "${B}"\n`;
  assert.deepEqual(problemsOf(text, ["gpu-a"]), [
    "hosts.gpu-z: host_unknown",
    "hosts.mac: host_unknown",
  ]);
  assert.deepEqual(problemsOf(text), []);
});

Deno.test("builds: another shape is refused, with the place", () => {
  for (
    const [text, ...expected] of [
      ["", "schema: missing"],
      [`schema = 2\nbuild = "${A}"\n`, "schema: not_allowed"],
      [`schema = 1\nbuild = "${A.toUpperCase()}"\n`, "build: malformed"],
      ['schema = 1\nbuild = "0123"\n', "build: malformed"],
      [`schema = 1\n[hosts]\ngpu-a = "sha256:${A}"\n`, "hosts.gpu-a: malformed"],
      [`schema = 1\n[hosts]\n"GPU A" = "${A}"\n`, 'hosts."GPU A": malformed'],
      [`schema = 1\nhost = "${A}"\n`, "host: unknown_key"],
      ["schema = 1\nhosts = 1\n", "hosts: wrong_type"],
      ["schema = ", "$: syntax"],
    ] as const
  ) assert.deepEqual(problemsOf(text, ["gpu-a"]), expected, text);
});
