/**
 * Follows a run at its node while the call that began it is open: found by its key, then asked for
 * by its id. The ledger keeps the last step alone, so a step shorter than the pause may go unseen.
 *
 * @module
 */

import type { Clock } from "../../lib/core/clock.ts";
import type { Ask } from "../../lib/dispatch/ask.ts";
import type { Outcome } from "../../lib/dispatch/outcome.ts";
import { type JsonObject, objectOf } from "../../lib/dispatch/reply.ts";
import { BEGUN } from "../../lib/operation/run_record.ts";
import { readAsk } from "./one_host.ts";
import type { RunView } from "./run_view.ts";
import { objectsTold } from "./told.ts";

/** Asks the node for something that changes nothing; null when `signal` ended it. */
export type Poll = (ask: Ask, signal: AbortSignal) => Promise<Outcome | null>;

/** Which run. */
export interface Wanted {
  readonly operation: string;
  readonly key: string;
}

/** Before the first look and between looks, in milliseconds. */
const FIRST_MS = 150;
const PAUSE_MS = 700;
/** Newest runs of a node among which ours must be. */
const NEWEST = 50;
/** For the one look after the call is over, in milliseconds. */
const LAST_LOOK_MS = 3000;

/** Follows until `signal`. Gives the run as it was last seen; null when it was not. */
export async function watchRun(
  clock: Clock,
  poll: Poll,
  wanted: Wanted,
  view: RunView,
  signal: AbortSignal,
): Promise<JsonObject | null> {
  let seen: JsonObject | null = null;
  for (let pause = FIRST_MS;; pause = PAUSE_MS) {
    try {
      await clock.sleep(pause, signal);
    } catch {
      return seen;
    }
    const outcome = await poll(askFor(seen), signal);
    if (outcome === null) return seen;
    if (outcome.kind === "unauthorized") {
      view.remark(`its steps are not shown: ${outcome.detail}`);
      return seen;
    }
    if (outcome.kind !== "done") continue; // the call itself will tell
    seen = runIn(outcome, wanted, seen);
    const step = seen?.["step"];
    if (typeof step === "string") view.tell(step === BEGUN ? "begun" : step);
  }
}

/** One look at the run after the call was lost; null when the node does not tell. */
export async function lastLook(
  clock: Clock,
  poll: Poll,
  wanted: Wanted,
  seen: JsonObject | null,
): Promise<JsonObject | null> {
  const over = new AbortController();
  const late = new AbortController();
  const timer = clock.sleep(LAST_LOOK_MS, over.signal).then(() => late.abort(), () => {});
  const outcome = await poll(askFor(seen), late.signal);
  over.abort();
  await timer;
  return outcome?.kind === "done" ? runIn(outcome, wanted, seen) : null;
}

function askFor(seen: JsonObject | null): Ask {
  const id = seen?.["id"];
  return typeof id === "string"
    ? { kind: "run", id }
    : readAsk("operations.list", { most: NEWEST });
}

function runIn({ result }: Outcome, wanted: Wanted, seen: JsonObject | null): JsonObject | null {
  const told = objectOf(result) ?? {};
  if (seen !== null) return told;
  return objectsTold(told, "runs").find(({ key, operation }) =>
    key === wanted.key && operation === wanted.operation
  ) ?? null;
}
