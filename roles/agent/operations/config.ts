/**
 * `config.inventory|export|read|fingerprint`: which configuration this host has, without changing any.
 *
 * @module
 */

import { z } from "zod";
import { refuse } from "../../../lib/core/refusal.ts";
import { defineRead, type Operation } from "../../../lib/operation/operation.ts";
import {
  CONFIG_KINDS,
  type ConfigPlaces,
  type ConfigSeen,
  fingerprintOfRows,
  judge,
  lookAtConfig,
  MOST_SHOWN_BYTES,
  show,
} from "../config_files.ts";

const text = z.string();
const kind = z.enum(CONFIG_KINDS);

const row = z.strictObject({
  kind,
  root: text,
  name: text,
  expected: z.boolean(),
  state: z.enum(["present", "absent", "refused"]),
  size: z.int().nullable(),
  sha256: text.nullable(),
  modified_at: text.nullable(),
  mode: text.nullable(),
  code: text.nullable(),
});

const exported = row.extend({
  text: text.nullable(),
  withheld: z.strictObject({ code: text, lines: z.array(z.int()) }).nullable(),
});

const place = z.strictObject({
  line: z.int().nullable(),
  column: z.int().nullable(),
  key: text.nullable(),
  what: text,
});

const readFile = z.strictObject({
  file: row,
  text: text.nullable(),
  withheld: z.strictObject({ code: text, places: z.array(place) }).nullable(),
});

/** One answer holds it, whatever a text in JSON needs of escapes. */
const MOST_READ_BYTES = 900_000;

/** The four. `known`: hashes of credentials that this host knows. */
export function configOperations(
  places: ConfigPlaces,
  known: () => Promise<ReadonlySet<string>>,
): Operation[] {
  return [
    defineRead({
      name: "config.inventory",
      brief: "Which configuration files this host has: size, digest, time and mode of each",
      effect: "read",
      roles: null,
      deadlineMs: 10_000,
      input: z.strictObject({}),
      output: z.strictObject({ fingerprint: text, files: z.array(row) }),
      run: async () => {
        const rows = (await lookAtConfig(places)).map((one) => one.row);
        return { kind: "ok", value: { fingerprint: fingerprintOfRows(rows), files: rows } };
      },
    }),
    defineRead({
      name: "config.export",
      brief: "The text of this host's configuration files, but never of one with secrets",
      effect: "read",
      roles: null,
      deadlineMs: 10_000,
      input: z.strictObject({ kinds: z.array(kind).max(CONFIG_KINDS.length).optional() }),
      output: z.strictObject({ fingerprint: text, files: z.array(exported) }),
      run: async ({ kinds }) => {
        const seen = await lookAtConfig(places);
        const fingerprint = fingerprintOfRows(seen.map((one) => one.row));
        const wanted = seen.filter(({ row }) => kinds === undefined || kinds.includes(row.kind));
        return { kind: "ok", value: { fingerprint, files: shownOf(wanted) } };
      },
    }),
    defineRead({
      name: "config.read",
      brief:
        "One configuration file of this host, or where in it a secret stands; never the secret",
      effect: "read",
      roles: null,
      deadlineMs: 10_000,
      input: z.strictObject({ kind }),
      output: readFile,
      run: async ({ kind }) => {
        const seen = await lookAtConfig(places);
        const there = seen.filter(({ row }) => row.kind === kind);
        // The first folder that has it; where none has, what the first one says.
        const one = there.find(({ row }) => row.state !== "absent") ?? there[0];
        if (one === undefined) {
          return refuse(
            "config_not_here",
            `this host's roles have no ${kind} file, and there is none`,
            "see `config.inventory` for what it has",
          );
        }
        const { row: file, bytes } = one;
        if (bytes === null) return { kind: "ok", value: { file, text: null, withheld: null } };
        const judged = bytes.length > MOST_READ_BYTES
          ? { kind: "withheld", code: "file_too_large", places: [] } as const
          : judge(kind, bytes, await known());
        return {
          kind: "ok",
          value: judged.kind === "text"
            ? { file, text: judged.text, withheld: null }
            : { file, text: null, withheld: { code: judged.code, places: [...judged.places] } },
        };
      },
    }),
    defineRead({
      name: "config.fingerprint",
      brief: "One digest over kind, place, content and mode of this host's configuration files",
      effect: "read",
      roles: null,
      deadlineMs: 10_000,
      input: z.strictObject({}),
      output: z.strictObject({ fingerprint: text, present: z.int(), refused: z.int() }),
      run: async () => {
        const rows = (await lookAtConfig(places)).map((one) => one.row);
        const count = (state: string) => rows.filter((one) => one.state === state).length;
        return {
          kind: "ok",
          value: {
            fingerprint: fingerprintOfRows(rows),
            present: count("present"),
            refused: count("refused"),
          },
        };
      },
    }),
  ];
}

/** Files are shown whole or not at all, in their order, until the bound. */
function shownOf(seen: readonly ConfigSeen[]): z.infer<typeof exported>[] {
  let left = MOST_SHOWN_BYTES;
  return seen.map(({ row, bytes }) => {
    if (bytes === null) return { ...row, text: null, withheld: null };
    const judged = show(row.kind, bytes);
    if (judged.kind === "withheld") {
      return { ...row, text: null, withheld: { code: judged.code, lines: [...judged.lines] } };
    }
    if (bytes.length > left) {
      return { ...row, text: null, withheld: { code: "export_full", lines: [] } };
    }
    left -= bytes.length;
    return { ...row, text: judged.text, withheld: null };
  });
}
