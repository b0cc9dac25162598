/**
 * `serves.list|status|logs|up|down|restart|adopt`: the models of this host, started, stopped, proven.
 *
 * @module
 */

import { z } from "zod";
import type { Json } from "../../../lib/core/canonical_json.ts";
import { type Refusal, refuse } from "../../../lib/core/refusal.ts";
import { whileFree } from "./change.ts";
import {
  defineMutation,
  defineRead,
  jsonShape,
  type Operation,
  type Ran,
} from "../../../lib/operation/operation.ts";
import type { UpPlan } from "../../../lib/serves/lifecycle.ts";
import type { Serve } from "../../../lib/serves/manifest_shape.ts";
import { SERVING_HOSTS } from "../host_roles.ts";
import type { ServesHost } from "../serves_host.ts";
import { type Stillness, touchedBy } from "../stillness.ts";
import { down, endedShape, teller, unknown, up, upEnded } from "./serves_acted.ts";
import { capabilities, declared, instanceJson, proofJson, stateJson } from "./serves_shown.ts";

/** What these operations act through. */
export interface ServesParts {
  readonly node: string;
  /** Opens the host's files and runtimes anew. */
  readonly open: () => Promise<ServesHost | Refusal>;
  /** The change that works on this host now; null when there is none. */
  readonly change: () => string | null;
  readonly stillness: Stillness;
}

const READ_MS = 60_000;
/** A model may load for two hours, behind another that does. */
const CHANGE_MS = 4 * 3600 * 1000 + 60_000;

const name = z.string().regex(/^[a-z][a-z0-9-]{0,62}$/, "expected the name of a serve");
const one = z.strictObject({ serve: name });
const stop = z.strictObject({
  serve: name,
  force: z.boolean().default(false).describe("Kill at once instead of asking."),
});
const upPlan = z.strictObject({
  serve: name,
  action: z.enum(["start", "none"]),
  instance: jsonShape,
  budget: jsonShape,
});
const downPlan = z.strictObject({
  serve: name,
  action: z.enum(["ask", "kill", "none"]),
  grace_seconds: z.int(),
  force: z.boolean(),
  state: jsonShape,
});

/** The seven. */
export function servesOperations(parts: ServesParts): Operation[] {
  const base = { roles: SERVING_HOSTS, deadlineMs: READ_MS } as const;
  return [
    defineRead({
      ...base,
      name: "serves.list",
      brief: "The serves of this host, what runs of them now, and what this host can do",
      effect: "read",
      input: z.strictObject({}),
      output: z.strictObject({ host: jsonShape, serves: z.array(jsonShape) }),
      run: async (_input, { signal }) => {
        const host = await parts.open();
        if ("code" in host) return host;
        const rows: Json[] = [];
        for (const serve of host.serves) {
          rows.push({
            ...declared(serve),
            ...stateJson(await host.lifecycle.status(serve, signal)),
          });
        }
        return { kind: "ok", value: { host: capabilities(parts.node, host), serves: rows } };
      },
    }),
    defineRead({
      ...base,
      name: "serves.status",
      brief: "One serve: its process, its port, its health and the model it proves",
      effect: "read",
      input: one,
      output: z.strictObject({
        serve: jsonShape,
        state: jsonShape,
        proof: jsonShape,
        engine: jsonShape,
      }),
      run: async (input, { signal }) =>
        await withServe(parts, input.serve, async (host, serve) => {
          const state = await host.lifecycle.status(serve, signal);
          const driver = host.driverOf(serve);
          const proof = "code" in driver ? null : await driver.identity(serve, signal);
          const engine = state.kind === "running" ? await host.probe(serve, signal) : null;
          return {
            kind: "ok",
            value: {
              serve: declared(serve),
              state: stateJson(state),
              proof: proof === null ? null : proofJson(proof),
              engine: engine === null ? null : { ...engine },
            },
          };
        }),
    }),
    defineRead({
      ...base,
      name: "serves.logs",
      brief: "The last lines of a serve, as its runtime keeps them",
      effect: "read",
      input: z.strictObject({ serve: name, lines: z.int().min(1).max(1000).default(100) }),
      output: z.strictObject({ lines: z.array(z.string()), truncated: z.boolean() }),
      run: async (input, { signal }) =>
        await withServe(parts, input.serve, async (host, serve) => {
          const driver = host.driverOf(serve);
          if ("code" in driver) return driver;
          const bounds = { lines: input.lines, bytes: 256 * 1024 };
          const logs = await driver.logs(serve, bounds, signal);
          if (logs.kind === "unknown") return unknown(logs);
          return { kind: "ok", value: { lines: [...logs.lines], truncated: logs.truncated } };
        }),
    }),
    defineMutation({
      ...base,
      deadlineMs: CHANGE_MS,
      name: "serves.up",
      brief: "Start a serve and wait until its health and its identity are proven, or it died",
      effect: "mutate",
      destructive: false,
      input: one,
      output: endedShape,
      plan: async (input, { signal }) =>
        await planning(parts, input.serve, (host, serve) => planUp(host, serve, [], signal)),
      run: async (plan, context) =>
        await changing(parts, "start", plan, (host, serve) => up(host, serve, context)),
    }),
    defineMutation({
      ...base,
      deadlineMs: CHANGE_MS,
      name: "serves.down",
      brief: "Stop a serve and prove that its processes are gone and its port is free",
      effect: "mutate",
      destructive: true,
      input: stop,
      output: endedShape,
      plan: async (input, { signal }) =>
        await planning(
          parts,
          input.serve,
          (host, serve) => planDown(host, serve, input.force, signal),
        ),
      run: async (plan, context) =>
        await changing(
          parts,
          "stop",
          plan,
          (host, serve) => down(host, serve, plan.force, context),
        ),
    }),
    defineMutation({
      ...base,
      deadlineMs: CHANGE_MS,
      name: "serves.restart",
      brief: "Stop a serve, prove it gone, and start it again",
      effect: "mutate",
      destructive: true,
      input: stop,
      output: endedShape,
      plan: async (input, { signal }) =>
        await planning(parts, input.serve, async (host, serve) => {
          const first = await planDown(host, serve, input.force, signal);
          if (first.kind !== "ok") return first;
          // What is missing for the start is found before anything is stopped.
          const then = await planUp(host, serve, [serve.name], signal);
          return then.kind === "ok"
            ? { kind: "ok", value: { action: "restart", down: first.value, up: then.value } }
            : then;
        }),
      run: async (plan, context) =>
        await changing(parts, "restart", { ...plan, serve: plan.up.serve }, async (host, serve) => {
          const first = await down(host, serve, plan.down.force, context);
          if (first.kind !== "ok") return first;
          const then = await up(host, serve, context);
          // It is stopped by now, whatever the start says of itself.
          return then.kind === "refused"
            ? { kind: "failed", code: then.code, detail: then.detail, effect: "applied" }
            : then;
        }),
    }),
    defineMutation({
      ...base,
      deadlineMs: CHANGE_MS,
      name: "serves.adopt",
      brief: "Take over what runs under a serve's name already, once it is proven to be the serve",
      effect: "mutate",
      destructive: false,
      input: one,
      output: endedShape,
      plan: async (input, { signal }) =>
        await withServe(parts, input.serve, async (host, serve) => {
          const plan = await planUp(host, serve, [], signal);
          return plan.kind === "ok" && plan.value.action === "start"
            ? refuse(
              "serve_not_running",
              `nothing runs under the name of ${serve.name}`,
              "start it",
            )
            : plan;
        }),
      run: async (plan, context) =>
        await changing(parts, "adopt", plan, async (host, serve) => {
          const { adopt } = host.lifecycle;
          return upEnded(
            serve,
            await adopt.call(host.lifecycle, serve, teller(context), context.signal),
          );
        }),
    }),
  ];
}

async function withServe<Value>(
  { open }: ServesParts,
  wanted: string,
  act: (host: ServesHost, serve: Serve) => Promise<Ran<Value>>,
): Promise<Ran<Value>> {
  const host = await open();
  if ("code" in host) return host;
  const serve = host.serves.find(({ name }) => name === wanted);
  if (serve !== undefined) return await act(host, serve);
  const known = host.serves.map(({ name }) => name).join(", ") || "none";
  return refuse("serve_unknown", `no serve of this host is called ${wanted}; it has ${known}`);
}

/** A plan, and which benchmark it would end. */
async function planning<Value extends { readonly action: string }>(
  parts: ServesParts,
  wanted: string,
  plan: (host: ServesHost, serve: Serve) => Promise<Ran<Value>>,
): Promise<Ran<Value & { readonly ends_benchmark: string | null }>> {
  return await withServe(parts, wanted, async (host, serve) => {
    const made = await plan(host, serve);
    if (made.kind !== "ok") return made;
    const ends_benchmark = made.value.action === "none"
      ? null
      : parts.stillness.inTheWay(touchedBy(serve, host.serves));
    return { kind: "ok", value: { ...made.value, ends_benchmark } };
  });
}

/** Acts while no change does, and once nothing is measured that this would disturb. */
async function changing<Value>(
  parts: ServesParts,
  what: string,
  { serve: wanted, action }: { readonly serve: string; readonly action: string },
  act: (host: ServesHost, serve: Serve) => Promise<Ran<Value>>,
): Promise<Ran<Value>> {
  const free = { ...parts, open: whileFree(parts.change, parts.open) };
  return await withServe(free, wanted, async (host, serve) => {
    if (action === "none") return await act(host, serve);
    const touches = touchedBy(serve, host.serves);
    const alone = await parts.stillness.disturb(`${what} ${wanted}`, touches);
    if (alone.kind === "refused") return alone;
    using _alone = alone;
    return await act(host, serve);
  });
}

async function planUp(
  { lifecycle }: ServesHost,
  serve: Serve,
  stopping: readonly string[],
  signal: AbortSignal,
): Promise<Ran<z.infer<typeof upPlan>>> {
  const plan: UpPlan = await lifecycle.planUp(serve, signal, stopping);
  const about = { serve: serve.name };
  switch (plan.kind) {
    case "start":
      return {
        kind: "ok",
        value: { ...about, action: "start", instance: null, budget: { ...plan.budget } },
      };
    case "running": {
      const instance = instanceJson(plan.instance);
      return { kind: "ok", value: { ...about, action: "none", instance, budget: null } };
    }
    case "refused":
      return plan;
    case "unknown":
      return unknown(plan);
  }
}

async function planDown(
  { lifecycle }: ServesHost,
  serve: Serve,
  force: boolean,
  signal: AbortSignal,
): Promise<Ran<z.infer<typeof downPlan>>> {
  const state = await lifecycle.status(serve, signal);
  if (state.kind === "unknown") return unknown(state);
  if (state.kind === "foreign") {
    return refuse("serve_foreign", `${serve.name}: ${state.detail}`, "stop it yourself");
  }
  const dependents = await lifecycle.dependentsUp(serve, signal);
  if (dependents.length > 0) {
    const detail = `${dependents.join(", ")} may run and cannot without ${serve.name}`;
    return refuse("dependents_up", detail, "take those down first");
  }
  const action = state.kind === "stopped" ? "none" : force ? "kill" : "ask";
  return {
    kind: "ok",
    value: {
      serve: serve.name,
      action,
      force,
      grace_seconds: serve.stop_grace_seconds,
      state: stateJson(state),
    },
  };
}
