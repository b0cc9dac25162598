/**
 * Two `router.toml` side by side, as far as a promotion is concerned: which alias means which tier,
 * and what else differs. The installed router judges the text; this only compares.
 *
 * @module
 */

import { z } from "zod";
import { canonicalJson, type Json } from "../../core/canonical_json.ts";
import type { Checked } from "../../core/problem.ts";
import { checkShape } from "../../document/shape.ts";
import { readToml, type Table } from "../../document/toml.ts";
import { readTiers, type TierView } from "../tier_view.ts";

/** A configuration as a planner sees it. */
export interface RouterText {
  readonly tiers: ReadonlyMap<string, TierView>;
  readonly aliases: ReadonlyMap<string, string>;
  readonly table: Table;
}

const aliasShape = z.looseObject({ aliases: z.record(z.string(), z.string()).default({}) });

/** Reads one. */
export function readRouterText(text: string): Checked<RouterText> {
  const table = readToml(text);
  if (table.kind === "invalid") return table;
  const tiers = readTiers(text);
  if (tiers.kind === "invalid") return tiers;
  const aliases = checkShape(aliasShape, table.model);
  if (aliases.kind === "invalid") return aliases;
  return {
    kind: "ok",
    model: {
      tiers: new Map(tiers.model.map((tier) => [tier.id, tier])),
      aliases: new Map(Object.entries(aliases.model.aliases)),
      table: table.model,
    },
  };
}

/** What differs between two, in the words of the file: `aliases."llm.fast"`, `tiers.fast`, `limits`. */
export function differences(left: RouterText, right: RouterText): readonly string[] {
  const found: string[] = [];
  const each = (
    prefix: string,
    one: ReadonlyMap<string, unknown>,
    other: ReadonlyMap<string, unknown>,
  ) => {
    for (const key of new Set([...one.keys(), ...other.keys()])) {
      if (!same(one.get(key), other.get(key))) found.push(`${prefix}${key}`);
    }
  };
  each("aliases.", left.aliases, right.aliases);
  each("tiers.", tierTables(left.table), tierTables(right.table));
  each("", rest(left.table), rest(right.table));
  return found.toSorted();
}

function tierTables(table: Table): ReadonlyMap<string, unknown> {
  const tiers = Array.isArray(table["tiers"]) ? table["tiers"] as readonly Table[] : [];
  return new Map(tiers.map((tier) => [String(tier["id"]), tier]));
}

function rest(table: Table): ReadonlyMap<string, unknown> {
  return new Map(Object.entries(table).filter(([key]) => key !== "tiers" && key !== "aliases"));
}

function same(left: unknown, right: unknown): boolean {
  return left === undefined || right === undefined
    ? left === right
    : canonicalJson(plain(left)) === canonicalJson(plain(right));
}

/** TOML has dates and large integers; both have a text of their own. */
function plain(value: unknown): Json {
  return JSON.parse(
    JSON.stringify(value, (_key, one: unknown) => typeof one === "bigint" ? `${one}n` : one),
  );
}
