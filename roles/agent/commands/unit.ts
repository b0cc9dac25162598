/** `anvil-agent unit FILE SERVE`. @module */

import { buildCommand } from "@stricli/core";
import { refuse } from "../../../lib/core/refusal.ts";
import { textOf } from "../../../lib/credential/roster_file.ts";
import { systemFiles } from "../../../lib/host/files.ts";
import { beside } from "../../../lib/host/paths.ts";
import { readManifest } from "../../../lib/serves/manifest.ts";
import { unitFile } from "../../../lib/serves/unit_file.ts";
import {
  type ProgramContext,
  reportProblems,
  reportRefusal,
} from "../../../lib/terminal/program.ts";

const MOST_BYTES = 2 * 1024 * 1024;

/** Prints the unit, property list or task of a native serve; installs nothing. */
export const unitCommand = buildCommand<Record<never, never>, [string, string], ProgramContext>({
  parameters: {
    flags: {},
    positional: {
      kind: "tuple",
      parameters: [
        { brief: "The host's serves.toml", parse: String, placeholder: "FILE" },
        { brief: "The name of a native serve", parse: String, placeholder: "SERVE" },
      ],
    },
  },
  docs: {
    brief: "Print what the supervisor must be told of a native serve",
    fullDescription:
      "A systemd unit, a launchd property list or a Windows task, as the serve's `supervisor` says.\n" +
      "Install it by hand: the agent compares it with the manifest and never writes it.\n\n" +
      "Example:\n  anvil-agent unit /etc/anvil/serves.toml local > anvil-local.service",
  },
  async func(_flags, file, name) {
    const read = await systemFiles.readBounded(file, MOST_BYTES);
    const text = read.kind === "ok" ? textOf(read.bytes) : null;
    if (text === null) {
      return reportRefusal(this, refuse("file_unreadable", "the manifest cannot be read"), false);
    }
    const manifest = readManifest(text);
    if (manifest.kind === "invalid") return reportProblems(this, file, manifest.problems, false);
    const serve = manifest.model.serve.find((one) => one.name === name);
    if (serve === undefined) {
      return reportRefusal(this, refuse("serve_unknown", `no serve is called ${name}`), false);
    }
    if (serve.runtime !== "native") {
      const refusal = refuse("serve_in_container", `${name} runs in a container: it has no unit`);
      return reportRefusal(this, refusal, false);
    }
    const env = serve.env_file === undefined ? {} : { env_file: beside(file, serve.env_file) };
    this.terminal.out(unitFile({ ...serve, ...env }));
  },
});
