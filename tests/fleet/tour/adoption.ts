/**
 * The story of updates: adopted by the host itself, proven or taken back, with the gateway or without.
 *
 * @module
 */

import { publish } from "../furnish.ts";
import type { FleetRig, HostId } from "../rig.ts";
import { type Streamed, streamOpenai } from "./client.ts";
import type { Data, Guide, Station } from "./guide.ts";

/** Tokens of a stream that spans a switch: half a minute of it, inside the router's drain budget. */
const SPAN = 1300;
const ADOPT_MS = 240_000;

/** The stations. */
export const ADOPTION: readonly Station[] = [
  {
    title: "a second version is published, and a host adopts it under a stream",
    proves:
      "router and agent were replaced by the version that was signed, the probes said so of " +
      "exactly that one, and no stream was cut",
    walk: (guide) => second(guide, "gpu-a", "llm.primary"),
  },
  {
    title: "a bad version is published: its agent ends at once",
    proves: "a bad candidate goes back by itself to what was proven, loudly, and no stream was cut",
    walk: (guide) => bad(guide, "gpu-a", "llm.primary"),
  },
  {
    title: "the gateway loses power",
    proves:
      "every host goes on serving, a host adopts what it has, and the view is true again as " +
      "soon as the gateway is back",
    walk: gatewayGone,
  },
];

/** What the host's adopter says. */
async function status(fleet: FleetRig, host: HostId): Promise<Data | null> {
  const said = await fleet.operator([
    ...["op", "call", "candidates.status", "--target", `host:${host}`, "--json"],
  ]);
  try {
    const { data } = JSON.parse(said.out) as { readonly data: Data };
    return (data["outcomes"]?.[0]?.["result"] ?? null) as Data | null;
  } catch {
    return null;
  }
}

/** Asks for an adoption; the agent that is asked is replaced meanwhile, so its answer is no end. */
async function adoptUnderStream(
  guide: Guide,
  host: HostId,
  alias: string,
): Promise<{ readonly ending: string; readonly after: Data }> {
  const { fleet } = guide;
  const call = ["op", "call"];
  const at = ["--target", `host:${host}`];
  await guide.operator([...call, "candidates.stage", ...at], { lines: 3 });
  const before = await status(fleet, host);
  const pointer = () => fleet.text(host, ["cat", "/opt/anvil/current"]);
  const current = await pointer();
  guide.tell(`streams of half a minute, one after the other, at ${host}`);
  const streams: Streamed[] = [];
  let streaming = false;
  let switched = false;
  const pump = async () => {
    while (!switched) {
      streaming = true;
      streams.push(await streamOpenai(fleet, host, alias, { tokens: SPAN }));
      streaming = false;
    }
  };
  const pumped = pump();
  const asked = guide.operator([...call, "candidates.adopt", ...at, "--confirm"], {
    ...{ code: "any", lines: 4 },
  });
  let spanned = false;
  try {
    await guide.until("it switches", async () => {
      if (await pointer() === current) return false;
      spanned = streaming;
      return true;
    }, ADOPT_MS);
  } finally {
    switched = true;
    await pumped;
  }
  await asked;
  for (const { pieces, error } of streams) guide.tell(`│ a stream: ${pieces} pieces ${error}`);
  // One that came while the router restarted may be refused; one that began is never cut.
  guide.expect(streams.every(({ whole, pieces }) => whole || pieces === 0), "no stream cut");
  guide.expect(spanned, "the stream to be there when it switched");
  let after: Data | null = null;
  await guide.until("the attempt ends", async () => {
    after = await status(fleet, host);
    const last = JSON.stringify(after?.["last"] ?? null);
    return after !== null && after["attempt"] === null as unknown &&
      last !== JSON.stringify(before?.["last"] ?? null);
  }, ADOPT_MS);
  const seen = after as unknown as Data;
  return { ending: `${seen["last"]?.["ending"]}`, after: seen };
}

async function second(guide: Guide, host: HostId, alias: string): Promise<void> {
  const { version, rev } = guide.fleet.bundles.second;
  guide.tell(
    `gateway$ anvil-publisher publish ${host} --tree anvil-${version}-linux-x64 --rev ${rev}`,
  );
  guide.tell(`│ ${await publish(guide.fleet, host, "second")}`);
  const { ending } = await adoptUnderStream(guide, host, alias);
  guide.expect(ending === "known-good", `known-good, it ended ${ending}`);
  const seen = await guide.operator(["fleet", "versions", "--target", `host:${host}`]);
  guide.expect(seen.out.includes(version), `version ${version}`);
  await guide.operator(["fleet", "status"]);
}

async function bad(guide: Guide, host: HostId, alias: string): Promise<void> {
  guide.tell(`gateway$ anvil-publisher publish ${host} --tree bad`);
  guide.tell(`│ ${await publish(guide.fleet, host, "bad")}`);
  const { ending } = await adoptUnderStream(guide, host, alias);
  guide.expect(ending === "rolled-back", `rolled-back, it ended ${ending}`);
  const seen = await guide.operator(["fleet", "versions", "--target", `host:${host}`]);
  guide.expect(seen.out.includes(guide.fleet.bundles.second.version), "the proven version");
  await guide.hand(host, ["sh", "-c", "cat /var/lib/anvil/failures/*.failure"]);
  const served = await streamOpenai(guide.fleet, host, alias, { tokens: 3 });
  guide.expect(served.whole, `it to serve: ${served.error}`);
}

async function gatewayGone(guide: Guide): Promise<void> {
  const { fleet } = guide;
  guide.tell(`│ ${await publish(fleet, "voice-a", "second")}`);
  await guide.operator(
    ["op", "call", "candidates.stage", "--target", "host:voice-a"],
    { lines: 3 },
  );
  guide.tell("every process of the gateway is killed: operator, publisher, its agent");
  await fleet.powerOff("gateway");
  try {
    for (const [host, alias] of [["gpu-a", "llm.primary"], ["gpu-b", "llm.candidate"]] as const) {
      const served = await streamOpenai(fleet, host, alias, { tokens: 5 });
      guide.tell(`│ ${host} ${alias}: ${served.pieces} pieces ${served.error}`);
      guide.expect(served.whole, `${host} to serve`);
    }
    await guide.hand("voice-a", ["anvil-adopter", "adopt"], {
      ...{ cwd: "/var/lib/anvil", deadlineMs: ADOPT_MS },
    });
  } finally {
    await fleet.start("gateway");
  }
  const began = performance.now();
  let said = await fleet.operator(["fleet", "status", "--require-all"]);
  while (said.code !== 0 && performance.now() - began < 60_000) {
    said = await fleet.operator(["fleet", "status", "--require-all"]);
  }
  guide.tell(
    `the first whole view came ${((performance.now() - began) / 1000).toFixed(1)} s after its boot`,
  );
  await guide.operator(["fleet", "status", "--require-all"]);
  const seen = await guide.operator(["fleet", "versions", "--target", "host:voice-a"], {
    lines: 3,
  });
  guide.expect(
    seen.out.includes(fleet.bundles.second.version),
    "voice-a at the version it adopted meanwhile",
  );
}
