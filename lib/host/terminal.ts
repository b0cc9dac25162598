/**
 * This process's own terminal, arguments and build.
 *
 * @module
 */

import type { Terminal } from "../core/terminal.ts";
import { type Build, readStamp, STAMP, VERSION } from "../core/version.ts";

const encoder = new TextEncoder();

/** Standard output and error, written at once; a reader that left is no error of ours. */
export function systemTerminal(): Terminal {
  const isTerminal = Deno.stdout.isTerminal();
  return {
    out: (text) => write(Deno.stdout, text),
    err: (text) => write(Deno.stderr, text),
    isTerminal,
    color: isTerminal && !Deno.noColor,
  };
}

/** What runs here, under `name`. */
export function systemBuild(name: string): Build {
  return {
    name,
    version: VERSION,
    ...readStamp(STAMP),
    deno: Deno.version.deno,
    platform: `${Deno.build.os}-${Deno.build.arch}`,
  };
}

/** Resident memory of this process, in bytes. */
export function systemResidentBytes(): number {
  return Deno.memoryUsage().rss;
}

function write(stream: typeof Deno.stdout, text: string): void {
  let bytes = encoder.encode(text);
  try {
    while (bytes.length > 0) bytes = bytes.subarray(stream.writeSync(bytes));
  } catch (error) {
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
  }
}
