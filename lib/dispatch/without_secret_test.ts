import assert from "node:assert/strict";
import fc from "fast-check";
import type { Json } from "../core/canonical_json.ts";
import { Secret } from "../core/secret.ts";
import { done, fell } from "./outcome.ts";
import { withoutSecret } from "./without_secret.ts";

Deno.test("without secret: in every text that was sent, keys too, and nowhere else", () => {
  const secret = new Secret('se"cr\\et');
  const value = secret.reveal();
  const of = withoutSecret(
    done("a", { [value]: [`<${value}>`, 1, null, { deep: value }] }, { run: { id: value } }),
    secret,
  );
  assert.deepEqual(of.result, { "[secret]": ["<[secret]>", 1, null, { deep: "[secret]" }] });
  assert.deepEqual(of.run, { id: "[secret]" });
  const said = withoutSecret(
    fell("a", "refused", "x", `what is ${value}?`, { nextStep: value }),
    secret,
  );
  assert.deepEqual([said.detail, said.nextStep], ["what is [secret]?", "[secret]"]);
});

Deno.test("without secret: a token that looks like a number or a field breaks nothing", () => {
  for (const value of ["12345678", "nextStep", "tookMs", "true"]) {
    const outcome = done("a", { n: 12345678, t: true, nextStep: "x" });
    const of = withoutSecret(outcome, new Secret(value));
    assert.equal(of.host, "a");
    assert.equal((of.result as { n: number }).n, 12345678);
  }
  const json = fc.jsonValue() as fc.Arbitrary<Json>;
  fc.assert(fc.property(json, fc.stringMatching(/^[!-~]{8,12}$/), (result, value) => {
    const text = JSON.stringify(withoutSecret(done("a", result), new Secret(value)).result);
    if (!JSON.stringify(result).includes(JSON.stringify(value).slice(1, -1))) {
      assert.equal(text, JSON.stringify(result));
    }
  }));
});
