/**
 * The configuration files of a host: which there are by its roles, what they weigh, and which of them
 * may be shown.
 *
 *     roots of agent.toml x names of the table ──lstat, open, fstat──> present | absent | refused
 *
 * @module
 */

import { canonicalJson, type Json } from "../../lib/core/canonical_json.ts";
import { timestamp } from "../../lib/core/clock.ts";
import { hex } from "../../lib/core/ids.ts";
import { SECRET_FIELDS } from "../../lib/core/mask.ts";
import type { ReadPlainFile } from "../../lib/core/plain_file.ts";
import { readToml } from "../../lib/document/toml.ts";
import { sha256 } from "../../lib/host/digest.ts";
import { findForbidden, findSecretLines } from "../../lib/topology/forbidden.ts";
import { findSecretPlaces, MOST_LINE, type SecretPlace } from "../../lib/topology/secret_places.ts";
import { textOf } from "../../lib/credential/roster_file.ts";
import { SERVING_HOSTS, WITH_ROUTER } from "./host_roles.ts";

interface ConfigFile {
  /** In each root. */
  readonly name: string;
  /** Roles of a host that has it; null for every host. */
  readonly roles: readonly string[] | null;
  /** Never shown, whatever is in it. */
  readonly secret: boolean;
}

/** The files there are. */
export const CONFIG_FILES = {
  agent: { name: "agent.toml", roles: null, secret: false },
  clients: { name: "clients.toml", roles: null, secret: true },
  router: { name: "router.toml", roles: WITH_ROUTER, secret: false },
  serves: { name: "serves.toml", roles: SERVING_HOSTS, secret: false },
  topology: { name: "topology.toml", roles: null, secret: false },
} as const satisfies { readonly [kind: string]: ConfigFile };

/** One of {@link CONFIG_FILES}. */
export type ConfigKind = keyof typeof CONFIG_FILES;

/** Names of {@link CONFIG_FILES}. */
export const CONFIG_KINDS = Object.keys(CONFIG_FILES) as readonly ConfigKind[];

/** No configuration file is larger. */
const MOST_BYTES = 2 * 1024 * 1024;
/** What one export shows of all files together, in bytes. */
export const MOST_SHOWN_BYTES = 2 * 1024 * 1024;

/** Where is looked, for whom. */
export interface ConfigPlaces {
  /** Folders, as resolved from agent.toml. */
  readonly roots: readonly string[];
  readonly roles: readonly string[];
  readonly read: ReadPlainFile;
}

/** One line of the inventory. */
export interface ConfigRow {
  readonly [key: string]: Json;
  readonly kind: ConfigKind;
  readonly root: string;
  readonly name: string;
  /** False: the host's roles have no use for it, and yet it is there. */
  readonly expected: boolean;
  readonly state: "present" | "absent" | "refused";
  /** In bytes. */
  readonly size: number | null;
  /** Of the bytes, lower-case hex. */
  readonly sha256: string | null;
  readonly modified_at: string | null;
  /** As `0640`; null where the platform has none. */
  readonly mode: string | null;
  /** Why it was refused. */
  readonly code: string | null;
}

/** A line, with what it was read from. */
export interface ConfigSeen {
  readonly row: ConfigRow;
  /** Null unless present. */
  readonly bytes: Uint8Array<ArrayBuffer> | null;
}

/**
 * Looks for every file of the table, in the order of roots and table. One that the roles do not ask
 * for is told only when it is there.
 */
export async function lookAtConfig(places: ConfigPlaces): Promise<readonly ConfigSeen[]> {
  const seen: ConfigSeen[] = [];
  for (const root of places.roots) {
    for (const kind of CONFIG_KINDS) {
      const { name, roles }: ConfigFile = CONFIG_FILES[kind];
      const expected = roles === null || roles.some((role) => places.roles.includes(role));
      const nothing = {
        kind,
        root,
        name,
        expected,
        size: null,
        sha256: null,
        modified_at: null,
        mode: null,
      };
      const read = await places.read(root, name, MOST_BYTES);
      if (read.kind === "absent") {
        if (!expected) continue;
        seen.push({ row: { ...nothing, state: "absent", code: null }, bytes: null });
      } else if (read.kind === "refused") {
        seen.push({ row: { ...nothing, state: "refused", code: read.code }, bytes: null });
      } else {
        const { size, modifiedAt, mode } = read.facts;
        const row: ConfigRow = {
          ...nothing,
          state: "present",
          size,
          sha256: hex(sha256(read.bytes)),
          modified_at: modifiedAt === null ? null : timestamp(modifiedAt),
          mode: mode === null ? null : mode.toString(8).padStart(4, "0"),
          code: null,
        };
        seen.push({ row, bytes: read.bytes });
      }
    }
  }
  return seen;
}

/**
 * The digest of an inventory. Bound to kind, place, content and mode; not to the time of the last
 * change: the same files installed again are the same.
 */
export function fingerprintOfRows(rows: readonly ConfigRow[]): string {
  const bound = rows.map(({ kind, root, name, state, sha256, mode, code }) => ({
    ...{ kind, root, name, state },
    ...{ sha256, mode, code },
  }));
  return hex(sha256(canonicalJson(bound)));
}

/** What may be shown of a file: its text, or why not. Never a part of it. */
export type Shown =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "withheld"; readonly code: string; readonly lines: readonly number[] };

/** Judges one present file. What cannot be judged is withheld. */
export function show(kind: ConfigKind, bytes: Uint8Array): Shown {
  if (CONFIG_FILES[kind].secret) return withheld("config_secret");
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return withheld("not_utf8");
  }
  // Behind that a line is not looked through, and what was not looked at is not shown.
  if (text.split("\n").some((line) => line.length > MOST_LINE)) return withheld("line_too_long");
  const lines = findSecretLines(text).flatMap(({ line }) => line ?? []);
  if (lines.length > 0) return withheld("secret_value", lines);
  const table = readToml(text);
  if (table.kind === "invalid") return withheld("not_toml");
  if (kind === "topology") {
    const found = findForbidden(table.model).problems.find(({ code }) =>
      code.startsWith("secret_")
    );
    return found === undefined ? { kind: "text", text } : withheld(found.code);
  }
  return namesSecret(table.model) ? withheld("secret_key") : { kind: "text", text };
}

/** A whole text, or where in it something stands that may not leave this host. */
export type Judged =
  | { readonly kind: "text"; readonly text: string }
  | {
    readonly kind: "withheld";
    readonly code: string;
    readonly places: readonly SecretPlace[];
  };

/** As {@link show}, more strictly: long random values and credentials in `known` count as well. */
export function judge(
  kind: ConfigKind,
  bytes: Uint8Array<ArrayBuffer>,
  known: ReadonlySet<string>,
): Judged {
  const shown = show(kind, bytes);
  const text = textOf(bytes);
  if (CONFIG_FILES[kind].secret || text === null) {
    return { kind: "withheld", code: shown.kind === "text" ? "not_utf8" : shown.code, places: [] };
  }
  const places = findSecretPlaces(text, (value) => known.has(hex(sha256(value))));
  if (places.length > 0) return { kind: "withheld", code: "secret_value", places };
  return shown.kind === "text" ? shown : { kind: "withheld", code: shown.code, places: [] };
}

function withheld(code: string, lines: readonly number[] = []): Shown {
  return { kind: "withheld", code, lines };
}

/** True when a key that names a secret holds a text, at any depth. */
function namesSecret(value: unknown): boolean {
  if (typeof value !== "object" || value === null || value instanceof Date) return false;
  return Object.entries(value).some(([key, item]) =>
    (typeof item === "string" && item !== "" && SECRET_FIELDS.some((name) => name.test(key))) ||
    namesSecret(item)
  );
}
