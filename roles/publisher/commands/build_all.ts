/** `anvil-publisher build-all [HOST...]`. @module */

import { buildCommand } from "@stricli/core";
import { JSON_FLAG } from "../../../lib/terminal/json_flag.ts";
import {
  printEnvelope,
  type ProgramContext,
  reportRefusal,
} from "../../../lib/terminal/program.ts";
import { table } from "../../../lib/terminal/table.ts";
import { buildAll } from "../build_all.ts";
import { CONFIG_FLAG, configOf, withPorts } from "../publisher.ts";

/** Variables of our environment that builds get, and no others. */
export const BUILD_VARIABLES: readonly string[] = [
  ...["PATH", "HOME", "USER", "LANG", "TMPDIR"],
  ...["NIX_PATH", "NIX_REMOTE", "NIX_CONFIG", "NIX_SSL_CERT_FILE", "SSL_CERT_FILE"],
];

/** Builds and publishes every host by itself. */
export function buildAllCommand(env: () => Readonly<Record<string, string>>) {
  return buildCommand<
    { readonly config: string; readonly json: boolean },
    string[],
    ProgramContext
  >({
    parameters: {
      flags: { config: CONFIG_FLAG, json: JSON_FLAG },
      positional: {
        kind: "array",
        parameter: { brief: "Only these hosts", parse: String, placeholder: "HOST" },
      },
    },
    docs: {
      brief: "Build and publish every host by itself",
      fullDescription:
        "Runs each host's `build` as a child with its own deadline and result file, and publishes what\n" +
        "it built. One host's failure neither stops nor blesses another. Exits 1 when any failed.\n" +
        "What became of each is in builds/HOST/report.json.\n\n" +
        "Example:\n  anvil-publisher build-all --config /etc/anvil/publisher.toml",
    },
    async func({ config: file, json }, ...hosts) {
      const config = await configOf(this, file, json);
      if (config === null) return;
      const reports = await withPorts(this, (ports) => buildAll(ports, config, hosts, env()));
      if ("kind" in reports) return reportRefusal(this, reports, json);
      const bad = reports.filter(({ outcome }) => outcome === "failed");
      this.exit(bad.length === 0 ? 0 : 1);
      if (json) {
        const problems = bad.map(({ host, code, detail }) => ({
          path: host,
          code: code ?? "",
          message: detail ?? "",
        }));
        printEnvelope(this, { ok: bad.length === 0, data: { hosts: reports }, problems });
        return;
      }
      const rows = reports.map(({ host, outcome, sequence, code, detail, rev }) => [
        ...[host, outcome, sequence === null ? "" : String(sequence)],
        code === null ? rev ?? "" : `${code}: ${detail}`,
      ]);
      this.terminal.out(table(["host", "outcome", "sequence", "what"], rows));
    },
  });
}
