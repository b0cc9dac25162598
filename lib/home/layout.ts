/**
 * Where what is in a home.
 *
 *     <home>/current                        which generation is live: one small file, replaced at once
 *            history.jsonl                  every switch, written before it is made
 *            lock                           one command changes a home at a time
 *            generations/<digest>/receipt.json
 *                                 files/…   never changed once it has its name
 *            generations/.staging-…         unfinished, of nobody's interest
 *
 * @module
 */

import { within } from "../host/paths.ts";

/** Most generations that are looked at. */
export const MOST_GENERATIONS = 10_000;
/** Directories under this name are unfinished. */
export const STAGING = ".staging-";

/** The pointer. */
export function currentPath(home: string): string {
  return within(home, "current");
}

/** The record of switches. */
export function historyPath(home: string): string {
  return within(home, "history.jsonl");
}

/** The lock file. */
export function lockPath(home: string): string {
  return within(home, "lock");
}

/** All generations. */
export function generationsPath(home: string): string {
  return within(home, "generations");
}

/** One generation, or what becomes one. */
export function generationPath(home: string, name: string): string {
  return within(generationsPath(home), name);
}

/** The receipt in a generation's directory. */
export function receiptPath(generation: string): string {
  return within(generation, "receipt.json");
}

/** The files in a generation's directory. */
export function filesPath(generation: string): string {
  return within(generation, "files");
}
