/**
 * What a planner looks at: the manifest, what runs now, the router and its configuration. Taken anew
 * for every plan; a fact that is not known is a refusal, never a guess.
 *
 * @module
 */

import { type Refusal, refuse } from "../../core/refusal.ts";
import type { Host } from "../../topology/shape.ts";
import type { Serve } from "../manifest_shape.ts";
import type {
  ConfigFiles,
  ConfigText,
  RouterAdmin,
  RouterProgram,
  RouterReport,
  ServeHands,
} from "./ports.ts";
import { readRouterText, type RouterText } from "./router_text.ts";

/** What this host is, as far as plans depend on it. */
export interface HostFacts {
  readonly node: string;
  /** Its axes in the topology; null when this agent knows no topology. */
  readonly axes: Pick<Host, "runtime" | "availability" | "reserved"> | null;
  /** Fingerprint of the topology, lower-case hex. */
  readonly topology: string | null;
  readonly serves: readonly Serve[];
  /** SHA-256 of the manifest's bytes, lower-case hex. */
  readonly manifest: string | null;
}

/** What a survey is taken through. */
export interface SurveyPorts {
  readonly facts: HostFacts;
  readonly hands: ServeHands;
  /** Null on a host without a router. */
  readonly router: RouterPorts | null;
}

/** This host's router. */
export interface RouterPorts {
  readonly admin: RouterAdmin;
  readonly program: RouterProgram;
  /** Reads and writes what stands there now. */
  readonly config: Pick<ConfigFiles, "live" | "write">;
}

/** What was seen. */
export interface Survey {
  readonly kind: "survey";
  readonly facts: HostFacts;
  /** Names of serves that run now. */
  readonly running: ReadonlySet<string>;
  readonly router: SeenRouter | null;
}

/** The router as it was seen. */
export interface SeenRouter {
  readonly report: RouterReport;
  readonly config: ConfigText;
  readonly text: RouterText;
}

/** Looks. */
export async function takeSurvey(
  { facts, hands, router }: SurveyPorts,
  signal: AbortSignal,
): Promise<Survey | Refusal> {
  const running = new Set<string>();
  for (const { name } of facts.serves) {
    const state = await hands.state(name, signal);
    switch (state.kind) {
      case "running":
        running.add(name);
        break;
      case "stopped":
        break;
      case "stopping":
        return refuse("serve_stopping", `${name} is on its way out`, "wait until it is gone");
      case "foreign":
        return refuse(
          "serve_foreign",
          `${name}: ${state.detail}`,
          "remove it, or rename the serve",
        );
      case "unknown":
        return refuse(state.code, `${name}: ${state.detail}`, "see whether the runtime answers");
    }
  }
  if (router === null) return { kind: "survey", facts, running, router: null };
  const seen = await seeRouter(router, signal);
  return seen.kind === "refused" ? seen : { kind: "survey", facts, running, router: seen };
}

async function seeRouter(
  { admin, config }: Pick<RouterPorts, "admin" | "config">,
  signal: AbortSignal,
): Promise<(SeenRouter & { readonly kind: "seen" }) | Refusal> {
  const live = await config.live();
  if (live.kind === "refused") return live;
  const text = readRouterText(live.text);
  if (text.kind === "invalid") {
    const [first] = text.problems;
    return refuse(
      "config_unreadable",
      `router.toml is not readable: ${first?.path ?? "$"} ${first?.code ?? ""}`,
      "`anvil-router check` tells more; install one that is valid",
    );
  }
  const report = await admin.status(signal);
  if (report.kind === "refused") return report;
  if (report.digest !== live.digest) {
    return refuse(
      "config_drifted",
      `the router runs with ${report.digest.slice(0, 12)}, its file is ${live.digest.slice(0, 12)}`,
      "somebody wrote the file by hand: install it, or restore the one that runs",
    );
  }
  return { kind: "seen", report, config: live, text: text.model };
}

/** The digests a plan is bound to. */
export function boundTo({ facts, router }: Survey) {
  return {
    config: router?.config.digest ?? null,
    manifest: facts.manifest,
    topology: facts.topology,
  };
}
