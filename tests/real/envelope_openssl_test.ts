// needs: openssl
import assert from "node:assert/strict";
import { signEnvelope } from "../../lib/adoption/envelope_sign.ts";
import { candidate, testKey } from "../../lib/testing/candidate_rig.ts";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { missingFor } from "../../scripts/needs.ts";

const missing = missingFor(import.meta.url);

/** What stands before 32 bytes of an Ed25519 key in its DER form. */
const SPKI = Uint8Array.fromHex("302a300506032b6570032100");

Deno.test({
  name: "real, openssl verifies what we sign, by nothing but DSSE's own words",
  ignore: missing.length > 0,
  async fn() {
    await using dir = await tempDir();
    const key = await testKey();
    const text = new TextDecoder().decode(await signEnvelope(candidate(), [key]));
    const { payload, payloadType, signatures } = JSON.parse(text);
    const body = atob(payload);
    // Written down here again, from the protocol's text and not from our code.
    const signed = `DSSEv1 ${payloadType.length} ${payloadType} ${body.length} ${body}`;
    const verifies = async (message: string) => {
      await Deno.writeTextFile(dir.at("message"), message);
      const { success } = await new Deno.Command("openssl", {
        args: [
          ...["pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", dir.at("key")],
          ...["-rawin", "-in", dir.at("message"), "-sigfile", dir.at("sig")],
        ],
        stdout: "null",
        stderr: "null",
      }).output();
      return success;
    };
    await Deno.writeFile(
      dir.at("key"),
      new Uint8Array([...SPKI, ...Uint8Array.fromBase64(key.public)]),
    );
    await Deno.writeFile(dir.at("sig"), Uint8Array.fromBase64(signatures[0].sig));
    assert.equal(await verifies(signed), true);
    assert.equal(await verifies(signed.replace("gpu-a", "gpu-b")), false);
    assert.equal(await verifies(body), false);
  },
});
