import assert from "node:assert/strict";
import { trustText } from "../../lib/adoption/keys.ts";
import { FakeBackend, FakeWorld } from "../../lib/testing/fake_backend.ts";
import { FakeDisk } from "../../lib/testing/fake_disk.ts";
import { testKey } from "../../lib/testing/candidate_rig.ts";
import { publicPath } from "../../roles/publisher/layout.ts";
import { adopterRig } from "../support/adopter_rig.ts";

const TARGET = "/candidates/gpu-a/manifest.json";

Deno.test("adoption, schema 1: a host that comes from it adopts by it, never an older one", async () => {
  await using rig = await adopterRig();
  const host = await rig.host();
  const key = await testKey();
  await Deno.writeTextFile(`${host.folder}/running`, "fine\n");
  const keys = [{
    id: key.id,
    public: key.public,
    added_at: "2026-01-01T00:00:00Z",
    expires_at: null,
  }];
  await Deno.writeTextFile(`${host.folder}/trust.json`, trustText(keys));
  const { publisher } = host.config;
  host.config = {
    ...host.config,
    backend: "nixos",
    publisher: { ...publisher, schema1: TARGET },
  };
  const world = new FakeWorld();
  host.more = { backend: () => new FakeBackend(world, new FakeDisk(), "by_itself") };
  const folder = `${publicPath(rig.config.root)}/candidates/gpu-a`;
  await Deno.mkdir(folder, { recursive: true });
  const put = async (name: string, built_at: string) => {
    const text = JSON.stringify({
      ...{ schema: 1, host: "gpu-a", rev: name, built_at, channel: "rolling" },
      ...{ store_path: `/nix/store/${"a".repeat(32)}-${name}`, requires_reboot: false },
    });
    const bytes = new TextEncoder().encode(text);
    const signed = await crypto.subtle.sign("Ed25519", key.key, bytes);
    await Deno.writeTextFile(`${folder}/manifest.json`, text);
    await Deno.writeTextFile(`${folder}/manifest.json.sig`, new Uint8Array(signed).toBase64());
  };
  assert.equal((await host.offer()).code, "no-candidate");
  await put("one", "2026-01-02T00:00:00Z");
  const good = await host.all();
  assert.equal(good.code, "proven", JSON.stringify(good));
  assert.equal(world.current, `/nix/store/${"a".repeat(32)}-one`);
  assert.equal((await host.offer()).code, "unchanged");
  await put("older", "2026-01-01T00:00:00Z");
  assert.equal((await host.offer()).code, "replayed");
  await Deno.writeTextFile(`${folder}/manifest.json.sig`, "AAAA");
  assert.equal((await host.offer()).code, "envelope_malformed");
  await Deno.remove(`${folder}/manifest.json.sig`);
  assert.equal((await host.offer()).code, "signature_absent");
});
