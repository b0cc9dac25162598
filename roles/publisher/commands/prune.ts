/** `anvil-publisher prune`. @module */

import { buildCommand } from "@stricli/core";
import { filesOlderThan, removeFiles } from "../../../lib/host/old_files.ts";
import { JSON_FLAG } from "../../../lib/terminal/json_flag.ts";
import { type ProgramContext, reportRefusal } from "../../../lib/terminal/program.ts";
import { prune } from "../prune.ts";
import { CONFIG_FLAG, configOf, reportData, withPorts } from "../publisher.ts";

interface PruneFlags {
  readonly config: string;
  readonly olderThanDays: number;
  readonly dryRun: boolean;
  readonly json: boolean;
}

const days = (text: string) => {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text);
  throw new SyntaxError("expected days, 1 to 9999");
};

/** Lets go of blobs that no pointer names any more. */
export const pruneCommand = buildCommand<PruneFlags, [], ProgramContext>({
  parameters: {
    flags: {
      config: CONFIG_FLAG,
      olderThanDays: {
        kind: "parsed",
        parse: days,
        default: "30",
        brief: "Keep what was written since, as hosts may still be fetching it",
        placeholder: "N",
      },
      dryRun: {
        kind: "boolean",
        brief: "Only say what would go",
        default: false,
        withNegated: false,
      },
      json: JSON_FLAG,
    },
    positional: { kind: "tuple", parameters: [] },
  },
  docs: {
    brief: "Let go of blobs that no pointer names any more",
    fullDescription:
      "What a pointer names stays, however old. A pointer that is not whole stops it: then nothing\n" +
      "goes. Bytes in a binary cache are not the publisher's.\n\n" +
      "Example:\n  anvil-publisher prune --older-than-days 60 --dry-run",
  },
  async func({ config: file, olderThanDays, dryRun, json }) {
    const config = await configOf(this, file, json);
    if (config === null) return;
    const done = await withPorts(
      this,
      (ports) => prune({ ...ports, filesOlderThan, removeFiles }, config, olderThanDays, dryRun),
    );
    if (done.kind === "refused") return reportRefusal(this, done, json);
    const bytes = done.files.reduce((sum, { size }) => sum + size, 0);
    const data = { dry_run: dryRun, removed: done.files.length, bytes, named: done.named };
    const verb = dryRun ? "would go" : "went";
    reportData(
      this,
      data,
      () => `${done.files.length} blobs ${verb}, ${bytes} bytes; ${done.named} are named\n`,
      json,
    );
  },
});
