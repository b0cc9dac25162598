/**
 * One fact about this machine, and how it is had: programs are run, a reader understands what they
 * say, and what was not understood is told as not seen.
 *
 * A narrow process may not read /proc or the registry, so facts come from allowed programs.
 *
 * @module
 */

import type { Json } from "../../../lib/core/canonical_json.ts";
import { type Clock, timestamp } from "../../../lib/core/clock.ts";
import type { Files } from "../../../lib/core/files.ts";
import type { RunProcess } from "../../../lib/core/process.ts";

/** What was seen, where, when; `value` is null when it was not seen, and `why` says why. */
export interface Fact {
  readonly [key: string]: Json;
  readonly value: Json;
  readonly source: string;
  readonly at: string;
  readonly why: string | null;
}

/** What facts are gathered with. */
export interface FactPorts {
  readonly run: RunProcess;
  readonly files: Files;
  readonly clock: Clock;
  /** Of the operating system: `linux`, `darwin`, `windows`. */
  readonly os: string;
}

/** A program and its arguments. */
export type Argv = readonly [program: string, ...args: readonly string[]];

/** Where a fact comes from. */
export interface Source {
  /** Run side by side, each to its end. */
  readonly programs: readonly Argv[];
  /** What they said, in order; null when it is not what they say. Never throws. */
  readonly read: (texts: readonly string[]) => Json;
  /** An exit code that, with nothing said, means that there is nothing. */
  readonly emptyExit?: number;
}

/** How one operating system is asked. */
export interface Adapter {
  readonly memory: Source;
  readonly devices: Source;
  readonly disk: Source;
  readonly listening: Source;
  readonly power: Source;
  /** Null: it comes from files, which Linux alone opens to us. */
  readonly pressure: Source | null;
  /** The disk that holds a path. */
  readonly diskOf: (path: string) => Source;
  /** The whole environment of its programs: nothing of ours is passed on. */
  readonly env: { readonly [name: string]: string };
}

const DEADLINE_MS = 5000;
const MOST_OUTPUT = 1024 * 1024;

/** Asks one source. */
export async function observe(
  ports: FactPorts,
  { programs, read, emptyExit }: Source,
  env: Adapter["env"],
  signal: AbortSignal,
): Promise<Fact> {
  const at = timestamp(ports.clock.now());
  const source = [...new Set(programs.map(([program]) => program))].join(", ");
  const not = (why: string): Fact => ({ value: null, source, at, why });
  const bounds = { env, deadlineMs: DEADLINE_MS, maxOutputBytes: MOST_OUTPUT, signal };
  const ends = await Promise.all(programs.map((argv) => ports.run({ argv, ...bounds })));
  const texts: string[] = [];
  for (const end of ends) {
    if (end.kind === "failed_to_start") return not(end.code);
    if (end.kind !== "exited") return not(end.kind);
    const nothing = end.stdout.length === 0 && end.stderr.length === 0;
    if (end.code !== 0 && !(end.code === emptyExit && nothing)) return not(`exited_${end.code}`);
    const text = new TextDecoder().decode(end.stdout).replaceAll("\r\n", "\n");
    // Each of these programs ends its last line: what has no end was cut.
    if (text !== "" && !text.endsWith("\n")) return not("output_cut");
    texts.push(text);
  }
  const value = read(texts);
  return value === null ? not("output_not_understood") : { value, source, at, why: null };
}

/** A whole number as a program writes it; null for anything else. */
export function wholeNumber(text: string | undefined): number | null {
  if (text === undefined || !/^\d{1,16}$/.test(text)) return null;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : null;
}

/** Percent, 0 to 100. */
export function percentOf(value: number | null): number | null {
  return value !== null && value <= 100 ? value : null;
}

/** A port somebody can listen on. */
export function portOf(text: string | undefined): number | null {
  const port = wholeNumber(text);
  return port !== null && port >= 1 && port <= 65535 ? port : null;
}

/** `df -P`: rows of one filesystem each, in bytes. `unit` is the size of its blocks. */
export function readDf(text: string, unit: number, left: ReadonlySet<string>): Json {
  const [head, ...lines] = text.trimEnd().split("\n");
  if (head?.startsWith("Filesystem ") !== true || lines.length === 0) return null;
  const rows: Json[] = [];
  for (const line of lines) {
    const match = /^(\S.*?)\s+(\d+)\s+(\d+)\s+(-?\d+)\s+(?:\d+%|-)\s+(\/.*)$/.exec(line);
    if (match === null) return null;
    const [, device = "", total, used, available, mount = ""] = match;
    if (left.has(device)) continue;
    rows.push({
      mount,
      total_bytes: Number(total) * unit,
      used_bytes: Number(used) * unit,
      available_bytes: Number(available) * unit,
    });
  }
  return rows;
}
