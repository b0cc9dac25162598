/**
 * Whether a folder's file system replaces one name by another at once: the port. What a store points
 * with is replaced so; where it cannot be, a crash may leave no pointer at all.
 *
 * @module
 */

/** What trying it showed. */
export type ReplaceProbed =
  | { readonly kind: "atomic" }
  /** It was tried, or the file system is known: a name may be missing, or come back, after a crash. */
  | { readonly kind: "not_atomic"; readonly cause: string }
  /** It could not be tried. */
  | { readonly kind: "no_space" | "unwritable"; readonly cause: string };

/** Tries it in `folder`, under two names of its own that are gone afterwards. For one writer at a time. */
export type ProbeReplace = (folder: string) => Promise<ReplaceProbed>;
