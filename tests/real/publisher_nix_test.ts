// needs: nix nix-build nix-store
import assert from "node:assert/strict";
import { runProcess } from "../../lib/host/process.ts";
import { systemClock } from "../../lib/host/clock.ts";
import { systemDownload } from "../../lib/host/download.ts";
import { verifyEnvelope } from "../../lib/adoption/envelope.ts";
import { pointerPath } from "../../roles/publisher/layout.ts";
import { publish } from "../../roles/publisher/publish.ts";
import { missingFor } from "../../scripts/needs.ts";
import { publishAsk, publisherRig, trustOfRig } from "../fixtures/publisher_rig.ts";

const missing = missingFor(import.meta.url);

/** A system of two paths that carries its revision, unlike any other run's. */
const EXPRESSION = `{ unique }: let
  make = name: script: derivation {
    inherit name;
    system = builtins.currentSystem;
    builder = "/bin/sh";
    PATH = "/usr/bin:/bin";
    args = [ "-c" script ];
  };
  tool = make "anvil-test-tool-\${unique}" "echo tool > $out";
in make "nixos-system-nas-\${unique}" ''
  mkdir $out && cp \${tool} $out/tool && echo \${tool} > $out/needs
  echo '{"rev":"abc","dirty":false,"committed_at":1767225600}' > $out/anvil-revision.json
''`;

Deno.test({
  name: "real, nix: a closure is published only when all of it is in the signed cache",
  ignore: missing.length > 0 || Deno.uid() !== 0,
  async fn() {
    await using rig = await publisherRig();
    const { dir } = rig;
    const env = {
      PATH: "/usr/bin:/bin",
      HOME: dir.path,
      NIX_CONFIG: "build-users-group =\nsandbox = false\nexperimental-features = nix-command\n" +
        "substituters =\n",
    };
    const nix = async (...argv: [string, ...string[]]): Promise<string> => {
      const ended = await runProcess({ argv, env, deadlineMs: 60_000, maxOutputBytes: 1 << 20 });
      const text = new TextDecoder();
      if (ended.kind !== "exited" || ended.code !== 0) {
        throw new Error("stderr" in ended ? text.decode(ended.stderr) : ended.kind);
      }
      return text.decode(ended.stdout).trim();
    };
    await Deno.writeTextFile(dir.at("system.nix"), EXPRESSION);
    await nix("nix-store", "--generate-binary-cache-key", "t-1", dir.at("sk"), dir.at("pk"));
    const unique = crypto.randomUUID().slice(0, 8);
    const system = await nix(
      ...["nix-build", "--no-out-link", "--argstr", "unique", unique] as const,
      dir.at("system.nix"),
    );
    const server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      async (ask) => {
        const path = `${dir.at("cache")}${new URL(ask.url).pathname}`;
        const bytes = await Deno.readFile(path).catch(() => null);
        return bytes === null
          ? new Response(null, { status: 404 })
          : new Response(bytes, { headers: { "content-length": String(bytes.length) } });
      },
    );
    const download = systemDownload(systemClock);
    const base = `http://127.0.0.1:${server.addr.port}`;
    const cache_keys = [(await Deno.readTextFile(dir.at("pk"))).trim()];
    const config = { ...rig.config, nix: { cache: base, cache_keys, most_paths: 100 } };
    const ports = { ...rig.ports, download };
    const ask = publishAsk("", "abc", {
      host: "nas",
      source: { kind: "store-path", path: system },
    });
    const codeOf = async (keys = cache_keys) => {
      const outcome = await publish(
        ports,
        { ...config, nix: { ...config.nix, cache_keys: keys } },
        ask,
      );
      return outcome.kind === "refused" ? outcome.code : outcome.kind;
    };
    try {
      assert.equal(await codeOf(), "cache_missing_path");
      await nix("nix", "copy", "--to", `file://${dir.at("cache")}`, system);
      assert.equal(await codeOf(), "cache_unsigned");
      await Deno.remove(dir.at("cache"), { recursive: true });
      const signed = `file://${dir.at("cache")}?secret-key=${dir.at("sk")}`;
      await nix("nix", "copy", "--to", signed, system);
      assert.equal(await codeOf(), "published");
      assert.equal(await codeOf([`t-1:${"A".repeat(43)}=`]), "cache_unsigned");
      const bytes = await Deno.readFile(pointerPath(config.root, "nas"));
      const offer = await verifyEnvelope(bytes, await trustOfRig(ports, config), {
        ...{ host: "nas", backend: "nixos", channel: "slow", floor: null },
        ...{ now: Date.now(), builtAt: 0 },
      });
      assert.ok(offer.kind === "offer" && offer.payload.target.kind === "store-path");
      assert.equal(offer.target, system);
      const [info] = JSON.parse(await nix("nix", "path-info", "--json", "-S", system)) as [
        { readonly narHash: string; readonly closureSize: number },
      ];
      assert.equal(offer.payload.target.nar_hash, info.narHash);
      assert.equal(offer.payload.sizes.unpacked, info.closureSize);
      for await (const { name } of Deno.readDir(dir.at("cache/nar"))) {
        await Deno.rename(dir.at(`cache/nar/${name}`), dir.at("gone"));
        assert.equal(await codeOf(), "cache_missing_path", "narinfo there, bytes gone");
        await Deno.rename(dir.at("gone"), dir.at(`cache/nar/${name}`));
      }
      assert.equal(await codeOf(), "refreshed");
    } finally {
      download.close();
      await server.shutdown();
      const paths = (await nix("nix-store", "-qR", system)).split("\n").reverse();
      for (const path of paths) {
        await nix("nix-store", "--delete", "--ignore-liveness", path).catch(() => {});
      }
    }
    assert.equal(await codeOf(), "revision_missing");
  },
});
