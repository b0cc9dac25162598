/**
 * The loss of the gateway changes no serving: while it alone is gone, tiers stay as they were and
 * every request of a tier that serves is answered whole.
 *
 * @module
 */

import type { AskFact, Facts, StatusSample, Violation } from "../facts.ts";

const INVARIANT = "gateway loss changes no serving";
/** Operations that close and open tiers. */
const CLOSES = /^(router\.transition|mode\.|promotion\.|candidates\.)/;
/** An ask is answered at most so long after it began, and its change goes on as long without it. */
const UNDER_WAY_MS = 90_000;

/** What changed while only the gateway was gone. */
export function gatewayChanged(
  { inflicted, samples, transcripts, lives, asks }: Pick<
    Facts,
    "inflicted" | "samples" | "transcripts" | "lives" | "asks"
  >,
): readonly Violation[] {
  const violations: Violation[] = [];
  const say = (detail: string) => void violations.push({ invariant: INVARIANT, detail });
  for (const { fault, from, to } of inflicted) {
    if (fault.kind !== "gateway_gone") continue;
    const hosts = new Set(samples.map(({ host }) => host));
    for (const host of hosts) {
      // An operation that was under way goes on without the gateway, and may restart the router.
      const moved = lives.some((life) =>
        life.host === host && ((life.began > from - 3000 && life.began < to) ||
          (life.ended !== null && life.ended > from - 3000 && life.ended < to))
      );
      if (moved) continue;
      const seen = samples.filter((one) => one.host === host && one.from > from && one.to < to);
      const [first] = seen;
      if (first === undefined) continue;
      const closing = asks.some((one) => closesIn(one, host, from, to));
      for (const tier of first.tiers.filter(isServing)) {
        const fell = seen.find((one) =>
          !one.tiers.some((now) => now.tier === tier.tier && isServing(now))
        );
        if (fell === undefined) continue;
        // An intent moves by an operation that was under way; readiness by itself may not.
        const kept = fell.tiers.some((now) => now.tier === tier.tier && now.intent === tier.intent);
        if (!kept && closing) continue;
        say(`${host}: ${tier.tier} does not serve any more at ${(fell.from / 1000).toFixed(1)} s`);
      }
      const serving = new Set(first.tiers.filter(isServing).map(({ tier }) => tier));
      for (const one of transcripts) {
        const tier = TIER_OF[one.alias];
        const within = one.host === host && one.began > first.to && one.ended < to;
        if (!within || tier === undefined || !serving.has(tier)) continue;
        if (one.end === "whole" || one.end === "left" || one.spoiled) continue;
        if (closing && one.code === "tier_quiesced") continue;
        say(`${host}: ${one.marker} ended as ${one.end} ${one.code ?? ""}`);
      }
    }
  }
  return violations;
}

/** Whether an operation that closes tiers may have been at work on the host in the span. */
function closesIn(ask: AskFact, host: string, from: number, to: number): boolean {
  return ask.host === host && CLOSES.test(ask.operation) && ask.at > from - UNDER_WAY_MS &&
    ask.at < to + UNDER_WAY_MS;
}

const TIER_OF: { readonly [alias: string]: string } = {
  "llm.primary": "primary",
  "llm.embed": "embed",
  "video.make": "video",
};

function isServing({ intent, readiness }: StatusSample["tiers"][number]): boolean {
  return readiness === "ready" && /^admit/.test(intent);
}
