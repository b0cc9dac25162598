/** `anvil-operator topology show|fingerprint|view`. @module */

import { buildCommand } from "@stricli/core";
import type { Json } from "../../../lib/core/canonical_json.ts";
import type { ProgramContext } from "../../../lib/terminal/program.ts";
import { table } from "../../../lib/terminal/table.ts";
import { explainHost } from "../../../lib/topology/explain.ts";
import { indexFleet } from "../../../lib/topology/fleet_index.ts";
import { identityOf } from "../../../lib/topology/resolve.ts";
import { viewText } from "../../../lib/topology/view.ts";
import { type Runtime, RUNTIMES } from "../../../lib/topology/vocabulary.ts";
import { FILE, type FleetFlags, HOME_FLAG, hostId, JSON_FLAG } from "../flags.ts";
import { fleetSource } from "../fleet_source.ts";
import { fingerprintOf, type Operator } from "../operator.ts";
import { reportData, reportFailure } from "../report.ts";

const flags = { json: JSON_FLAG, home: HOME_FLAG } as const;

/** Shows hosts and capabilities. */
export function showCommand(operator: Operator) {
  return buildCommand<FleetFlags, [string?], ProgramContext>({
    parameters: { flags, positional: FILE },
    docs: {
      brief: "Show the hosts and capabilities of a fleet",
      fullDescription: "Examples:\n  anvil-operator topology show\n" +
        "  anvil-operator topology show topology.toml --json",
    },
    async func({ json, home }, file) {
      const source = await fleetSource(operator, file, home);
      if (source.kind !== "fleet") return reportFailure(this, source, json);
      const { fleet } = source;
      const index = indexFleet(fleet);
      const text = () => {
        const hosts = Object.entries(fleet.hosts).map(([id, host]) => {
          const { runtime, memory, reserved } = explainHost(index, identityOf(fleet), id);
          return [
            id,
            `${host.os}/${host.arch}`,
            runtime,
            memory,
            host.availability,
            reserved ?? "-",
            host.address,
            host.roles.join(" "),
          ];
        });
        const capabilities = Object.entries(fleet.capabilities ?? {}).map((
          [name, { promoted }],
        ) => [
          name,
          ...(promoted === undefined
            ? ["-", "-", "-"]
            : [promoted.host, promoted.tier, promoted.evidence]),
        ]);
        return [
          `fleet ${fleet.fleet}, operated from ${fleet.operator}, from ${source.name}\n\n`,
          table(
            ["host", "os", "runtime", "memory", "availability", "reserved", "address", "roles"],
            hosts,
          ),
          "\n",
          table(["capability", "promoted on", "tier", "evidence"], capabilities),
        ].join("");
      };
      reportData(this, fleet as unknown as Json, text, json);
    },
  });
}

/** Prints the fingerprint. */
export function fingerprintCommand(operator: Operator) {
  return buildCommand<FleetFlags, [string?], ProgramContext>({
    parameters: { flags, positional: FILE },
    docs: {
      brief: "Print the fingerprint that plans are bound to",
      fullDescription:
        "SHA-256 of the declared values in one spelling: the order of keys, hosts, roles, devices and\n" +
        "transports, comments and formatting do not matter, and neither does whose view it is.",
    },
    async func({ json, home }, file) {
      const source = await fleetSource(operator, file, home);
      if (source.kind !== "fleet") return reportFailure(this, source, json);
      const fingerprint = fingerprintOf(source.fleet);
      reportData(this, { fingerprint }, () => `${fingerprint}\n`, json);
    },
  });
}

/** Prints a host's derived view. */
export function viewCommand(operator: Operator) {
  return buildCommand<FleetFlags & { host: string; runtime: Runtime }, [string?], ProgramContext>({
    parameters: {
      flags: {
        ...flags,
        host: { kind: "parsed", parse: hostId, brief: "Whose view", placeholder: "ID" },
        runtime: {
          kind: "enum",
          values: RUNTIMES,
          default: "native",
          brief: "What commands run in on that host",
        },
      },
      positional: FILE,
    },
    docs: {
      brief: "Print the topology as one host installs it",
      fullDescription:
        "The canonical text with command_host and command_runtime; every other byte stays.\n\n" +
        "Example:\n  anvil-operator topology view --host gpu-a > topology.toml",
    },
    async func({ json, home, host, runtime }, file) {
      const source = await fleetSource(operator, file, home);
      if (source.kind !== "fleet") return reportFailure(this, source, json);
      const view = viewText(source.text, source.fleet, host, runtime);
      if (view.kind === "refused") return reportFailure(this, view, json);
      reportData(this, { host, runtime, text: view.text }, () => view.text, json);
    },
  });
}
