/**
 * The list of models: the aliases of this router, in the shape the caller's library expects.
 *
 * @module
 */

import { timestamp } from "../../lib/core/clock.ts";
import type { RouterConfig, TierConfig } from "./config_shape.ts";
import { type Answer, jsonAnswer } from "./response.ts";

/**
 * Answers `GET /v1/models` and `GET /v1/models/{alias}`; null when there is no such alias.
 * `startedAt` (epoch milliseconds) stands for the creation time, which nobody knows.
 */
export function modelAnswer(
  config: RouterConfig,
  path: string,
  headers: { readonly has: (name: string) => boolean },
  startedAt: number,
): Answer | null {
  const anthropic = headers.has("anthropic-version");
  const describe = anthropic ? anthropicModel : openaiModel;
  const tiers = new Map(config.tiers.map((tier) => [tier.id, tier]));
  const aliases = Object.keys(config.aliases);
  const model = (alias: string) =>
    describe(alias, tiers.get(config.aliases[alias] ?? "") as TierConfig, startedAt);
  if (path === "/v1/models") {
    const data = aliases.map(model);
    return jsonAnswer(
      anthropic
        ? { data, has_more: false, first_id: aliases[0] ?? null, last_id: aliases.at(-1) ?? null }
        : { object: "list", data },
    );
  }
  const alias = decoded(path.slice("/v1/models/".length));
  return alias !== null && Object.hasOwn(config.aliases, alias) ? jsonAnswer(model(alias)) : null;
}

function openaiModel(alias: string, _tier: TierConfig, startedAt: number): object {
  return { id: alias, object: "model", created: Math.floor(startedAt / 1000), owned_by: "anvil" };
}

function anthropicModel(alias: string, tier: TierConfig, startedAt: number): object {
  return {
    type: "model",
    id: alias,
    display_name: alias,
    created_at: timestamp(startedAt).replace(/\.\d+Z$/, "Z"),
    max_input_tokens: tier.context_tokens ?? null,
    max_tokens: tier.max_output_tokens ?? null,
  };
}

function decoded(segment: string): string | null {
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}
