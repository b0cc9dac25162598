/** `anvil-operator home status|verify|history`. @module */

import { buildCommand } from "@stricli/core";
import { verifyGeneration } from "../../../lib/home/generation.ts";
import { made, readHistory } from "../../../lib/home/history.ts";
import { liveTopology, openHome } from "../../../lib/home/open_home.ts";
import type { ProgramContext } from "../../../lib/terminal/program.ts";
import { table } from "../../../lib/terminal/table.ts";
import { HOME_FLAG, JSON_FLAG } from "../flags.ts";
import { noHome } from "../fleet_source.ts";
import { fingerprintOf, type Operator } from "../operator.ts";
import { reportData, reportFailure } from "../report.ts";

interface LookFlags {
  readonly home?: string;
  readonly json: boolean;
}

const flags = { home: HOME_FLAG, json: JSON_FLAG } as const;

/** Says what is live. */
export function statusCommand(operator: Operator) {
  return buildCommand<LookFlags, [], ProgramContext>({
    parameters: { flags },
    docs: {
      brief: "Say what is live, since when, and by whom",
      fullDescription: "Reads the home only: what happens in a repository does not show here.",
    },
    async func({ home = operator.home ?? undefined, json }) {
      if (home === undefined) return reportFailure(this, noHome(), json);
      const live = await openHome(operator.ports, home);
      if (live.kind === "refused") return reportFailure(this, live, json);
      const topology = await liveTopology(operator.ports, home, live);
      if ("kind" in topology) return reportFailure(this, topology, json);
      const { current, receipt } = live;
      const data = {
        ...{ digest: current.digest, commit: current.commit, path: receipt.path },
        ...{ action: current.action, at: current.at, by: current.by, seq: current.seq },
        ...{ files: receipt.files.length, exported_at: receipt.at },
        ...{ fleet: topology.fleet.fleet, hosts: Object.keys(topology.fleet.hosts).length },
        fingerprint: fingerprintOf(topology.fleet),
      };
      const text = () =>
        table(
          ["", ""],
          Object.entries(data).map(([key, value]) => [key.replace("_", " "), String(value)]),
        ).replace(/^\s*\n/, "");
      reportData(this, data, text, json);
    },
  });
}

/** Compares every byte with the receipt. */
export function verifyCommand(operator: Operator) {
  return buildCommand<LookFlags & { all: boolean }, [], ProgramContext>({
    parameters: {
      flags: {
        ...flags,
        all: {
          kind: "boolean",
          default: false,
          withNegated: false,
          brief: "Every set that was ever live, not only the live one",
        },
      },
    },
    docs: {
      brief: "Compare every byte of the live set with its receipt",
      fullDescription: "Exits 1 when anything differs, and says what. Mends nothing.",
    },
    async func({ home = operator.home ?? undefined, json, all }) {
      if (home === undefined) return reportFailure(this, noHome(), json);
      const live = await openHome(operator.ports, home);
      if (live.kind === "refused") return reportFailure(this, live, json);
      const history = all ? await readHistory(operator.ports, home) : [];
      if ("kind" in history) return reportFailure(this, history, json);
      const digests = new Set([
        live.current.digest,
        ...made(history, live.current).map(({ digest }) => digest),
      ]);
      const rows: { digest: string; path: string; state: string }[] = [];
      let files = 0;
      for (const digest of digests) {
        const verified = await verifyGeneration(operator.ports, home, digest);
        if ("kind" in verified) rows.push({ digest, path: "receipt.json", state: verified.code });
        else {
          files += verified.receipt.files.length;
          rows.push(...verified.differences.map((one) => ({ digest, ...one })));
        }
      }
      const text = () =>
        rows.length === 0
          ? `${files} files of ${
            digests.size === 1 ? "1 set" : `${digests.size} sets`
          }: as exported\n`
          : table(
            ["set", "path", "state"],
            rows.map(({ digest, path, state }) => [digest.slice(0, 12), path, state]),
          );
      const data = { sets: [...digests], files, differences: rows };
      reportData(this, data, text, json, rows.length === 0 ? 0 : 1);
    },
  });
}

/** Says what was live when. */
export function historyCommand(operator: Operator) {
  return buildCommand<LookFlags, [], ProgramContext>({
    parameters: { flags },
    docs: {
      brief: "List every switch, newest first",
      fullDescription: "A switch that was begun and never made, by a crash, is listed as such.",
    },
    async func({ home = operator.home ?? undefined, json }) {
      if (home === undefined) return reportFailure(this, noHome(), json);
      const live = await openHome(operator.ports, home);
      if (live.kind === "refused") return reportFailure(this, live, json);
      const history = await readHistory(operator.ports, home);
      if ("kind" in history) return reportFailure(this, history, json);
      const chain = new Set(made(history, live.current).map(({ seq }) => seq));
      const rows = history.toReversed().map((one) => ({
        ...one,
        state: one.seq === live.current.seq ? "live" : chain.has(one.seq) ? "was live" : "not made",
      }));
      const text = () =>
        table(
          ["seq", "state", "action", "set", "commit", "at", "by"],
          rows.map((row) => [
            `${row.seq}`,
            row.state,
            row.action,
            row.digest.slice(0, 12),
            row.commit.slice(0, 12),
            row.at,
            row.by,
          ]),
        );
      reportData(this, rows, text, json);
    },
  });
}
