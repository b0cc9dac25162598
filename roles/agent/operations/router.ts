/**
 * `router.status`: what the router on this host says of itself, through its admin listener.
 * `router.transition`: what is asked of one of its tiers.
 *
 * @module
 */

import { z } from "zod";
import { refuse } from "../../../lib/core/refusal.ts";
import {
  defineMutation,
  defineRead,
  jsonShape,
  type Operation,
} from "../../../lib/operation/operation.ts";
import { busyWith } from "./change.ts";
import type { Observed, RouterRefusal } from "../../../lib/serves/machines/ports.ts";
import type { RouterClient } from "../../../lib/serves/machines/router_client.ts";
import { WITH_ROUTER } from "../host_roles.ts";
import type { Stillness } from "../stillness.ts";

/** How the router is asked; null when this host's agent knows none. */
export interface RouterParts {
  readonly client: RouterClient | null;
  /** The change that works on this host now; null when there is none. */
  readonly change: () => string | null;
  readonly stillness: Stillness;
}

/** A drain of an hour, and then some. */
const TRANSITION_MS = 3_700_000;

const NOT_CONFIGURED = refuse(
  "router_not_configured",
  "agent.toml names no router",
  "add `[router]` with `admin` to agent.toml and restart the agent",
);

const observedShape = z.strictObject({
  tier: z.string(),
  intent: z.enum(["admit", "quiesce"]),
  readiness: z.enum(["ready", "not_ready"]),
  in_flight: z.int(),
  drained: z.boolean(),
  persisted: z.boolean(),
});

/** The two. */
export function routerOperations({ client, change, stillness }: RouterParts): Operation[] {
  return [
    defineRead({
      name: "router.status",
      brief: "Tiers, members and aliases of the router on this host",
      effect: "read",
      roles: WITH_ROUTER,
      deadlineMs: 10_000,
      input: z.strictObject({}),
      output: z.strictObject({ status: jsonShape }),
      run: async (_input, { signal }) => {
        if (client === null) return NOT_CONFIGURED;
        const told = await client.statusJson(signal);
        return "kind" in told ? told : { kind: "ok", value: { status: told.status } };
      },
    }),
    defineMutation({
      name: "router.transition",
      brief: "Quiesce, drain or readmit one tier of the router on this host",
      effect: "mutate",
      destructive: false,
      roles: WITH_ROUTER,
      deadlineMs: TRANSITION_MS,
      input: z.strictObject({
        tier: z.string().min(1).max(256),
        action: z.enum(["quiesce", "drain", "readmit"]),
        timeout_seconds: z.int().min(0).max(3600).default(30).describe("How long a drain waits."),
      }),
      output: observedShape,
      plan: async (wish, { signal }) => {
        if (client === null) return NOT_CONFIGURED;
        const { tier, action } = wish;
        const told = await client.transition({ tier, action, dryRun: true }, signal);
        return told.kind === "refused"
          ? told
          : { kind: "ok", value: { ...wish, now: observed(told) } };
      },
      run: async ({ tier, action, timeout_seconds, now: { intent } }, { signal, step }) => {
        if (client === null) return NOT_CONFIGURED;
        const busy = change();
        if (busy !== null) return busyWith(busy);
        // Whose tier is closed, or opened to other clients, is measured under other conditions.
        const stays = (action === "readmit") === (intent === "admit");
        const alone = await stillness.disturb(
          `${action} ${tier}`,
          (through) => !stays && through.tier === tier,
        );
        if (alone.kind === "refused") return alone;
        using _alone = alone;
        step(`${action} ${tier}`, "unknown");
        const told = await client.transition({ tier, action, seconds: timeout_seconds }, signal);
        return told.kind === "refused" ? ended(told) : { kind: "ok", value: observed(told) };
      },
    }),
  ];
}

function observed({ tier, intent, readiness, inFlight, drained, persisted }: Observed) {
  return { tier, intent, readiness, in_flight: inFlight, drained, persisted };
}

/** A refusal promises that nothing was changed; the router does not always. */
function ended(told: RouterRefusal) {
  if (!told.changed) return told;
  const { code, detail } = told;
  const effect = code === "drain_timeout" ? "applied" as const : "unknown" as const;
  return { kind: "failed" as const, code, detail, effect };
}
