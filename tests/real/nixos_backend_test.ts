// needs: nix nix-build nix-env nix-store
import assert from "node:assert/strict";
import type { Launch, LaunchAsk } from "../../lib/adoption/backend.ts";
import { backendConformance } from "../../lib/testing/backend_conformance.ts";
import { missingFor } from "../../scripts/needs.ts";
import { nixosRig } from "../support/nixos_rig.ts";

const ignore = missingFor(import.meta.url).length > 0 || Deno.uid() !== 0;

const asked = (path: string, previous: string, more: Partial<LaunchAsk> = {}): LaunchAsk => ({
  ...{ attempt: "a-1", step: "activate", path, previous, mode: "switch", deadlineMs: 20_000 },
  ...more,
});

Deno.test({
  name: "nixos: the exact path comes from a signed cache, and from no other",
  ignore,
  fn: async () => {
    await using rig = await nixosRig();
    const one = await rig.closure({ name: "one" });
    const ask = { candidate: one, deadlineMs: 30_000 };
    assert.equal(await rig.backend().missing(one), 1000);
    const untrusted = await rig.backend("pk2").stage(ask);
    assert.ok(untrusted.kind === "refused");
    assert.deepEqual([untrusted.class, untrusted.code], ["integrity", "cache_untrusted"]);
    const staged = await rig.backend().stage(ask);
    assert.deepEqual(staged, { kind: "staged", path: one.id }, JSON.stringify(staged));
    assert.equal(await rig.backend().missing(one), 0);
    // Another hash than the signed one: these are not the bytes that were chosen.
    const other = await rig.backend().verify(one.id, { ...one, hash: `sha256-${"A".repeat(43)}=` });
    assert.ok(other.kind === "refused" && other.code === "nar_hash_differs");
    // Bytes that changed in the store are found.
    await Deno.chmod(one.id, 0o755);
    await Deno.chmod(`${one.id}/kernel-params`, 0o644);
    await Deno.writeTextFile(`${one.id}/kernel-params`, "quiet k9\n");
    const damaged = await rig.backend().verify(one.id, one);
    assert.ok(
      damaged.kind === "refused" && damaged.code === "closure_corrupt",
      JSON.stringify(damaged),
    );
  },
});

Deno.test({
  name: "nixos: a cache that lacks a path and one that is down are two faults",
  ignore,
  fn: async () => {
    await using rig = await nixosRig();
    const one = await rig.closure({ name: "one" });
    const hash = one.id.slice("/nix/store/".length).slice(0, 32);
    await Deno.rename(rig.dir.at(`cache/${hash}.narinfo`), rig.dir.at("narinfo"));
    const ask = { candidate: one, deadlineMs: 30_000 };
    const miss = await rig.backend().stage(ask);
    assert.ok(miss.kind === "refused");
    assert.deepEqual([miss.class, miss.code], ["environment", "cache_miss"], miss.detail);
    await Deno.rename(rig.dir.at("narinfo"), rig.dir.at(`cache/${hash}.narinfo`));
    await rig.stop();
    const down = await rig.backend().stage({ ...ask, deadlineMs: 60_000 });
    assert.ok(down.kind === "refused");
    assert.deepEqual([down.class, down.code], ["environment", "cache_down"], down.detail);
  },
});

const CODES: readonly (readonly [number, Launch["kind"], string, boolean])[] = [
  // exit, launch, more, is it running afterwards?
  [0, "switched", "", true],
  [2, "switched", "degraded", true],
  [4, "switched", "degraded", true],
  [11, "elsewhere", "", false],
  [1, "nothing", "switch_failed", false],
  [100, "installed", "", false],
  [3, "unknown", "launch_exit_unknown", false],
];

Deno.test({
  name: "nixos: every exit code of switch-to-configuration, and a signal",
  ignore,
  fn: async () => {
    await using rig = await nixosRig();
    const old = (await rig.closure({ name: "old" }, true)).id;
    for (const [exit, kind, more, runs] of CODES) {
      await rig.boot(old);
      const next = (await rig.closure({ name: `exit${exit}`, exit }, true)).id;
      const ask = asked(next, old, { attempt: `a-${exit}` });
      const launch = await rig.backend().launch(ask);
      assert.equal(launch.kind, kind, `${exit}: ${JSON.stringify(launch)}`);
      if (launch.kind === "switched") assert.equal(launch.degraded, more === "degraded");
      if (launch.kind === "nothing" || launch.kind === "unknown") assert.equal(launch.code, more);
      assert.equal(await rig.link("current-system"), runs ? next : old, `${exit}`);
      // The profile follows what came of it: nobody boots by surprise into what failed.
      const selected = runs || kind === "installed" || kind === "unknown" ? next : old;
      assert.equal(await rig.link("profiles/system"), selected, `${exit}`);
      if (kind === "installed") assert.equal(await rig.link("boot-default"), next);
      // The same again starts nothing anew.
      const started = rig.systemd.started.length;
      const again = await rig.backend().launch(ask);
      assert.equal(again.kind, kind, `${exit}, again`);
      assert.equal(rig.systemd.started.length, started);
      const seen = await rig.backend().inspect(ask);
      assert.ok(seen.kind === "ended" && seen.launch.kind === kind, JSON.stringify(seen));
      await rig.backend().forget(ask.attempt);
    }
    await rig.boot(old);
    const killed = (await rig.closure({ name: "killed", signal: true }, true)).id;
    const launch = await rig.backend().launch(asked(killed, old, { attempt: "a-k" }));
    assert.ok(
      launch.kind === "unknown" && launch.code === "launch_signalled",
      JSON.stringify(launch),
    );
  },
});

Deno.test({
  name: "nixos: a switch past its deadline is at work, not raced; a mute systemd is unknown",
  ignore,
  fn: async () => {
    await using rig = await nixosRig();
    const old = (await rig.closure({ name: "old" }, true)).id;
    const slow = (await rig.closure({ name: "slow", sleep: 2 }, true)).id;
    await rig.boot(old);
    const ask = asked(slow, old, { deadlineMs: 300 });
    const launch = await rig.backend().launch(ask);
    assert.ok(launch.kind === "unknown" && launch.code === "launch_timed_out");
    assert.equal((await rig.backend().inspect(ask)).kind, "running");
    rig.systemd.mute = true;
    assert.equal((await rig.backend().inspect(ask)).kind, "unknown");
    assert.equal((await rig.backend().launch(ask)).kind, "unknown");
    rig.systemd.mute = false;
    await Promise.all(rig.systemd.running);
    const seen = await rig.backend().inspect(ask);
    assert.ok(seen.kind === "ended" && seen.launch.kind === "switched");
    assert.equal(rig.systemd.started.length, 1);
  },
});

Deno.test({
  name: "nixos: impact by its own dry run; a kernel means a boot, unless one that brings it waits",
  ignore,
  fn: async () => {
    await using rig = await nixosRig();
    const old = (await rig.closure({ name: "old", inhibitors: "x" }, true)).id;
    const user = (await rig.closure({ name: "user", inhibitors: "x" }, true)).id;
    const kernel = (await rig.closure({ name: "kernel", kernel: "k2" }, true)).id;
    const fix = (await rig.closure({ name: "fix", kernel: "k2" }, true)).id;
    const inhibited = (await rig.closure({ name: "inhibited", inhibitors: "y" }, true)).id;
    await rig.boot(old);
    const impact = async (path: string, pending: string | null) => {
      const seen = await rig.backend().impact(path, pending);
      if ("kind" in seen) throw new Error(JSON.stringify(seen));
      return seen;
    };
    const plain = await impact(user, null);
    assert.deepEqual([plain.mode, plain.boot_parts], ["switch", []]);
    assert.deepEqual(plain.restart, ["a.service", "b.service"]);
    assert.deepEqual(plain.start, ["c.service"]);
    const boot = await impact(kernel, null);
    assert.equal(boot.mode, "boot");
    assert.deepEqual(boot.boot_parts, ["kernel", "initrd", "kernel-modules", "kernel-params"]);
    assert.equal((await impact(inhibited, null)).mode, "boot");
    assert.deepEqual((await impact(inhibited, null)).boot_parts, ["switch-inhibitors"]);
    const onTop = await impact(fix, kernel);
    assert.equal(onTop.mode, "switch");
    assert.ok(onTop.boot_parts.length > 0, "the boot is still pending");
  },
});

backendConformance("nixos", async () => {
  const rig = await nixosRig();
  await rig.boot((await rig.closure({ name: "old" }, true)).id);
  return {
    backend: rig.backend(),
    candidate: (name) => rig.closure({ name }),
    damage: async (path) => {
      await Deno.chmod(`${path}/kernel-params`, 0o644);
      await Deno.writeTextFile(`${path}/kernel-params`, "changed\n");
    },
    [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose](),
  };
}, ignore);
