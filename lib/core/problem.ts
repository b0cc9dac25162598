/**
 * What is wrong with a text somebody wrote: always collected, never thrown one at a time.
 *
 * @module
 */

/** One fault in a declared text. */
export interface Problem {
  /** Where: a TOML path such as `tiers[0].members[1].endpoint`, or `$` for the whole text. */
  readonly path: string;
  /** Stable, machine-readable. */
  readonly code: string;
  /** What was observed, what was expected, what to do next. Never quotes a secret. */
  readonly message: string;
  /** 1-based, where the parser knows. */
  readonly line?: number;
  /** 1-based, where the parser knows. */
  readonly column?: number;
}

/** A text that became a model, or every problem that kept it from becoming one. */
export type Checked<Model> =
  | { readonly kind: "ok"; readonly model: Model }
  | { readonly kind: "invalid"; readonly problems: readonly Problem[] };

/** Writes a path of keys and indexes the way TOML readers expect: `tiers[0].id`, `aliases."llm.primary"`. */
export function pathOf(keys: readonly PropertyKey[]): string {
  let path = "";
  for (const key of keys) {
    if (typeof key === "number") path += `[${key}]`;
    else {
      const name = String(key);
      const written = /^[A-Za-z0-9_-]+$/.test(name) ? name : JSON.stringify(name);
      path += path === "" ? written : `.${written}`;
    }
  }
  return path === "" ? "$" : path;
}
