/** `anvil-operator topology explain`. @module */

import { buildCommand } from "@stricli/core";
import type { Json } from "../../../lib/core/canonical_json.ts";
import { refuse } from "../../../lib/core/refusal.ts";
import type { ProgramContext } from "../../../lib/terminal/program.ts";
import { table } from "../../../lib/terminal/table.ts";
import {
  type CapabilityExplained,
  explainCapability,
  explainHost,
  type HostExplained,
  reasonText,
} from "../../../lib/topology/explain.ts";
import { indexFleet } from "../../../lib/topology/fleet_index.ts";
import { identityOf } from "../../../lib/topology/resolve.ts";
import { RULES } from "../../../lib/topology/rules.ts";
import { CAPABILITY_PATTERN } from "../../../lib/topology/vocabulary.ts";
import { FILE, type FleetFlags, HOME_FLAG, hostId, JSON_FLAG } from "../flags.ts";
import { fleetSource } from "../fleet_source.ts";
import type { Operator } from "../operator.ts";
import { reportData, reportFailure } from "../report.ts";

interface ExplainFlags extends FleetFlags {
  readonly host?: string;
  readonly capability?: string;
  readonly code?: string;
}

/** Says why hosts and capabilities stand as they do. */
export function explainCommand(operator: Operator) {
  return buildCommand<ExplainFlags, [string?], ProgramContext>({
    parameters: {
      flags: {
        json: JSON_FLAG,
        home: HOME_FLAG,
        host: {
          kind: "parsed",
          parse: hostId,
          optional: true,
          brief: "Only this host",
          placeholder: "ID",
        },
        capability: {
          kind: "parsed",
          parse: capabilityName,
          optional: true,
          brief: "Only this capability, declared or not",
          placeholder: "NAME",
        },
        code: {
          kind: "parsed",
          parse: String,
          optional: true,
          brief: "The rule behind a problem's code; needs no topology",
          placeholder: "CODE",
          proposeCompletions: () => RULES.flatMap((rule) => rule.codes),
        },
      },
      positional: FILE,
    },
    docs: {
      brief: "Say why: eligibility, reservations, ways, rules",
      fullDescription:
        "Promotion eligibility is derived: a runtime, continuous availability, and no reservation for\n" +
        "another capability. This says for each host and capability what follows, and from what.\n\n" +
        "Examples:\n  anvil-operator topology explain topology.toml --capability llm.primary\n" +
        "  anvil-operator topology explain --code promotion_ineligible",
    },
    async func({ json, home, host, capability, code }, file) {
      if (code !== undefined) {
        const rule = RULES.find(({ codes }) => codes.includes(code));
        if (rule === undefined) {
          const known = RULES.flatMap(({ codes }) => codes).join(", ");
          const refusal = refuse("code_unknown", `no rule reports ${code}; rules report ${known}`);
          return reportFailure(this, refusal, json);
        }
        const { codes, holds } = rule;
        return reportData(this, { codes, holds }, () => `${codes.join(", ")}\n  ${holds}\n`, json);
      }
      const source = await fleetSource(operator, file, home);
      if (source.kind !== "fleet") return reportFailure(this, source, json);
      const index = indexFleet(source.fleet);
      if (host !== undefined && !index.hosts.has(host)) {
        return reportFailure(this, refuse("host_unknown", `no host is called ${host}`), json);
      }
      const identity = identityOf(source.fleet);
      const ids = host !== undefined
        ? [host]
        : capability === undefined
        ? [...index.hosts.keys()]
        : [];
      const names = capability !== undefined
        ? [capability]
        : host === undefined
        ? Object.keys(source.fleet.capabilities ?? {})
        : [];
      const hosts = ids.map((id) => explainHost(index, identity, id));
      const capabilities = names.map((name) => explainCapability(index, name));
      const data = { hosts, capabilities } as unknown as Json;
      const text = () =>
        [hostsText(hosts), capabilitiesText(capabilities)].filter(Boolean).join("\n");
      reportData(this, data, text, json);
    },
  });
}

function hostsText(hosts: readonly HostExplained[]): string {
  if (hosts.length === 0) return "";
  return table(
    ["host", "runtime", "availability", "reserved", "may back a promotion", "way", "because"],
    hosts.map((one) => [
      one.host,
      one.runtime,
      one.availability,
      one.reserved ?? "-",
      one.eligible && one.reserved !== null ? `of ${one.reserved} only` : reasonText(one.reasons),
      one.way,
      one.because,
    ]),
  );
}

function capabilitiesText(capabilities: readonly CapabilityExplained[]): string {
  return capabilities.map(({ capability, promoted, eligible, ineligible }) => {
    const on = promoted === null
      ? "not promoted"
      : `promoted on ${promoted.host}, tier ${promoted.tier}, by ${promoted.evidence}`;
    const rows = [
      ...eligible.map((host) => [host, "eligible"]),
      ...ineligible.map(({ host, reasons }) => [host, reasonText(reasons)]),
    ];
    return `${capability}: ${on}\n${table(["host", "may back it"], rows)}`;
  }).join("\n");
}

function capabilityName(text: string): string {
  if (!CAPABILITY_PATTERN.test(text)) throw new SyntaxError("expected ids joined by dots");
  return text;
}
