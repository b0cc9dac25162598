/**
 * `router.config-validate|config-install|config-restore`: the one way a router's configuration is
 * changed on this host.
 *
 * @module
 */

import { z } from "zod";
import { type Refusal, refuse } from "../../../lib/core/refusal.ts";
import { planInstall } from "../../../lib/serves/machines/config_install.ts";
import type { RouterPorts } from "../../../lib/serves/machines/survey.ts";
import { defineMutation, defineRead, type Operation } from "../../../lib/operation/operation.ts";
import {
  applied,
  CHANGE_MS,
  type ChangeParts,
  PLAN_MS,
  planned,
  type Planner,
  reachedShape,
} from "./change.ts";
import { WITH_ROUTER } from "../host_roles.ts";

const config = z.string().min(1).max(900_000).describe("The whole router.toml.");
const digest = z.string().regex(/^[0-9a-f]{64}$/, "expected a SHA-256 in lower-case hex");

const NOT_CONFIGURED = refuse(
  "router_not_configured",
  "agent.toml does not say where router.toml is and how the router is restarted",
  "add `config`, `program`, `supervisor` and `unit` to `[router]`, and restart the agent",
);

/** The three. */
export function routerConfigOperations(
  parts: ChangeParts,
  router: RouterPorts | null,
): Operation[] {
  return [
    defineRead({
      name: "router.config-validate",
      brief: "What the installed router thinks of a configuration; changes nothing",
      effect: "read",
      roles: WITH_ROUTER,
      deadlineMs: PLAN_MS,
      input: z.strictObject({ config }),
      output: z.strictObject({
        valid: z.boolean(),
        digest: digest.nullable(),
        problems: z.array(z.strictObject({
          path: z.string(),
          code: z.string(),
          message: z.string(),
        })),
      }),
      run: async ({ config }, { signal }) => {
        if (router === null) return NOT_CONFIGURED;
        const judged = await router.program.check(config, signal);
        if (judged.kind === "valid") {
          return { kind: "ok", value: { valid: true, digest: judged.digest, problems: [] } };
        }
        if (judged.code !== "config_invalid") return judged;
        const problems = judged.problems.map(({ path, code, message }) => ({
          path,
          code,
          message,
        }));
        return { kind: "ok", value: { valid: false, digest: null, problems } };
      },
    }),
    defineMutation({
      name: "router.config-install",
      brief: "Install a configuration: validate, write, restart, and restore what does not run",
      effect: "mutate",
      destructive: true,
      roles: WITH_ROUTER,
      deadlineMs: CHANGE_MS,
      input: z.strictObject({
        config,
        expected: digest.optional().describe("What must stand there now; refused otherwise."),
      }),
      output: reachedShape,
      plan: async ({ config, expected = null }, { signal }) => {
        if (router === null) return NOT_CONFIGURED;
        const make = expecting(expected, installing(router, "install", config));
        const plan = await planned(parts, make, signal);
        return plan.kind === "ok" ? { kind: "ok", value: { ...plan.value, config } } : plan;
      },
      run: ({ digest, config }, context) =>
        router === null ? Promise.resolve(NOT_CONFIGURED) : applied(
          parts,
          { expected: digest, make: installing(router, "install", config), config },
          context,
        ),
    }),
    defineMutation({
      name: "router.config-restore",
      brief: "Install the configuration that a change replaced; the last one without its name",
      effect: "mutate",
      destructive: true,
      roles: WITH_ROUTER,
      deadlineMs: CHANGE_MS,
      input: z.strictObject({
        change: z.string().regex(/^\d{6}-[a-z]+$/, "expected a change, as 000007-install")
          .optional(),
      }),
      output: reachedShape,
      plan: async ({ change }, { signal }) => {
        if (router === null) return NOT_CONFIGURED;
        const old = await replacedBy(parts, change ?? null);
        if (old.kind === "refused") return old;
        const plan = await planned(parts, installing(router, "restore", old.text), signal);
        return plan.kind === "ok"
          ? { kind: "ok", value: { ...plan.value, from: old.id, config: old.text } }
          : plan;
      },
      run: ({ digest, config }, context) =>
        router === null ? Promise.resolve(NOT_CONFIGURED) : applied(
          parts,
          { expected: digest, make: installing(router, "restore", config), config },
          context,
        ),
    }),
  ];
}

function installing(router: RouterPorts, kind: "install" | "restore", text: string): Planner {
  return ({ facts: { node, topology } }, signal) =>
    planInstall(router, { kind, node, text, topology }, signal);
}

function expecting(expected: string | null, make: Planner): Planner {
  return async (ports, signal) => {
    const plan = await make(ports, signal);
    return plan.kind === "refused" || expected === null || plan.bound.config === expected
      ? plan
      : refuse(
        "config_changed",
        `observed config ${plan.bound.config?.slice(0, 12)}, expected ${expected.slice(0, 12)}`,
        "look at what stands there now",
      );
  };
}

/** The configuration that `change`, or the last one that has any, replaced. */
async function replacedBy(
  { store }: ChangeParts,
  change: string | null,
): Promise<{ readonly kind: "old"; readonly id: string; readonly text: string } | Refusal> {
  const names = await store.names();
  if ("kind" in names) return names;
  for (const id of names.toReversed()) {
    if (change !== null && id !== change) continue;
    const old = await store.config(id).kept("old");
    if (old === null) continue;
    return old.kind === "refused" ? old : { kind: "old", id, text: old.text };
  }
  return refuse(
    "config_not_kept",
    change === null ? "no change here replaced one" : `${change} kept none`,
    "see `promotion.status`; install the text from git by `router.config-install`",
  );
}
