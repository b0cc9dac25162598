/**
 * Installs a configuration of the router. Nothing else writes one.
 *
 *     validate ─> snapshot ─> write ─> restart ─> await the running digest ─> installed
 *        │           │          │         │              │
 *        └───────────┴──────────┴─────────┴──failed──────┘
 *                               │
 *             unwrite ─> restart, unless the old one runs ─> await ─> restored
 *
 * @module
 */

import { type Refusal, refuse } from "../../core/refusal.ts";
import type { RouterPorts } from "./survey.ts";
import type { Step } from "./step.ts";
import type { RouterProgram } from "./ports.ts";
import type { Plan } from "./transaction.ts";

/** What is to be installed. */
export interface InstallWish {
  readonly kind: "install" | "restore";
  readonly node: string;
  readonly text: string;
  readonly topology: string | null;
}

/** The steps from one configuration to another; none when it is the same. */
export function installSteps(from: string, to: string): readonly Step[] {
  return from === to ? [] : [
    { do: "validate", digest: to },
    { do: "snapshot", digest: from },
    { do: "write", from, to },
    { do: "restart", digest: to },
    { do: "await", digest: to },
  ];
}

/** The plan, or what stands against it. The router need not run: a new text may be its cure. */
export async function planInstall(
  { admin, config, program }: RouterPorts,
  { kind, node, text, topology }: InstallWish,
  signal: AbortSignal,
): Promise<Plan | Refusal> {
  const live = await config.live();
  if (live.kind === "refused") return live;
  const judged = await judge(program, text, signal);
  if (judged.kind === "refused") return judged;
  const report = await admin.status(signal);
  const running = report.kind === "report" ? report.digest : null;
  const steps = installSteps(live.digest, judged.digest);
  if (steps.length === 0 && running !== judged.digest) {
    return refuse(
      "config_drifted",
      running === null
        ? "that is installed already, and the router does not answer"
        : `that is installed already, and the router runs with ${running.slice(0, 12)}`,
      "restart the router through its supervisor",
    );
  }
  return {
    kind,
    node,
    subject: "router.toml",
    evidence: null,
    bound: { config: live.digest, manifest: null, topology },
    steps: [...steps],
    before: {},
    drain_seconds: 0,
    notes: [
      steps.length === 0
        ? "nothing is to be done: it runs with that already"
        : "the router restarts: its streams end by themselves within its drain_seconds, and new " +
          "connections are refused until it is back",
      ...(running === null || running === live.digest
        ? []
        : [`the router runs with ${running.slice(0, 12)}, which is not what its file says`]),
      ...(running === null ? ["the router does not answer now"] : []),
    ],
  };
}

/** The installed router's judgement, its first problems in one sentence. */
export async function judge(
  program: RouterProgram,
  text: string,
  signal: AbortSignal,
): Promise<{ readonly kind: "valid"; readonly digest: string } | Refusal> {
  const judged = await program.check(text, signal);
  if (judged.kind === "valid") return judged;
  const some = judged.problems.slice(0, 5).map(({ path, code }) => `${path} ${code}`).join("; ");
  return refuse(
    judged.code,
    some === "" ? judged.detail : `${judged.detail}: ${some}`,
    judged.nextStep,
  );
}
