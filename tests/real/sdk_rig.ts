/**
 * A router process with an engine behind it, for the suites of client libraries: one tier that
 * takes everything, and one on the same engine that takes neither images nor tools.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type Engine, startEngine } from "../fixtures/engine.ts";
import { type RouterProcess, withRouterProcess } from "../support/router_process.ts";
import { ALL_DIALECTS } from "../support/router_rig.ts";
import { type RouterSettings, routerTable, type Section } from "../support/router_toml.ts";
import { until, within } from "../support/wait.ts";

/** The alias of the tier without media and without tools. */
export const TEXT_ALIAS = "llm.text";
/** Six tokens of the fixture engine. */
export const SIX = "Anvil token 1 2 3 4 5 6";
/** A picture of one pixel, as base64. */
export const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg==";
/** The parameters of the tool `weather`. */
export const SCHEMA = {
  type: "object",
  properties: { city: { type: "string" } },
} as const;

/** A router process and its engine. */
export interface Fleet {
  readonly router: RouterProcess;
  readonly engine: Engine;
  /** The last body the engine got, parsed. */
  lastBody(): Record<string, unknown>;
  /** The decisions that were written, once there are `count`. */
  decisions(count: number): Promise<readonly Decision[]>;
  /** Waits until a POST is at the engine. */
  atEngine(path: string): Promise<void>;
  /** Waits until the engine saw the close of a running request, and the router holds nothing. */
  leftWhole(path: string): Promise<void>;
}

/** The part of a decision that these suites look at. */
export interface Decision {
  readonly outcome: string;
  readonly code: string | null;
  readonly status: number | null;
  readonly dispatched: number;
  readonly client_retries: number | null;
}

/** Starts both, runs, and asserts that nothing is open at the end. */
export async function withFleet(
  run: (fleet: Fleet) => Promise<void>,
  admission: Section = {},
): Promise<void> {
  const engine = await startEngine();
  try {
    const base: RouterSettings = {
      members: [engine.port],
      admission,
      tier: { dialects: ALL_DIALECTS },
      aliases: { [TEXT_ALIAS]: "text" },
    };
    const { tiers } = routerTable(base) as { readonly tiers: readonly Section[] };
    const text = { ...tiers[0], id: "text", media: [], tools: false };
    await withRouterProcess({ ...base, top: { tiers: [...tiers, text] } }, async (router) => {
      await run(fleetOf(router, engine));
      await quiet(router);
    });
  } finally {
    await engine.close();
  }
}

/** A `fetch` that takes the status of every answer down. */
export function noting(statuses: number[]): typeof fetch {
  return async (input, init) => {
    const answer = await fetch(input, init);
    statuses.push(answer.status);
    return answer;
  };
}

async function quiet(router: RouterProcess): Promise<void> {
  await until("nothing is open", async () => (await router.status()).open === 0);
  for (const tier of (await router.status()).tiers) {
    assert.deepEqual([tier.in_flight, tier.waiting], [0, 0], tier.tier);
  }
}

function fleetOf(router: RouterProcess, engine: Engine): Fleet {
  return {
    router,
    engine,
    lastBody: () =>
      JSON.parse(new TextDecoder().decode(engine.last?.body)) as Record<string, unknown>,
    decisions: async (count) => {
      let found: Decision[] = [];
      await until(`${count} decisions are written`, async () => {
        const lines = (await router.decisionText().catch(() => "")).split("\n");
        found = lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Decision);
        return found.length >= count;
      });
      assert.equal(found.length, count);
      return found;
    },
    atEngine: async (path) => {
      const seen = engine.until((event) => event.kind === "request" && event.target === path);
      await within(`${path} at the engine`, seen);
    },
    leftWhole: async (path) => {
      const seen = engine.until((event) => event.kind === "client_closed" && event.during === path);
      await within(`the close of ${path} at the engine`, seen);
      await quiet(router);
    },
  };
}
