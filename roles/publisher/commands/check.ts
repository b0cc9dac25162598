/** `anvil-publisher check FILE`. @module */

import { buildCommand } from "@stricli/core";
import { systemDirectories } from "../../../lib/host/directories.ts";
import { systemFiles } from "../../../lib/host/files.ts";
import { JSON_FLAG } from "../../../lib/terminal/json_flag.ts";
import { type ProgramContext, reportRefusal } from "../../../lib/terminal/program.ts";
import { loadKeyring } from "../keyring.ts";
import { configOf, reportData } from "../publisher.ts";

/** Validates a configuration and the keys it names; changes nothing. */
export const checkCommand = buildCommand<{ json: boolean }, [string], ProgramContext>({
  parameters: {
    flags: { json: JSON_FLAG },
    positional: {
      kind: "tuple",
      parameters: [{ brief: "The publisher's configuration", parse: String, placeholder: "FILE" }],
    },
  },
  docs: {
    brief: "Check a configuration and the keys it names",
    fullDescription:
      "Prints every problem of FILE with its path and code and exits 2; exits 1 when the keys are\n" +
      "absent, readable by others, or damaged. Changes nothing.\n\n" +
      "Example:\n  anvil-publisher check /etc/anvil/publisher.toml",
  },
  async func({ json }, file) {
    const config = await configOf(this, file, json);
    if (config === null) return;
    const ports = { files: systemFiles, directories: systemDirectories };
    const keyring = await loadKeyring(ports, config.keys);
    if (keyring.kind === "refused") return reportRefusal(this, keyring, json);
    const hosts = config.hosts.map(({ id }) => id);
    const keys = keyring.signing.map(({ id }) => id);
    const text = `${file}: ok, ${hosts.length} hosts, signed by ${keys.join(", ")}\n`;
    reportData(this, { hosts, signing_keys: keys }, () => text, json);
  },
});
