/**
 * `config.backups`: the dated copies of what an install, a promotion or a restore replaced. Names and
 * digests; a content never leaves the host by it.
 *
 * @module
 */

import { z } from "zod";
import type { Directories } from "../../../lib/core/directories.ts";
import type { Files } from "../../../lib/core/files.ts";
import { within } from "../../../lib/host/paths.ts";
import { defineRead, type Operation } from "../../../lib/operation/operation.ts";
import { listCopies } from "../../../lib/serves/machines/dated_copy.ts";
import { CONFIG_FILES, type ConfigPlaces, lookAtConfig } from "../config_files.ts";

/** What is looked at. */
export interface BackupParts {
  readonly places: ConfigPlaces;
  readonly files: Files;
  readonly directories: Directories;
  /** The agent's state folder. */
  readonly state: string;
}

/** Kinds that are replaced from afar, and so have copies. */
const KINDS = ["router", "serves", "topology"] as const;

const text = z.string();
const backup = z.strictObject({
  kind: z.enum(KINDS),
  name: text,
  at: text,
  size: z.int().nullable(),
  sha256: text.nullable(),
  /** Whether it is what stands there now; null when that is not known. */
  standing: z.boolean().nullable(),
  code: text.nullable(),
});

/** The one. */
export function configBackupsOperation(parts: BackupParts): Operation {
  return defineRead({
    name: "config.backups",
    brief: "Dated copies of configuration that was replaced here, by name and digest",
    effect: "read",
    roles: null,
    deadlineMs: 20_000,
    input: z.strictObject({ kind: z.enum(KINDS).optional() }),
    output: z.strictObject({ backups: z.array(backup) }),
    run: async ({ kind }, { signal }) => {
      const seen = await lookAtConfig(parts.places);
      const backups: z.infer<typeof backup>[] = [];
      for (const one of kind === undefined ? KINDS : [kind]) {
        const root = within(parts.state, "backups");
        const list = await listCopies({ ...parts, root }, CONFIG_FILES[one].name, signal);
        if (list.kind === "refused") return list;
        const now = seen.flatMap(({ row }) =>
          row.kind === one && row.sha256 !== null ? [row.sha256] : []
        );
        backups.push(...list.copies.map((copy) => ({
          ...{ kind: one, ...copy },
          standing: copy.sha256 === null || now.length === 0 ? null : now.includes(copy.sha256),
        })));
      }
      return { kind: "ok", value: { backups } };
    },
  });
}
