/**
 * `config.digests`: what is installed on this host, by name and digest: files, units, builds. What an
 * operator holds against the home; nothing of any content leaves the host.
 *
 * @module
 */

import { z } from "zod";
import { defineRead, type Operation } from "../../../lib/operation/operation.ts";
import { type InstalledPlaces, lookAtInstalled } from "../digests/installed_files.ts";
import { lookAtPrograms, type ProgramParts } from "../digests/installed_programs.ts";
import { lookAtUnits, type UnitPorts } from "../digests/installed_units.ts";

/** What is looked at. */
export interface DigestParts {
  readonly files: InstalledPlaces;
  readonly units: UnitPorts;
  /** Units that agent.toml names. */
  readonly named: readonly string[];
  readonly programs: ProgramParts;
}

/** Above what a program may take to say which build it is, and the look at files beside it. */
export const DIGESTS_MS = 90_000;

const text = z.string();
const build = z.strictObject({ version: text, build_digest: text.nullable() }).nullable();

const output = z.strictObject({
  files: z.array(z.strictObject({
    root: text,
    name: text,
    state: z.enum(["present", "refused"]),
    own: z.boolean(),
    size: z.int().nullable(),
    sha256: text.nullable(),
    code: text.nullable(),
  })),
  units: z.array(z.strictObject({
    unit: text,
    state: z.enum(["installed", "absent", "unknown"]),
    sha256: text.nullable(),
    drop_ins: z.array(z.strictObject({ name: text, sha256: text })),
    reload_due: z.boolean().nullable(),
    active: text.nullable(),
    code: text.nullable(),
  })),
  programs: z.array(z.strictObject({
    name: text,
    running: build,
    installed: build,
    code: text.nullable(),
  })),
  left_out: z.int(),
});

/** The one. */
export function digestsOperation(parts: DigestParts): Operation {
  return defineRead({
    name: "config.digests",
    brief: "Names and digests of what is installed: files, units, builds; never a content",
    effect: "read",
    roles: null,
    deadlineMs: DIGESTS_MS,
    input: z.strictObject({
      units: z.array(
        z.string().max(128).regex(/^[A-Za-z0-9][A-Za-z0-9:_.@\\-]*$/, "expected a unit's name"),
      ).max(64).default([]).describe("Units to tell of besides those of this software."),
    }),
    output,
    run: async ({ units }, { signal }) => {
      const asked = [...new Set([...parts.named, ...units])];
      const [files, installed, programs] = await Promise.all([
        lookAtInstalled(parts.files, signal),
        lookAtUnits(parts.units, asked, signal),
        lookAtPrograms(parts.programs, signal),
      ]);
      return {
        kind: "ok",
        value: {
          files: [...files.files],
          units: installed.map((one) => ({ ...one, drop_ins: [...one.drop_ins] })),
          programs: [...programs],
          left_out: files.leftOut,
        },
      };
    },
  });
}
