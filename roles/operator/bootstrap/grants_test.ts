import assert from "node:assert/strict";
import { systemFiles } from "../../../lib/host/files.ts";
import { tempDir } from "../../../lib/testing/temp_dir.ts";
import { BOOTSTRAP_SCOPE, refuseScope } from "./grants.ts";

Deno.test("grants: missing scope: no file, another host, nothing granted", async () => {
  await using dir = await tempDir();
  const path = dir.at("grants.toml");
  const codeFor = async (host: string, text?: string, mode = 0o600) => {
    if (text !== undefined) {
      await Deno.remove(path).catch(() => {});
      await Deno.writeTextFile(path, text, { mode });
    }
    return (await refuseScope({ files: systemFiles }, path, host))?.code ?? null;
  };
  const grant = (hosts: string) =>
    `schema = 1\n[[grants]]\nscope = "${BOOTSTRAP_SCOPE}"\nhosts = [${hosts}]\n`;
  assert.equal(await codeFor("n1"), "scope_missing");
  assert.equal(await codeFor("n1", "schema = 1\ngrants = []\n"), "scope_missing");
  assert.equal(await codeFor("n1", grant('"n2", "n11"')), "scope_missing");
  assert.equal(await codeFor("n2"), null);
  assert.equal(await codeFor("n1", grant('"*"')), null);
  for (
    const text of [
      "",
      "grants = 1",
      grant('"*", "n1"'),
      grant(""),
      grant('"n1"').replace(BOOTSTRAP_SCOPE, "*"),
      `${grant('"n1"')}until = 1\n`,
    ]
  ) assert.equal(await codeFor("n1", text), "grants_unusable", text);
  if (Deno.build.os === "windows") return;
  // What others may write is nobody's word.
  assert.equal(await codeFor("n1", grant('"*"'), 0o644), "grants_unusable");
  await Deno.remove(path);
  await Deno.writeTextFile(dir.at("other"), grant('"*"'), { mode: 0o600 });
  await Deno.symlink(dir.at("other"), path);
  assert.equal(await codeFor("n1"), "grants_unusable");
});
