import assert from "node:assert/strict";
import { adopterRig, adopterToml, type HostRig } from "../support/adopter_rig.ts";

type Rig = Awaited<ReturnType<typeof adopterRig>>;

/** A host that adopted `one`, and on which `next` is staged. */
async function adopted(rig: Rig, host: HostRig, next: string): Promise<void> {
  await rig.publish("one");
  assert.equal((await host.all()).code, "proven");
  await rig.publish(next);
  await host.offer();
  assert.equal((await host.stage()).code, "staged");
}

/** A host that came up by bootstrap with what is offered. */
async function bootstrapped(rig: Rig, host: HostRig, next: string): Promise<void> {
  const target = await rig.publish(next);
  assert.ok(target?.kind === "bundle");
  await rig.bootstrap(host, target.digest);
  assert.equal((await host.offer()).code, "offered");
}

interface Said {
  readonly code: string;
  readonly ending: string | null;
  readonly steps: number;
}

/** One life; null when it was killed. */
async function life(folder: string, step: number): Promise<Said | null> {
  const script = new URL("adopter_child.ts", import.meta.url).pathname;
  const { signal, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "--no-check", script, folder, `${step}`],
    stdin: "null",
    signal: AbortSignal.timeout(60_000),
  }).output();
  if (signal === "SIGKILL") return null;
  const said = new TextDecoder().decode(stdout).trim();
  assert.notEqual(said, "", new TextDecoder().decode(stderr));
  return JSON.parse(said) as Said;
}

// Only every so many steps: the fake disk dies at each; here it is the kernel that takes the life.
for (
  const { name, set, next, end, runs, stride } of [
    { name: "known-good", set: adopted, next: "two", end: "known-good", runs: "two", stride: 9 },
    { name: "rolled-back", set: adopted, next: "bad", end: "rolled-back", runs: "one", stride: 9 },
    { name: "proven", set: bootstrapped, next: "one", end: "known-good", runs: "one", stride: 5 },
    { name: "not good", set: bootstrapped, next: "bad", end: "failed", runs: "bad", stride: 5 },
  ]
) {
  Deno.test({
    name: `crash, adopter: kill -9 on the way to ${name}, started again, comes to it`,
    ignore: Deno.build.os === "windows",
    fn: async () => {
      await using rig = await adopterRig();
      const host = await rig.host();
      await set(rig, host, next);
      let deaths = 0;
      for (let step = 0;; step += stride) {
        const folder = rig.dir.at(`copy-${step}`);
        const copied = await new Deno.Command("cp", { args: ["-a", host.folder, folder] }).output();
        assert.ok(copied.success);
        await Deno.writeTextFile(`${folder}/adopter.toml`, adopterToml(folder, rig.url));
        const first = await life(folder, step);
        const last = first ?? await life(folder, -1);
        assert.equal(last?.ending, end, `${step}: ${JSON.stringify(last)}`);
        const running = /echo (.*)/.exec(await Deno.readTextFile(`${folder}/running`))?.[1];
        assert.equal(running, runs, `step ${step}`);
        const current = (await Deno.readTextFile(`${folder}/store/current`)).trim();
        const tree = await Deno.readTextFile(`${folder}/store/generations/${current}/bin/run`);
        assert.match(tree, new RegExp(`echo ${runs}`), "what is selected is not what runs");
        const marker = await Deno.stat(`${folder}/failures/anvil-adopter-activate.failure`)
          .catch(() => null);
        assert.equal(marker !== null, end !== "known-good");
        const restarts = await Deno.readTextFile(`${folder}/restarts`).catch(() => null);
        assert.equal(restarts !== null, set === adopted, "a proof restarted something");
        const { receipts } = JSON.parse(
          await Deno.readTextFile(`${folder}/state/receipts.json`),
        ) as { receipts: { kind: string; rev: string }[] };
        assert.equal(receipts.filter(({ kind, rev }) => kind === end && rev === next).length, 1);
        if (first !== null) {
          console.log(`${name}: ${first.steps} steps, ${deaths} deaths`);
          assert.ok(deaths >= 4, `${deaths}`);
          return;
        }
        deaths++;
      }
    },
  });
}
