/**
 * Gates and probes as `adopter.toml` declares them, by their kind.
 *
 * @module
 */

import { z } from "zod";
import { COMPARISONS } from "../../lib/adoption/gates/http_gates.ts";
import { parseIpAndPort } from "../../lib/core/address.ts";
import { fault } from "../../lib/document/shape.ts";

const whole = (least: number, most: number) => z.int().min(least).max(most);
const name = z.string().regex(/^[a-z][a-z0-9-]{0,62}$/, "expected lower-case letters, digits, `-`");
const unit = z.string().regex(/^[A-Za-z0-9:_.@\\-]{1,200}$/, "expected the name of a unit");
const port = whole(1, 65_535);
const argv = z.array(z.string().min(1)).min(1).max(64);
const value = z.union([z.string(), z.number(), z.boolean()]);
const target = z.string().regex(/^\/[\x21-\x7e]*$/, "expected a path that begins with /");

const endpoint = z.string().transform((text, ctx) => {
  const parsed = parseIpAndPort(text);
  if (parsed !== null) return parsed;
  ctx.addIssue(fault("address_malformed", "expected a literal IP and a port, as 127.0.0.1:8766"));
  return z.NEVER;
});

const tokenFile = z.string().min(1).optional().describe(
  "File with a bearer token, mode 0600, relative to this file.",
);

const common = {
  name: name.describe("How reasons and evidence call it."),
  deadline_seconds: whole(1, 120).default(10).describe("Without an answer by then: unknown."),
};

const gate = {
  ...common,
  idle_minutes: whole(0, 1440).default(0).describe("Clear only when it was clear for so long."),
};

/** One gate. */
export const gateShape = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("unit"),
    ...gate,
    units: z.array(unit).min(1).max(32).describe("Busy while one of them is active."),
  }),
  z.strictObject({
    kind: z.literal("router"),
    ...gate,
    admin: endpoint.describe("The admin listener of the router on this host."),
    token_file: tokenFile,
  }),
  z.strictObject({
    kind: z.literal("llama-swap"),
    ...gate,
    address: endpoint.describe("Where llama-swap listens."),
    token_file: tokenFile,
  }),
  z.strictObject({
    kind: z.literal("http-json"),
    ...gate,
    address: endpoint.describe("Where the server listens."),
    target: target.describe("The path that is asked for."),
    token_file: tokenFile,
    path: z.string().min(1).describe("Where the value is, as `jobs[0].state`."),
    compare: z.enum(COMPARISONS).default("==").describe("How it is compared."),
    value: value.describe("With what: clear when it compares so."),
  }),
  z.strictObject({
    kind: z.literal("tcp"),
    ...gate,
    ports: z.array(port).min(1).max(32).describe("Busy while a connection to one is established."),
  }),
  z.strictObject({
    kind: z.literal("activation"),
    ...gate,
    locks: z.array(z.string().min(1)).min(1).max(8).describe(
      "Lock files of other activations, as /run/nixos/switch-to-configuration.lock.",
    ),
  }),
  z.strictObject({
    kind: z.literal("disk"),
    ...gate,
    path: z.string().min(1).describe("A path on the file system of the store."),
    spare_mib: whole(0, 10_000_000).default(1024).describe("What stays free when all is here."),
    boot: z.string().min(1).optional().describe("Where kernels go."),
    boot_mib: whole(1, 10_000).default(128).describe("What must be free there."),
  }),
  z.strictObject({
    kind: z.literal("pressure"),
    ...gate,
    resource: z.enum(["cpu", "memory", "io"]).describe("Which pressure."),
    measure: z.enum(["some", "full"]).default("some").describe("Some tasks wait, or all."),
    percent: whole(0, 100).default(20).describe("Busy above this, over ten seconds."),
  }),
  z.strictObject({ kind: z.literal("power"), ...gate }),
  z.strictObject({
    kind: z.literal("exec"),
    ...gate,
    argv: argv.describe("Program and arguments: exit 0 clear, 1 busy, anything else unknown."),
  }),
]);

const probe = {
  ...common,
  required: z.boolean().default(true).describe(
    "Unknown before the switch stops the attempt: nothing could be judged after.",
  ),
};

/** One probe. */
export const probeShape = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("unit"),
    ...probe,
    units: z.array(unit).min(1).max(32).describe("All active; their restarts are counted."),
  }),
  z.strictObject({
    kind: z.literal("failed-units"),
    ...probe,
    ignore: z.array(unit).max(64).default([]).describe("Units that may fail."),
  }),
  z.strictObject({
    kind: z.literal("http-json"),
    ...probe,
    address: endpoint.describe("Where the server listens."),
    target: target.describe("The path that is asked for: 200 and JSON."),
    token_file: tokenFile,
    path: z.string().min(1).optional().describe("Where the value is; without it any JSON will do."),
    compare: z.enum(COMPARISONS).default("==").describe("How it is compared."),
    value: value.optional().describe("With what."),
  }),
  z.strictObject({
    kind: z.literal("tcp"),
    ...probe,
    address: endpoint.describe("Somebody accepts connections there."),
  }),
  z.strictObject({
    kind: z.literal("mount"),
    ...probe,
    path: z.string().min(1).describe("A file system is mounted there."),
  }),
  z.strictObject({
    kind: z.literal("command"),
    ...probe,
    argv: argv.describe("Program and arguments: exit 0 passes, 1 fails, anything else unknown."),
  }),
]);

/** A declared gate. */
export type GateConfig = z.infer<typeof gateShape>;
/** A declared probe. */
export type ProbeConfig = z.infer<typeof probeShape>;
