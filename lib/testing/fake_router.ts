/**
 * A router that exists only in a test: its configuration on a disk, its process, its intents, and
 * the engines of a host behind it. It outlives whoever steers it, as a real one does.
 *
 * @module
 */

import { hex } from "../core/ids.ts";
import { refuse } from "../core/refusal.ts";
import { sha256 } from "../host/digest.ts";
import type {
  Judged,
  Observed,
  RouterAdmin,
  RouterProgram,
  RouterRefusal,
  RouterReport,
  TierReport,
} from "../serves/machines/ports.ts";
import { readRouterText, type RouterText } from "../serves/machines/router_text.ts";
import type { Effect } from "./simulated_driver.ts";

/** What a test may let go wrong. */
export interface RouterTrouble {
  /** The admin listener does not answer. */
  unreachable: boolean;
  /** Transitions take place and their answers are lost. */
  answersLost: boolean;
  /** Requests in flight that never end, by tier. */
  readonly inFlight: Map<string, number>;
  /** Digests of configurations with which it does not come back. */
  readonly deadly: Set<string>;
  /** The supervisor says no. */
  restartRefused: boolean;
  /** It forgets intents when it restarts. */
  forgets: boolean;
}

/** What is asked of the world behind it. */
export interface RouterWorld {
  /** The text that stands where it reads its configuration. */
  readonly installed: () => string;
  /** The model served on a port; null when nobody answers there. */
  readonly servedOn: (port: number) => string | null;
}

/** The router. */
export class FakeRouter {
  readonly trouble: RouterTrouble = {
    unreachable: false,
    answersLost: false,
    inFlight: new Map(),
    deadly: new Set(),
    restartRefused: false,
    forgets: false,
  };
  /** Every transition and restart that took place, as `quiesce primary`. */
  readonly happened: string[] = [];
  readonly quiesced = new Set<string>();
  readonly #world: RouterWorld;
  #running: { readonly digest: string; readonly text: RouterText } | null = null;

  constructor(world: RouterWorld) {
    this.#world = world;
    this.#start();
  }

  /** Digest of what it runs with; null while it does not run. */
  get digest(): string | null {
    return this.#running?.digest ?? null;
  }

  /** Tiers that take requests now. */
  get admitting(): readonly string[] {
    return this.#tiers().filter(({ intent, readiness }) =>
      intent === "admit" && readiness === "ready"
    ).map(({ tier }) => tier).toSorted();
  }

  /** The admin listener, to somebody for whom each transition is an `effect`. */
  admin(effect: Effect, alive: () => void): RouterAdmin {
    const deaf = () => this.trouble.unreachable || this.#running === null;
    return {
      status: () => {
        alive();
        return Promise.resolve(deaf() ? unreachable(false) : this.#report());
      },
      transition: async ({ tier, action, dryRun = false }) => {
        alive();
        if (deaf()) return unreachable(false);
        if (!this.#text().tiers.has(tier)) return no("tier_unknown", "no such tier", false);
        if (dryRun) return this.#observe(tier);
        return await effect(() => this.#take(tier, action));
      },
    };
  }

  /** The installed program, to somebody for whom a restart is an `effect`. */
  program(effect: Effect, alive: () => void): RouterProgram {
    return {
      check: (text): Promise<Judged> => {
        alive();
        const read = readRouterText(text);
        return Promise.resolve(
          read.kind === "ok" && read.model.table["schema"] === 1
            ? { kind: "valid", digest: digestOf(text) }
            : {
              ...refuse("config_invalid", "the router refuses that text"),
              problems: [{ path: "schema", code: "missing", message: "it has no schema" }],
            },
        );
      },
      restart: () =>
        effect(() => {
          if (this.trouble.restartRefused) {
            return { ...refuse("router_not_restarted", "the supervisor said no"), cause: "fake" };
          }
          this.happened.push("restart");
          if (this.trouble.forgets) this.quiesced.clear();
          this.#start();
          return { kind: "restarted" } as const;
        }),
    };
  }

  #start(): void {
    const text = this.#world.installed();
    const digest = digestOf(text);
    const read = readRouterText(text);
    const starts = read.kind === "ok" && !this.trouble.deadly.has(digest);
    this.#running = starts ? { digest, text: read.model } : null;
  }

  #take(tier: string, action: "quiesce" | "drain" | "readmit"): Observed | RouterRefusal {
    this.happened.push(`${action} ${tier}`);
    if (action !== "readmit") this.quiesced.add(tier);
    if (action === "drain") {
      const count = this.trouble.inFlight.get(tier) ?? 0;
      if (count > 0) return no("drain_timeout", `${count} requests are still in flight`, true);
    }
    if (action === "readmit") {
      if (!this.#ready(tier)) return no("readmit_refused", "its members are not proven", false);
      this.quiesced.delete(tier);
    }
    return this.trouble.answersLost ? unreachable(true) : this.#observe(tier);
  }

  #observe(tier: string): Observed {
    const report = this.#reportOf(tier);
    const drained = report.intent === "quiesce" && report.inFlight === 0;
    return { kind: "observed", ...report, drained, persisted: !this.trouble.forgets };
  }

  #report(): RouterReport {
    const { text } = this.#running ?? { text: this.#text() };
    return {
      kind: "report",
      digest: this.#running?.digest ?? "",
      draining: false,
      tiers: this.#tiers(),
      aliases: Object.fromEntries(text.aliases),
    };
  }

  #tiers(): readonly TierReport[] {
    return this.#running === null
      ? []
      : [...this.#running.text.tiers.keys()].map((tier) => this.#reportOf(tier));
  }

  #reportOf(tier: string): TierReport {
    return {
      tier,
      intent: this.quiesced.has(tier) ? "quiesce" : "admit",
      readiness: this.#ready(tier) ? "ready" : "not_ready",
      inFlight: this.trouble.inFlight.get(tier) ?? 0,
    };
  }

  #ready(tier: string): boolean {
    const declared = this.#text().tiers.get(tier);
    return declared?.ports.some((port) => this.#world.servedOn(port) === declared.servedModel) ??
      false;
  }

  #text(): RouterText {
    if (this.#running === null) throw new Error("the fake router does not run");
    return this.#running.text;
  }
}

/** The name of a configuration. */
export function digestOf(text: string): string {
  return hex(sha256(text));
}

function unreachable(changed: boolean): RouterRefusal {
  return no("router_unreachable", "the fake router does not answer", changed);
}

function no(code: RouterRefusal["code"], detail: string, changed: boolean): RouterRefusal {
  return { ...refuse(code, detail), changed };
}
