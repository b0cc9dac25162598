/** `anvil-operator home adopt`: the reverse arrow, from a host to a review. @module */

import { buildCommand } from "@stricli/core";
import { timestamp } from "../../../lib/core/clock.ts";
import { hex } from "../../../lib/core/ids.ts";
import { refuse } from "../../../lib/core/refusal.ts";
import { keepArrow } from "../../../lib/home/arrow.ts";
import { canonicalText, declaredFile, installedText } from "../../../lib/home/declared.ts";
import { liveTopology, openHome, readSet } from "../../../lib/home/open_home.ts";
import { countPatch, unifiedPatch } from "../../../lib/home/unified_patch.ts";
import { within } from "../../../lib/host/paths.ts";
import type { ProgramContext } from "../../../lib/terminal/program.ts";
import { lookFlags } from "../change_flags.ts";
import { BY_FLAG } from "../flags.ts";
import { noHome } from "../fleet_source.ts";
import { readLive, withheldFailure } from "../live_file.ts";
import { prepareOne, type TargetFlags } from "../one_host.ts";
import type { Operator } from "../operator.ts";
import { reportOutcomes } from "../outcome_report.ts";
import { reportData, reportFailure } from "../report.ts";

type AdoptFlags = Omit<TargetFlags, "topology"> & { readonly by?: string };

/** Brings a live file back as a patch for review. */
export function adoptCommand(operator: Operator) {
  const { topology: _, ...flags } = lookFlags(operator);
  return buildCommand<AdoptFlags, [string], ProgramContext>({
    parameters: {
      flags: { ...flags, by: BY_FLAG },
      positional: {
        kind: "tuple",
        parameters: [{ brief: "Its name on the host", parse: fileName, placeholder: "FILE" }],
      },
    },
    docs: {
      brief: "Bring a live file of a host back as a patch for review; apply nothing",
      fullDescription:
        "Reads the file through the host's agent, compares it with what the live set declares for\n" +
        "that host, and keeps a unified patch against its path in the repository, with a receipt, in\n" +
        "arrows/ of the home. Of a topology the lines of the host's view are taken out first. A file\n" +
        "with a secret in it is refused: where it stands is told, never what it is.\n\n" +
        "Example:\n  anvil-operator home adopt router.toml --target host:gpu-a\n" +
        "  git -C ~/fleet apply ~/.anvil/arrows/20261129T233735123Z-adopt-gpu-a-router.toml/change.patch",
    },
    async func(flags, name) {
      const { json, home = operator.home ?? undefined } = flags;
      if (home === undefined) return reportFailure(this, noHome(), json);
      const { ports } = operator;
      const live = await openHome(ports, home);
      if (live.kind === "refused") return reportFailure(this, live, json);
      const set = await readSet(ports, home, live.receipt);
      if ("kind" in set) return reportFailure(this, set, json);
      const topology = await liveTopology(ports, home, live);
      if ("kind" in topology) return reportFailure(this, topology, json);
      const ready = await prepareOne(operator, flags);
      if (ready.kind !== "ready") return reportFailure(this, ready, json);
      const host = ready.plan.hosts[0]?.host ?? "";
      const declared = declaredFile(set, topology.fleet, host, name);
      if (declared.kind === "refused") return reportFailure(this, declared, json);

      const found = await readLive(this, operator, ready, flags, name);
      switch (found.kind) {
        case "refused":
          return reportFailure(this, found, json);
        case "fell":
          return reportOutcomes(this, found.dispatched, { ...flags, show: () => "" });
        case "withheld":
          return reportFailure(this, withheldFailure(host, name, found), json);
        case "absent": {
          const next = "install the declared one with `config install`";
          return reportFailure(this, refuse("live_absent", `${host} has no ${name}`, next), json);
        }
        case "live":
      }
      const canonical = canonicalText(declared.path, found.text, host);
      if (canonical.kind === "refused") return reportFailure(this, canonical, json);
      const path = live.receipt.path === ""
        ? declared.path
        : `${live.receipt.path}/${declared.path}`;
      const runtime = topology.fleet.hosts[host]?.runtime ?? "native";
      const installed = installedText(declared, topology.fleet, host, runtime);
      if (installed.kind === "refused") return reportFailure(this, installed, json);
      const about = {
        ...{ host, file: name, path, live_sha256: found.sha256 },
        home_sha256: hex(ports.sha256(installed.text)),
        ...{ generation: live.current.digest, commit: live.receipt.commit },
      };
      if (canonical.text === declared.text) {
        const text = () =>
          `${host}: ${name} is as commit ${live.receipt.commit.slice(0, 12)} says: no patch\n`;
        return reportData(this, { changed: false, ...about }, text, json);
      }
      const patch = unifiedPatch(path, declared.text, canonical.text);
      // What was read may be over by now: the patch would tell of a file that nobody has.
      const again = await readLive(this, operator, ready, flags, name);
      const now = again.kind === "live" || again.kind === "withheld" ? again.sha256 : null;
      if (now !== found.sha256) {
        const observed = now === null ? "it cannot be read again" : `it is ${now.slice(0, 12)} now`;
        const edited = refuse(
          "live_changed",
          `${name} was ${found.sha256.slice(0, 12)} when it was read, and ${observed}`,
          "wait until nobody edits it, then adopt it again",
        );
        return reportFailure(this, edited, json);
      }
      const at = timestamp(ports.clock.now());
      const told = { arrow: "adopt", ...about, at, by: flags.by ?? operator.by } as const;
      const none = { outcome: "done", code: null, withheld: null, change: null, backup: null };
      const kept = await keepArrow(ports, home, { ...told, ...none }, patch);
      if (kept.kind === "refused") return reportFailure(this, kept, json);
      const { added, removed } = countPatch(patch);
      const file = within(kept.folder, "change.patch");
      const data = { changed: true, ...kept.arrow, added, removed, folder: kept.folder, patch };
      const text = () =>
        `${host}: ${name} differs from commit ${live.receipt.commit.slice(0, 12)}: ` +
        `${added} lines more, ${removed} less\npatch ${file}\n` +
        `nothing was applied; review it: git -C REPO apply --check ${file}\n`;
      reportData(this, data, text, json);
    },
  });
}

/** A name, not a path: a host's files lie in the folders its agent knows. */
function fileName(text: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(text)) {
    throw new SyntaxError("expected the name of a file, as router.toml");
  }
  return text;
}
