import assert from "node:assert/strict";
import { candidateOf } from "../../lib/adoption/candidate.ts";
import { backendConformance } from "../../lib/testing/backend_conformance.ts";
import { backendOf } from "../../roles/adopter/backend.ts";
import { adopterRig, hostPorts } from "../support/adopter_rig.ts";

backendConformance("bundle", async () => {
  const rig = await adopterRig();
  const host = await rig.host();
  await rig.publish("old");
  assert.equal((await host.all()).code, "proven");
  const ports = hostPorts(host.folder);
  return {
    backend: backendOf(host.config, ports),
    candidate: async (name) => {
      await rig.publish(name);
      const offer = await rig.look();
      assert.ok(offer !== null);
      return candidateOf(offer);
    },
    damage: async (path) => {
      const file = `${host.folder}/store/generations/${path.slice("sha256:".length)}/bin/run`;
      await Deno.chmod(file, 0o755);
      await Deno.writeTextFile(file, "#!/bin/sh\necho other\n");
    },
    [Symbol.asyncDispose]: async () => {
      ports.download.close();
      await rig[Symbol.asyncDispose]();
    },
  };
});

Deno.test("bundle: what an earlier generation has is not fetched again", async () => {
  await using rig = await adopterRig();
  const host = await rig.host();
  await rig.publish("one");
  await host.all();
  await rig.publish("two");
  const offer = await rig.look();
  assert.ok(offer !== null);
  const ports = hostPorts(host.folder);
  const asked: string[] = [];
  const { download } = ports;
  const backend = backendOf(host.config, {
    ...ports,
    download: {
      document: (ask) => download.document(ask),
      head: (ask) => download.head(ask),
      blob: (ask) => {
        asked.push(ask.url.slice(-64));
        return download.blob(ask);
      },
      close: () => {},
    },
  });
  const done = await backend.stage({
    candidate: candidateOf(offer),
    deadlineMs: 30_000,
    progress: ({ done, total }) => {
      assert.ok(done <= total, `${done} of ${total}`);
    },
  });
  download.close();
  assert.equal(done.kind, "staged", JSON.stringify(done));
  // The manifest, and two of the three files: the common one is here.
  assert.equal(asked.length, 3);
  await assert.rejects(() => Deno.stat(`${host.folder}/state/parts`), Deno.errors.NotFound);
});
