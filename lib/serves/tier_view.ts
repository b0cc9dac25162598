/**
 * The tiers of this host's router, as far as its serves are concerned. `router.toml` belongs to the
 * router, which checks it whole; here only three facts of each tier are read.
 *
 * @module
 */

import { z } from "zod";
import type { Checked, Problem } from "../core/problem.ts";
import { checkShape } from "../document/shape.ts";
import { readToml, type Table } from "../document/toml.ts";
import { at, tableAt, textAt, wholeAt } from "./written.ts";

const viewShape = z.looseObject({
  tiers: z.array(z.looseObject({
    id: z.string(),
    served_model: z.string(),
    members: z.array(z.looseObject({ endpoint: z.string() })).default([]),
  })).default([]),
});

/** One tier. */
export interface TierView {
  readonly id: string;
  readonly servedModel: string;
  /** Ports its members listen on. */
  readonly ports: readonly number[];
}

/** The tiers of a `router.toml`. */
export function readTiers(text: string): Checked<readonly TierView[]> {
  const table = readToml(text);
  if (table.kind === "invalid") return table;
  const shaped = checkShape(viewShape, table.model);
  if (shaped.kind === "invalid") return shaped;
  const model = shaped.model.tiers.map(({ id, served_model, members }) => ({
    id,
    servedModel: served_model,
    ports: members.map(({ endpoint }) => Number(URL.parse(endpoint)?.port ?? 0)),
  }));
  return { kind: "ok", model };
}

/** Codes of {@link findTierFaults}. */
export const TIER_CODES = ["tier_unknown", "tier_serves_other_model", "tier_lacks_member"] as const;

/** Serves whose tier is not there, asks another port, or promises another model. */
export function findTierFaults(
  serves: readonly Table[],
  tiers: readonly TierView[],
): readonly Problem[] {
  return serves.flatMap((serve, index): Problem[] => {
    const id = textAt(serve, "tier");
    if (id === null) return [];
    const tier = tiers.find((one) => one.id === id);
    if (tier === undefined) {
      const known = tiers.map((one) => one.id).join(", ") || "none";
      const message = `router.toml has no tier ${JSON.stringify(id.slice(0, 80))}; it has ${known}`;
      return [at(index, ["tier"], "tier_unknown", message)];
    }
    const problems: Problem[] = [];
    const model = textAt(serve, "served_model") ?? textAt(tableAt(serve, "model") ?? {}, "id");
    if (model !== null && model !== tier.servedModel) {
      const message = `the tier promises ${
        JSON.stringify(tier.servedModel)
      }, this serve is another`;
      problems.push(at(index, ["tier"], "tier_serves_other_model", message));
    }
    const port = wholeAt(serve, "port");
    if (port !== null && !tier.ports.includes(port)) {
      const message = `no member of the tier listens on ${port}; it asks ${tier.ports.join(", ")}`;
      problems.push(at(index, ["port"], "tier_lacks_member", message));
    }
    return problems;
  });
}
