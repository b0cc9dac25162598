/**
 * Where what is in a store.
 *
 *     <root>/current, previous              a digest and a newline, each replaced at once
 *            generations/<digest>/…         manifest.json and its files; never changed once named
 *            generations/.staging-<digest>  unfinished, of nobody's interest
 *            generations/.removing-<digest> on its way out
 *
 * @module
 */

import { within } from "../host/paths.ts";
import { MANIFEST } from "./manifest.ts";

/** Most generations that are looked at. */
export const MOST_GENERATIONS = 10_000;
/** Directories under these names are swept. */
export const STAGING = ".staging-";
/** See {@link STAGING}. */
export const REMOVING = ".removing-";

/** The two pointers. */
export type Pointer = "current" | "previous";

/** A pointer's file. */
export function pointerPath(root: string, pointer: Pointer): string {
  return within(root, pointer);
}

/** All generations. */
export function generationsPath(root: string): string {
  return within(root, "generations");
}

/** One generation, or what becomes or was one. */
export function generationPath(root: string, name: string): string {
  return within(generationsPath(root), name);
}

/** The manifest in a generation's directory. */
export function manifestPath(generation: string): string {
  return within(generation, MANIFEST);
}
