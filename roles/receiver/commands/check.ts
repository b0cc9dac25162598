/** `anvil-receiver check TARGET`. @module */

import { buildCommand } from "@stricli/core";
import { canonicalJson } from "../../../lib/core/canonical_json.ts";
import { sha256 } from "../../../lib/host/digest.ts";
import { readOwned } from "../../../lib/host/owned_file.ts";
import { JSON_FLAG } from "../../../lib/terminal/json_flag.ts";
import {
  printEnvelope,
  type ProgramContext,
  reportProblems,
  reportRefusal,
} from "../../../lib/terminal/program.ts";
import { parseTarget } from "../target.ts";

const MOST_BYTES = 64 * 1024;

/** Says what is wrong with a target configuration, on the host itself. */
export const checkCommand = buildCommand<{ json: boolean }, [string], ProgramContext>({
  parameters: {
    flags: { json: JSON_FLAG },
    positional: {
      kind: "tuple",
      parameters: [{ brief: "The target configuration", parse: String, placeholder: "TARGET" }],
    },
  },
  docs: {
    brief: "Check a target configuration and print its digests",
    fullDescription:
      "Looks at owner, mode, links and content as `serve` does, prints every problem, and exits 2\n" +
      "when there is any.\n\nExample:\n  anvil-receiver check /etc/anvil/receiver.toml",
  },
  async func({ json }, path) {
    const read = await readOwned(path, MOST_BYTES);
    if (read.kind === "refused") return reportRefusal(this, read, json, 2);
    const checked = parseTarget(new TextDecoder().decode(read.bytes));
    if (checked.kind === "invalid") return reportProblems(this, path, checked.problems, json);
    const { node, root, state, bootstrap_authorized } = checked.model;
    const data = {
      node,
      bootstrap_authorized,
      config_digest: sha256(read.bytes).toHex(),
      roots_digest: sha256(canonicalJson({ root, state })).toHex(),
    };
    if (json) printEnvelope(this, { ok: true, data, problems: [] });
    else {
      const allowed = bootstrap_authorized ? "may be bootstrapped" : "may NOT be bootstrapped";
      this.terminal.out(`${path}: ok, node ${node}, ${allowed}\n`);
      this.terminal.out(`config ${data.config_digest}\nroots  ${data.roots_digest}\n`);
    }
  },
});
