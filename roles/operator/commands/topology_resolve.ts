/** `anvil-operator topology resolve`. @module */

import { buildCommand } from "@stricli/core";
import { refuse } from "../../../lib/core/refusal.ts";
import type { ProgramContext } from "../../../lib/terminal/program.ts";
import { table } from "../../../lib/terminal/table.ts";
import { indexFleet } from "../../../lib/topology/fleet_index.ts";
import {
  type CommandIdentity,
  identityOf,
  parseTarget,
  resolve,
  type Target,
} from "../../../lib/topology/resolve.ts";
import { chooseWay } from "../../../lib/topology/transport.ts";
import { type Runtime, RUNTIMES } from "../../../lib/topology/vocabulary.ts";
import { FILE, type FleetFlags, HOME_FLAG, hostId, JSON_FLAG } from "../flags.ts";
import { fleetSource } from "../fleet_source.ts";
import { fingerprintOf, type Operator } from "../operator.ts";
import { reportData, reportFailure } from "../report.ts";

interface ResolveFlags extends FleetFlags {
  readonly target: Target;
  readonly from?: string;
  readonly runtime: Runtime;
}

/** Says which hosts a target means, and how each is reached. */
export function resolveCommand(operator: Operator) {
  return buildCommand<ResolveFlags, [string?], ProgramContext>({
    parameters: {
      flags: {
        json: JSON_FLAG,
        home: HOME_FLAG,
        target: {
          kind: "parsed",
          parse: targetOf,
          brief: "host:<id>, role:<role> or all",
          placeholder: "TARGET",
        },
        from: {
          kind: "parsed",
          parse: hostId,
          optional: true,
          brief: "The command host (default: the one the view declares)",
          placeholder: "ID",
        },
        runtime: {
          kind: "enum",
          values: RUNTIMES,
          default: "native",
          brief: "What the command runs in, with --from",
        },
      },
      positional: FILE,
    },
    docs: {
      brief: "Say which host a target means, by which way, and why",
      fullDescription:
        "A role with one owner means that host; with several it means the command host's own, and\n" +
        "otherwise it is refused and the owners are listed: there is no guess among remote hosts.\n" +
        "SSH is never chosen here.\n\n" +
        "Examples:\n  anvil-operator topology resolve --target role:voice\n" +
        "  anvil-operator topology resolve --target role:serving --from gpu-a topology.toml",
    },
    async func({ json, home, target, from, runtime }, file) {
      const source = await fleetSource(operator, file, home);
      if (source.kind !== "fleet") return reportFailure(this, source, json);
      const index = indexFleet(source.fleet);
      const identity: CommandIdentity | null = from === undefined
        ? identityOf(source.fleet)
        : { host: from, runtime };
      if (identity !== null && !index.hosts.has(identity.host)) {
        const refusal = refuse("command_host_unknown", `no host is called ${identity.host}`);
        return reportFailure(this, refusal, json);
      }
      const resolved = resolve(index, identity, target);
      if (resolved.kind === "refused") return reportFailure(this, resolved, json);
      const rows = resolved.hosts.map((host) => {
        const way = chooseWay(index, identity, host);
        const endpoint = way.kind === "agent" ? way.transport.endpoint : null;
        const because = way.kind === "refused" ? way.detail : way.because;
        return { host, way: way.kind, endpoint, because };
      });
      const { because } = resolved;
      const text = () =>
        table(
          ["host", "way", "endpoint", "because"],
          rows.map((row) => [row.host, row.way, row.endpoint ?? "-", row.because]),
        ) + `\n${because}\n`;
      const fingerprint = fingerprintOf(source.fleet);
      reportData(this, { fingerprint, because, hosts: rows }, text, json);
    },
  });
}

function targetOf(text: string): Target {
  const target = parseTarget(text);
  if (target.kind === "refused") throw new SyntaxError(target.detail);
  return target;
}
