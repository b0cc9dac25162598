import assert from "node:assert/strict";
import { CORPORA, corpusNamed } from "./corpora.ts";

Deno.test("corpora: each is read under its own name and digest, and its prompts are its own", async () => {
  assert.deepEqual(Object.keys(CORPORA).sort(), ["chat", "code", "long-prompt", "refusal-bait"]);
  const seen = new Set<string>();
  for (const [name, { digest }] of Object.entries(CORPORA)) {
    const corpus = await corpusNamed(name, digest);
    assert.ok("prompts" in corpus, JSON.stringify(corpus));
    assert.equal(corpus.name, name);
    assert.equal(corpus.sampling.temperature, 0, "nothing is left to chance");
    assert.notEqual(corpus.sampling.seed, null);
    for (const { id } of corpus.prompts) {
      assert.ok(!seen.has(id), id);
      seen.add(id);
    }
  }
});

Deno.test("corpora: unknown, edited, another than meant, and half a corpus are refused", async () => {
  const chat = CORPORA["chat"];
  assert.ok(chat !== undefined);
  const codeOf = async (...ask: Parameters<typeof corpusNamed>) => {
    const corpus = await corpusNamed(...ask);
    return "code" in corpus ? corpus.code : null;
  };
  assert.equal(await codeOf("nothing", null), "corpus_unknown");
  assert.equal(await codeOf("toString", null), "corpus_unknown");
  assert.equal(await codeOf("chat", "0".repeat(64)), "corpus_differs");
  const text = JSON.stringify(chat.document);
  const edited = {
    chat: { ...chat, document: JSON.parse(text.replace("good morning", "good night")) },
  };
  assert.equal(await codeOf("chat", null, edited), "corpus_edited");
  const spaced = {
    chat: { ...chat, document: JSON.parse(JSON.stringify(chat.document, null, 7)) },
  };
  assert.equal(await codeOf("chat", null, spaced), null, "white space says nothing");
  const broken = { chat: { ...chat, document: { schema: 2 } } };
  assert.equal(await codeOf("chat", null, broken), "corpus_invalid");
  const twice = text.replace('"list-fruit"', '"greet-short"');
  assert.equal(
    await codeOf("chat", null, { chat: { ...chat, document: JSON.parse(twice) } }),
    "corpus_invalid",
  );
  assert.equal(await codeOf("other", null, { other: chat }), "corpus_invalid");
});
