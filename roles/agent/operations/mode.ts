/**
 * `mode.status|preview|enter|leave`: exclusive modes of this host.
 *
 * @module
 */

import { z } from "zod";
import { ID_PATTERN } from "../../../lib/core/ids.ts";
import { modesOf, planEnter, planLeave } from "../../../lib/serves/machines/mode.ts";
import type { ChangeStore } from "../../../lib/serves/machines/store.ts";
import { takeSurvey } from "../../../lib/serves/machines/survey.ts";
import { defineMutation, defineRead, type Operation } from "../../../lib/operation/operation.ts";
import {
  applied,
  CHANGE_MS,
  type ChangeParts,
  changeShape,
  changeView,
  drainShape,
  PLAN_MS,
  planned,
  plannedShape,
  type Planner,
  reachedShape,
  surveyed,
} from "./change.ts";
import { CHANGE_HOSTS } from "../host_roles.ts";

const name = z.string().regex(ID_PATTERN, "expected a mode's name");

const wishShape = z.strictObject({
  mode: name,
  drain_seconds: drainShape,
  start: z.array(z.string().regex(ID_PATTERN)).max(256).optional().describe(
    "Only to leave: the serves that come back, instead of those that entering displaced.",
  ),
});

type Wish = z.infer<typeof wishShape>;

/** The four. */
export function modeOperations(parts: ChangeParts): Operation[] {
  const shared = { roles: CHANGE_HOSTS, output: plannedShape, deadlineMs: PLAN_MS } as const;
  return [
    defineRead({
      name: "mode.status",
      brief: "Modes of this host as they are now, and the newest change",
      effect: "read",
      roles: CHANGE_HOSTS,
      deadlineMs: PLAN_MS,
      input: z.strictObject({}),
      output: z.strictObject({
        modes: z.array(z.strictObject({
          mode: z.string(),
          state: z.enum(["in_force", "partly", "outside"]),
          serves: z.array(z.string()),
          running: z.array(z.string()),
        })),
        live: z.string().nullable(),
        change: changeShape.nullable(),
      }),
      run: async (_input, { signal }) => {
        const ports = await parts.survey(signal);
        if ("kind" in ports) return ports;
        // Modes are what runs: the router has no say in it, and may be down.
        const seen = await takeSurvey({ ...ports, router: null }, signal);
        if (seen.kind === "refused") return seen;
        const newest = await parts.store.newest();
        if (newest !== null && "kind" in newest) return newest;
        const modes = modesOf(seen).map((one) => ({
          ...one,
          serves: [...one.serves],
          running: [...one.running],
        }));
        const change = newest === null ? null : changeView(newest);
        return { kind: "ok", value: { modes, live: parts.conductor.live, change } };
      },
    }),
    defineRead({
      ...shared,
      name: "mode.preview",
      brief: "The plan of entering or leaving a mode; changes nothing",
      effect: "read",
      input: wishShape.extend({ action: z.enum(["enter", "leave"]) }),
      run: ({ action, ...wish }, { signal }) =>
        planned(parts, action === "enter" ? entering(wish) : leaving(parts.store, wish), signal),
    }),
    defineMutation({
      name: "mode.enter",
      brief: "Enter an exclusive mode: its competitors stop, its serves start",
      effect: "mutate",
      destructive: true,
      roles: CHANGE_HOSTS,
      deadlineMs: CHANGE_MS,
      input: wishShape.omit({ start: true }),
      output: reachedShape,
      plan: async (wish, { signal }) => {
        const plan = await planned(parts, entering(wish), signal);
        return plan.kind === "ok" ? { kind: "ok", value: { ...plan.value, wish } } : plan;
      },
      run: ({ digest, wish }, context) =>
        applied(parts, { expected: digest, make: entering(wish), config: null }, context),
    }),
    defineMutation({
      name: "mode.leave",
      brief: "Leave a mode: its serves stop, what it displaced starts again",
      effect: "mutate",
      destructive: true,
      roles: CHANGE_HOSTS,
      deadlineMs: CHANGE_MS,
      input: wishShape,
      output: reachedShape,
      plan: async (wish, { signal }) => {
        const plan = await planned(parts, leaving(parts.store, wish), signal);
        const { start = null, ...rest } = wish;
        return plan.kind === "ok"
          ? { kind: "ok", value: { ...plan.value, wish: { ...rest, start } } }
          : plan;
      },
      run: ({ digest, wish: { start, ...rest } }, context) => {
        const wish = start === null ? rest : { ...rest, start };
        return applied(
          parts,
          { expected: digest, make: leaving(parts.store, wish), config: null },
          context,
        );
      },
    }),
  ];
}

function entering({ mode, drain_seconds }: Wish): Planner {
  return surveyed((seen, ports, signal) =>
    planEnter(seen, { mode, drainSeconds: drain_seconds }, ports, signal)
  );
}

function leaving(store: ChangeStore, { mode, drain_seconds, start }: Wish): Planner {
  return surveyed(async (seen, ports, signal) => {
    const displaced = start ?? await displacedBy(store, mode);
    return await planLeave(
      seen,
      { mode, drainSeconds: drain_seconds, displaced },
      ports,
      signal,
    );
  });
}

/** What the last entry of `mode` stopped; null when there is no record of one. */
async function displacedBy(store: ChangeStore, mode: string): Promise<readonly string[] | null> {
  const names = await store.names();
  if ("kind" in names) return null;
  for (const id of names.toReversed().filter((one) => one.endsWith("-enter"))) {
    const record = await store.record(id);
    if ("kind" in record || record.state.at !== "reached") continue;
    const { plan } = record.state;
    if (plan.subject !== mode) continue;
    return plan.steps.flatMap((step) => step.do === "stop" ? [step.serve] : []);
  }
  return null;
}
