/**
 * The shape of `serves.toml`: one zod schema, from which the JSON Schema for editors is made too.
 *
 * A serve is docker or native, never both and never assumed: `runtime` decides which keys there are.
 *
 * @module
 */

import { z } from "zod";
import { ID_PATTERN } from "../core/ids.ts";
import { IDENTITY_KINDS } from "../identity/kinds.ts";
import { CAPABILITY_PATTERN } from "../topology/vocabulary.ts";

const id = z.string().regex(
  ID_PATTERN,
  "expected lower-case letters, digits and `-`, a letter first",
);
const whole = (least: number, most: number) => z.int().min(least).max(most);
const mib = whole(1, 1_073_741_824);
/** One argument or name: goes into argv as it is. */
const text = (most: number) =>
  z.string().min(1).max(most).regex(/^\P{Cc}*$/u, "expected no control characters");
const argument = z.string().max(8192).regex(/^\P{Cc}*$/u, "expected no control characters");
const absolute = text(1024).regex(
  /^(\/|[A-Za-z]:\\)(?!.*(?:^|[/\\])\.\.(?:[/\\]|$))/,
  "expected an absolute path without `..`",
);
const file = text(1024);
const envName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, "expected a variable's name");

/** Which supervisors a native serve may have. */
export const SUPERVISORS = ["systemd-user", "systemd-system", "launchd", "windows-task"] as const;
/** How long a serve stays: always, until something needs its memory, or only when asked for. */
export const RESIDENCIES = ["resident", "evictable", "on-demand"] as const;

/** What a serve takes of its host's memory, as written. */
export const memoryShape = z.union([
  z.strictObject({
    device: id.describe("A device of the host in the topology."),
    mib: mib.describe("What the serve takes of it."),
  }),
  z.strictObject({
    devices: z.array(id).min(2).max(64).describe("Devices of the host, for a model that is split."),
    mib: mib.describe("What the serve takes of each."),
  }),
  z.strictObject({
    unified_mib: mib.describe("What the serve takes of the host's one memory."),
  }),
]);

const common = {
  name: id.describe("Unique on its host."),
  capability: z.string().regex(CAPABILITY_PATTERN, "expected ids joined by dots, as llm.primary"),
  port: whole(1, 65_535).describe("Where the engine listens on this host; unique on it."),
  model: z.strictObject({
    id: text(256).describe("The model, as its publisher names it."),
    revision: text(128).describe("Exactly which one: a commit, or a digest of the weights."),
    quantization: text(64).optional(),
  }),
  served_model: text(256).optional().describe(
    "What the engine calls it, where that is not `model.id`.",
  ),
  engine: text(64).describe("As vllm, sglang, llama-server, mlx-lm."),
  memory: memoryShape,
  residency: z.enum(RESIDENCIES),
  mode: id.optional().describe(
    "The exclusive mode this serve belongs to; without it, it runs outside of modes.",
  ),
  tier: id.describe("The tier of this host's router that asks it."),
  health: text(256).regex(/^\/[\x21-\x7e]*$/, "expected a path, as /health").describe(
    "Answered with 200 once the model is loaded.",
  ),
  identity: z.strictObject({
    kind: z.enum([...IDENTITY_KINDS, "agent"]).describe(
      "How the engine proves what it serves; `agent`: by the process that owns the port alone.",
    ),
  }),
  start_seconds: whole(1, 7200).default(900).describe("How long loading may take."),
  stop_grace_seconds: whole(1, 3600).describe("How long it may take to end when asked to."),
  depends: z.array(id).max(32).default([]).describe("Serves that must run before this one starts."),
  env: z.array(envName).max(128).default([]).describe(
    "Names of variables; their values stand in `env_file` alone.",
  ),
  env_file: file.optional().describe(
    "NAME=VALUE lines, mode 0600, relative to this file. Required with `env`.",
  ),
} as const;

/** What every serve has, whatever runs it; other keys are not looked at. */
export const commonServeShape = z.looseObject(common);

const mount = z.strictObject({
  source: absolute.describe("On the host."),
  target: absolute.describe("In the container."),
  read_only: z.boolean().default(true),
});

/** How a container is made when there is no compose file. */
export const runShape = z.strictObject({
  entrypoint: z.array(argument).min(1).max(16).optional(),
  args: z.array(argument).max(512).default([]),
  network: z.string().regex(/^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,127}$/, "expected a network's name")
    .default("host").describe("`host`, or a network that exists."),
  container_port: whole(1, 65_535).optional().describe(
    "Where it listens inside; published at 127.0.0.1 and `port`. Not with the host's network.",
  ),
  gpus: z.enum(["nvidia", "none"]).default("nvidia").describe(
    "`nvidia`: the devices of `memory` are given to it, and no other.",
  ),
  devices: z.array(absolute).max(32).default([]).describe("Device nodes, as /dev/kfd."),
  mounts: z.array(mount).max(32).default([]),
  shm_mib: whole(1, 1_048_576).default(64),
  user: z.string().regex(/^[a-z0-9_][a-z0-9_-]*(:[a-z0-9_][a-z0-9_-]*)?$/, "expected user[:group]")
    .optional(),
  read_only: z.boolean().default(false).describe("Its own file system cannot be written."),
});

/** A serve in a container. */
export const dockerServeShape = z.strictObject({
  ...common,
  runtime: z.literal("docker"),
  container: z.string().regex(
    /^[a-zA-Z0-9][a-zA-Z0-9_.-]{1,127}$/,
    "expected a container's name",
  ).describe("The container's name; required for docker, forbidden for native."),
  image: z.string().max(512).regex(
    /^([a-z0-9][A-Za-z0-9._:/-]*@)?sha256:[0-9a-f]{64}$/,
    "expected NAME@sha256:…, or the sha256:… of an image made on this host; a tag can move",
  ).describe("The image, by digest."),
  run: runShape.optional().describe("How the container is made; either this or `compose`."),
  compose: z.strictObject({
    file: file.describe("Relative to this file."),
    service: text(128),
  }).optional().describe("The container is made by compose beforehand; only started and stopped."),
});

/** A serve under a supervisor of the operating system. */
export const nativeServeShape = z.strictObject({
  ...common,
  runtime: z.literal("native"),
  argv: z.array(argument).min(1).max(512).describe("Program and arguments, without a shell."),
  cwd: absolute,
  supervisor: z.enum(SUPERVISORS),
  unit: text(256).regex(
    /^[A-Za-z0-9\\][A-Za-z0-9:_.@\\-]*$/,
    "expected the name of a unit, job or task",
  ).describe("As anvil-primary.service, org.example.primary or \\Anvil\\primary."),
});

/** One `[[serve]]` table. */
export const serveShape = z.discriminatedUnion("runtime", [dockerServeShape, nativeServeShape]);

/** The whole file. */
export const manifestShape = z.strictObject({
  schema: z.literal(1),
  serve: z.array(serveShape).max(256).default([]),
});

/** A host's serves. */
export type Manifest = z.infer<typeof manifestShape>;
/** One serve of it. */
export type Serve = z.infer<typeof serveShape>;
/** A serve in a container. */
export type DockerServe = z.infer<typeof dockerServeShape>;
/** A serve under a supervisor. */
export type NativeServe = z.infer<typeof nativeServeShape>;
/** One of {@link SUPERVISORS}. */
export type Supervisor = (typeof SUPERVISORS)[number];

/** What a serve takes of its host's memory. */
export type Claim =
  | {
    readonly kind: "discrete";
    readonly devices: readonly { readonly device: string; readonly mib: number }[];
  }
  | { readonly kind: "unified"; readonly mib: number };

/** The memory of `serve` in one form. */
export function claimOf({ memory }: Pick<Serve, "memory">): Claim {
  if ("unified_mib" in memory) return { kind: "unified", mib: memory.unified_mib };
  const devices = "device" in memory ? [memory.device] : memory.devices;
  return { kind: "discrete", devices: devices.map((device) => ({ device, mib: memory.mib })) };
}

/** The name the engine must prove it serves. */
export function servedModel(serve: Pick<Serve, "model" | "served_model">): string {
  return serve.served_model ?? serve.model.id;
}
