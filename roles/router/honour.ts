/**
 * What a tier declared it can do, against what a request wants of it.
 *
 * @module
 */

import type { BodyFacts } from "../../lib/relay/body_facts.ts";
import type { AskRefused } from "./ask.ts";
import type { TierConfig } from "./config_shape.ts";

/** Why this tier cannot honour a request; null when nothing known so far speaks against it. */
export function unhonoured(tier: TierConfig, facts: BodyFacts): AskRefused | null {
  if (facts.tools && !tier.tools) {
    return refused("tools_unsupported", "this model is served without tools; send none");
  }
  for (const medium of facts.media) {
    if (!tier.media.includes(medium)) {
      const takes = tier.media.length === 0 ? "text only" : `text, ${tier.media.join(", ")}`;
      return refused(
        "media_unsupported",
        `the request holds ${medium} content; this model takes ${takes}`,
      );
    }
  }
  const most = Math.min(tier.max_output_tokens ?? Infinity, tier.context_tokens ?? Infinity);
  if (facts.maxTokens !== null && facts.maxTokens > most) {
    return refused(
      "output_over_limit",
      `the request asks for up to ${facts.maxTokens} tokens; this model is served with at most ${most}`,
    );
  }
  return null;
}

function refused(code: AskRefused["code"], message: string): AskRefused {
  return { kind: "refused", code, message };
}
