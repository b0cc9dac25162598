import assert from "node:assert/strict";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { SimulatedNode } from "../fixtures/node.ts";
import { startAgentRig, TOKENS } from "../support/agent.ts";
import { dispatchRig } from "../support/dispatch.ts";
import { ADOPTER_STATUS, adopterSays, fakeAdopter } from "../support/fake_adopter.ts";
import { freePort } from "../support/free_port.ts";

const ago = (ms: number) => new Date(Date.now() - ms).toISOString();
const DAY = 86_400_000;

/** The row of `gpu-a`, cells by two blanks or more. */
function cells(out: string, host = "gpu-a"): string[] {
  const line = out.split("\n").find((one) => one.startsWith(`${host} `)) ?? "";
  return line.split(/ {2,}/);
}

Deno.test("fleet status: fresh or old, pending, refused, known good; and unknown is not no", async () => {
  await using dir = await tempDir();
  const fake = await fakeAdopter(dir);
  const agent = await startAgentRig(dir.path, [], { toml: fake.toml() });
  await using plain = new SimulatedNode("plain");
  await using rig = await dispatchRig([
    ["gpu-a", agent.agent.port],
    ["plain", plain.port],
    ["gone", freePort()],
  ], { "gpu-a": TOKENS.all });
  await Deno.mkdir(rig.folder.at("home"));
  type Row = { readonly host: string; readonly adoption: Record<string, unknown> };
  const rows = async (): Promise<ReadonlyMap<string, Record<string, unknown>>> => {
    const { out } = await rig.run("fleet", "status", "--json");
    const fleet = JSON.parse(out).data.fleet as Row[];
    return new Map(fleet.map(({ host, adoption }) => [host, adoption]));
  };
  let stopped = false;
  try {
    const status = {
      ...ADOPTER_STATUS,
      freshness: "stale",
      why: "a newer candidate has been there for so long",
      proven: { path: "sha256:aa", rev: "0123456789abcdef", sequence: 1, at: ago(9 * DAY + 1000) },
      pending_boot: { path: "sha256:bb", direction: "forward", since: ago(2 * DAY + 1000) },
      last: {
        ...{ attempt: "a", path: "sha256:bb", rev: "two", ended_at: ago(3 * DAY) },
        ...{ ending: "rolled-back", code: "probe_failed", detail: "" },
      },
      failures: [{
        ...{ unit: "anvil-adopter-stage", code: "expired", since: ago(2 * DAY), count: 3 },
        ...{ last: ago(DAY + 1000), detail: "" },
      }],
    };
    await fake.says("status", 0, adopterSays(status));
    const { code, out } = await rig.run("fleet", "status");
    assert.equal(code, 0);
    assert.deepEqual(cells(out).slice(8), [
      "stale",
      "0123456789ab 9 d ago",
      "pending 2 d",
      "expired 1 d ago",
    ]);
    assert.equal(cells(out, "plain")[8], "no adopter");
    assert.deepEqual(cells(out, "gone").slice(8, 12), Array(4).fill("unknown"));
    const told = await rows();
    const mine = told.get("gpu-a");
    assert.deepEqual([mine?.["freshness"], mine?.["pending_boot"]], ["stale", true]);
    const { pending_boot } = mine?.["ages_seconds"] as { readonly pending_boot: number };
    assert.ok(pending_boot >= 172_801 && pending_boot < 172_901, String(pending_boot));
    assert.deepEqual([told.get("plain")?.["adopter"], told.get("gone")?.["adopter"]], [
      false,
      null,
    ]);
    assert.equal(told.get("gone")?.["pending_boot"], null);

    // It answers, and yet its adopter does not: unknown, beside what it was.
    await fake.says("status", 0, "{");
    const mute = await rig.run("fleet", "status");
    assert.equal(cells(mute.out)[8], "unknown, was stale");
    assert.match(mute.out, /candidates\.status: adopter_unusable/);

    await agent[Symbol.asyncDispose]();
    stopped = true;
    const off = await rig.run("fleet", "status");
    assert.deepEqual(cells(off.out).slice(8, 12), [
      "unknown, was stale",
      "was 0123456789ab 9 d ago",
      "was pending 2 d",
      "was expired 1 d ago",
    ]);
    const before = (await rows()).get("gpu-a");
    assert.deepEqual([before?.["freshness"], before?.["known"]], ["unknown", false]);
    assert.equal((before?.["before"] as Record<string, unknown>)["freshness"], "stale");
  } finally {
    if (!stopped) await agent[Symbol.asyncDispose]();
  }
});
