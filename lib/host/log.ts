/**
 * The log: JSON lines on stderr, coloured text when a person looks, secrets masked either way.
 *
 *     record ──plain data──> by field name ──> one line ──> by pattern ──> stderr
 *
 * Errors and secrets become plain data first, because the library leaves the inside of an Error alone.
 *
 * @module
 */

import {
  configureSync,
  getAnsiColorFormatter,
  getLogger,
  type Logger,
  type LogLevel,
  type LogRecord,
  type TextFormatter,
} from "@logtape/logtape";
import { redactByField, redactByPattern } from "@logtape/redaction";
import { timestamp } from "../core/clock.ts";
import { MASK_RULES, SECRET_FIELDS } from "../core/mask.ts";
import { Secret } from "../core/secret.ts";

/** How the log of this process is set up. */
export interface LogOptions {
  /** Records below it are not made. */
  readonly level: LogLevel | "off";
  /** Gets each line without its newline. Default: stderr. */
  readonly sink?: (line: string) => void;
  /** Text for people or JSON lines. Default: text when stderr is a terminal. */
  readonly form?: "text" | "json";
}

/** Deeper structure than this is cut: a log line is no dump. */
const MOST_DEPTH = 8;
const MASK = "[secret]";

/** Sets the log up; called once by `main.ts`, again by tests. */
export function configureLog(options: LogOptions): void {
  const form = options.form ?? (Deno.stderr.isTerminal() ? "text" : "json");
  const format = redactByPattern(form === "text" ? text : jsonLine, [...MASK_RULES]);
  const put = options.sink ?? toStderr;
  const byField = redactByField((record: LogRecord) => put(format(record)), {
    fieldPatterns: [...SECRET_FIELDS],
    action: () => MASK,
  });
  const lowestLevel = options.level === "off" ? null : options.level;
  configureSync({
    reset: true,
    sinks: { line: (record: LogRecord) => byField(plainRecord(record)) },
    loggers: [
      { category: [], sinks: ["line"], lowestLevel },
      // The library's own remarks: without this it prints a note about itself at each start.
      {
        category: ["logtape", "meta"],
        sinks: ["line"],
        parentSinks: "override",
        lowestLevel: "error",
      },
    ],
  });
}

/**
 * The logger of one part of the program, such as `["router", "relay"]`. Write
 * `log(...).info("member {member} is ready", { member })`; for a property that costs something to
 * make, pass a function that returns the properties.
 */
export function log(category: string | readonly string[]): Logger {
  return getLogger(category);
}

function plainRecord(record: LogRecord): LogRecord {
  return {
    ...record,
    message: record.message.map((part, index) => index % 2 === 0 ? part : plain(part, 0)),
    properties: plain(record.properties, 0) as Record<string, unknown>,
  };
}

function plain(value: unknown, depth: number): unknown {
  if (value instanceof Secret) return MASK;
  if (typeof value === "bigint" || typeof value === "symbol") return String(value);
  if (typeof value === "function") return "[function]";
  if (typeof value !== "object" || value === null) return value;
  if (depth > MOST_DEPTH) return "[deeper]";
  if (value instanceof Error) {
    const own = plain({ ...value }, depth) as Record<string, unknown>;
    const { name, message, stack, cause } = value;
    const error = { ...own, name, message, stack };
    return cause === undefined ? error : { ...error, cause: plain(cause, depth + 1) };
  }
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "[no date]" : timestamp(+value);
  if (value instanceof URL) return `${value.origin}${value.pathname}`; // a query can hold anything
  if (value instanceof Headers || value instanceof Map) {
    return plain(Object.fromEntries(value as Iterable<[string, unknown]>), depth);
  }
  if (value instanceof Set) return plain([...value], depth);
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (Array.isArray(value)) return value.map((item) => plain(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, plain(item, depth + 1)]),
  );
}

const jsonLine: TextFormatter = (record) =>
  JSON.stringify({
    at: timestamp(record.timestamp),
    level: record.level,
    category: record.category.join("."),
    message: rendered(record.message),
    properties: record.properties,
  });

function rendered(message: readonly unknown[]): string {
  return message.map((part) => typeof part === "string" ? part : JSON.stringify(part)).join("");
}

const text: TextFormatter = getAnsiColorFormatter({
  timestamp: "time",
  format: ({ timestamp, level, category, message, record }) => {
    const rest = Object.keys(record.properties).length === 0
      ? ""
      : ` ${JSON.stringify(record.properties)}`;
    return `${timestamp} ${level} ${category} ${message}${rest}`;
  },
});

const encoder = new TextEncoder();

/** Synchronous: what was logged before a crash is there after it. */
function toStderr(line: string): void {
  let bytes = encoder.encode(`${line.trimEnd()}\n`);
  try {
    while (bytes.length > 0) bytes = bytes.subarray(Deno.stderr.writeSync(bytes));
  } catch {
    // Nobody reads stderr any more, and there is no other place to say so.
  }
}
