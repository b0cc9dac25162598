/** `anvil-operator fleet drift`. @module */

import { buildCommand } from "@stricli/core";
import { type Refusal, refuse } from "../../../lib/core/refusal.ts";
import { BUILDS, type Builds, readBuilds } from "../../../lib/home/builds.ts";
import { textOf } from "../../../lib/home/check_set.ts";
import { hostDrift } from "../../../lib/home/host_drift.ts";
import { type HostExpected, hostExpected, ownedSet } from "../../../lib/home/host_expected.ts";
import { openHome, readSet } from "../../../lib/home/open_home.ts";
import type { ProgramContext } from "../../../lib/terminal/program.ts";
import type { Target } from "../../../lib/topology/resolve.ts";
import { prepareDispatch, type Ready } from "../dispatch.ts";
import { DISPATCH_FLAGS, type DispatchFlags, targetFlag } from "../dispatch_flags.ts";
import { driftData, driftText, type HostDrift, verdictOf } from "../drift_text.ts";
import { driftAsks, driftFollowUp, hostDigests, withKeys } from "../drift_told.ts";
import { noHome } from "../fleet_source.ts";
import { runLooks } from "../look.ts";
import type { Operator } from "../operator.ts";
import { type Also, reportOutcomes } from "../outcome_report.ts";
import { reportFailure } from "../report.ts";

const { topology: _topology, ...FLAGS } = DISPATCH_FLAGS;
/** What is live is compared; a topology beside the home would be another fleet. */
type DriftFlags = Omit<DispatchFlags, "topology"> & { readonly target: Target };

/** Compares what hosts have with what the live set says they should have. */
export function driftCommand(operator: Operator) {
  return buildCommand<DriftFlags, [], ProgramContext>({
    parameters: { flags: { ...FLAGS, target: { ...targetFlag(operator), default: "all" } } },
    docs: {
      brief: "Compare what every host has with what the home says it should have",
      fullDescription:
        "Files below the configuration folders (edited, missing, extra), the digest that the router\n" +
        "runs with, units and drop-ins, builds of programs, the generation that is current. Only names\n" +
        "and digests leave a host. Nothing is mended.\n\n" +
        "What could not be looked at is unknown, which is not identical: exit 0 only when every host\n" +
        "answered and all is as it should be.\n\n" +
        "Examples:\n  anvil-operator fleet drift\n" +
        "  anvil-operator fleet drift --target host:gpu-a --json",
    },
    func(flags) {
      return lookAtDrift(this, operator, flags);
    },
  });
}

/** Compares every host of the target, once. */
export async function lookAtDrift(
  context: ProgramContext,
  operator: Operator,
  flags: DriftFlags,
  also: Also = () => {},
): Promise<void> {
  const ready = await prepareDispatch(operator, flags, flags.target);
  if (ready.kind !== "ready") return reportFailure(context, ready, flags.json);
  const wanted = await readExpected(operator, flags.home, ready);
  if ("kind" in wanted) return reportFailure(context, wanted, flags.json);
  const { digest, expectedOf } = wanted;
  const { dispatched, kept } = await runLooks<HostDrift>(context, operator, ready, flags, {
    asksOf: (host) => driftAsks(expectedOf(host)),
    followUpOf: (host) => driftFollowUp(expectedOf(host)),
    // What it said of itself stands in `agent` already.
    outcomeOf: ({ proof }) => ({ ...proof, result: null }),
    keep: (host, looked) => {
      const expected = expectedOf(host);
      wanted.forget(host);
      if (looked === null || looked.proof.kind !== "done") {
        const { code = null, kind = "interrupted", detail = "ended before" } = looked?.proof ??
          {};
        return { host, items: [], failed: { code: code ?? kind, detail } };
      }
      const items = hostDrift(expected, hostDigests(looked), ready.plan.fingerprint);
      return { host, items: withKeys(items, expected, looked), failed: null };
    },
  });
  const hosts = ready.plan.hosts.flatMap(({ host }) => kept.get(host) ?? []);
  reportOutcomes(context, dispatched, {
    ...flags,
    also,
    show: () => "",
    whole: () => ({ text: driftText(hosts, digest), data: driftData(hosts) }),
  });
  if (hosts.some((host) => verdictOf(host) !== "identical")) context.exit(1);
}

interface Wanted {
  /** Of the live set. */
  readonly digest: string;
  readonly expectedOf: (host: string) => HostExpected;
  /** What is compared already need not be held. */
  readonly forget: (host: string) => void;
}

async function readExpected(
  { ports, home: fallback }: Operator,
  named: string | undefined,
  { index, plan }: Ready,
): Promise<Wanted | Refusal> {
  const home = named ?? fallback;
  if (home === null) return noHome();
  const live = await openHome(ports, home);
  if (live.kind === "refused") return live;
  const set = await readSet(ports, home, live.receipt);
  if ("kind" in set) return set;
  const file = set.find(({ path }) => path === BUILDS);
  let builds: Builds | null = null;
  if (file !== undefined) {
    const read = readBuilds(textOf(file.bytes) ?? "\0");
    if (read.kind === "invalid") {
      return refuse(
        "builds_invalid",
        `${BUILDS} of the live set has ${read.problems.length} problems`,
        "correct it in git, then materialize",
      );
    }
    builds = read.model;
  }
  const owned = ownedSet(ports.sha256, set, index.fleet);
  const held = new Map<string, HostExpected>();
  const expectedOf = (host: string): HostExpected => {
    const known = held.get(host);
    if (known !== undefined) return known;
    const made = hostExpected(ports.sha256, owned, index.fleet, host, builds);
    // Checked below for every host of the plan: a live set is canonical, and they are of its fleet.
    if ("kind" in made) throw new TypeError(`${made.code}: ${made.detail}`);
    held.set(host, made);
    return made;
  };
  const [first] = plan.hosts;
  const probe = first === undefined
    ? null
    : hostExpected(ports.sha256, owned, index.fleet, first.host, builds);
  if (probe !== null && "kind" in probe) return probe;
  return { digest: live.receipt.digest, expectedOf, forget: (host) => void held.delete(host) };
}
