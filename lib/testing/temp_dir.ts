/**
 * A directory for one test, gone afterwards.
 *
 * @module
 */

import { join } from "node:path";

/** A directory that `await using` removes. */
export interface TempDir extends AsyncDisposable {
  readonly path: string;
  /** The path of `name` in it. */
  at(name: string): string;
}

/** Makes a fresh directory that only we can look into. */
export async function tempDir(): Promise<TempDir> {
  const path = await Deno.makeTempDir({ prefix: "anvil-test-" });
  return {
    path,
    at: (name) => join(path, name),
    [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }),
  };
}
