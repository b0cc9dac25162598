import assert from "node:assert/strict";
import type { FilePrivacy, FileRead, Files } from "../core/files.ts";
import { refuse } from "../core/refusal.ts";
import { Secret } from "../core/secret.ts";
import { findToken, type TokenSources } from "./token_source.ts";

const TOKEN = "anvil_secret-of-a-test";

/** Files by path: their text, or what their privacy is refused with. */
function filesOf(texts: Readonly<Record<string, string | FilePrivacy>>): Files {
  return {
    checkPrivate: (path) => {
      const text = texts[path];
      if (text === undefined) return Promise.resolve({ kind: "absent" });
      return Promise.resolve(typeof text === "string" ? { kind: "private" } : text);
    },
    readBounded: (path): Promise<FileRead> => {
      const text = texts[path];
      assert.equal(typeof text, "string", "read before it was known to be private");
      return Promise.resolve({ kind: "ok", bytes: new TextEncoder().encode(text as string) });
    },
    replaceFile: () => assert.fail("a look-up writes nothing"),
  };
}

const sources = (
  texts: Readonly<Record<string, string | FilePrivacy>>,
  more: Partial<TokenSources> = {},
): TokenSources => ({
  files: filesOf(texts),
  tokenFile: null,
  environment: null,
  storePath: (name) => `store/${name}`,
  ...more,
});

Deno.test("token: the flag, then the environment, then the store", async () => {
  const texts = { flag: "from-the-flag", "store/a": `${TOKEN}\n` };
  const all = { tokenFile: "flag", environment: new Secret("from-the-environment") };
  const from = async (more: Partial<TokenSources>) => {
    const found = await findToken(sources(texts, more), "a");
    return found.kind === "ok" ? [found.from, found.secret.reveal()] : found.code;
  };
  assert.deepEqual(await from(all), ["--token-file", "from-the-flag"]);
  assert.deepEqual(await from({ ...all, tokenFile: null }), [
    "ANVIL_TOKEN",
    "from-the-environment",
  ]);
  assert.deepEqual(await from({}), ["the token store", TOKEN]);
});

Deno.test("token: a source that is named and wrong is an error, not a reason to look further", async () => {
  const open = refuse("file_not_private", "observed mode 0644");
  const texts = { flag: open, "store/a": TOKEN, "store/b": "two tokens", "store/c": open };
  for (
    const [more, name] of [
      [{ tokenFile: "flag" }, "a"],
      [{ environment: new Secret("two words") }, "a"],
      [{}, "b"],
      [{}, "c"],
    ] as const
  ) {
    const found = await findToken(sources(texts, more), name);
    assert.equal(found.kind === "refused" && found.code, "credential_unusable");
    assert.ok(!JSON.stringify(found).includes("tokens and"));
  }
});

Deno.test("token: a refusal names what was looked at, and no value", async () => {
  const found = await findToken(sources({}), "a");
  assert.equal(found.kind === "refused" && found.code, "credential_missing");
  assert.deepEqual(
    ["--token-file", "ANVIL_TOKEN", "token store"].map((one) =>
      JSON.stringify(found).includes(one)
    ),
    [true, true, true],
  );
  const bad = await findToken(sources({ "store/a": `${TOKEN} ${TOKEN}` }), "a");
  assert.ok(!JSON.stringify(bad).includes(TOKEN));
  const flag = await findToken(sources({ "store/a": TOKEN }, { tokenFile: "gone" }), "a");
  assert.equal(flag.kind, "refused", "a flag that points nowhere fell through to the store");
});
