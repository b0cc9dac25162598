/**
 * The receiver's own target configuration: everything a caller cannot say. Read anew, and looked at
 * anew, for every request.
 *
 * @module
 */

import { z } from "zod";
import { canonicalJson } from "../../lib/core/canonical_json.ts";
import { ID_PATTERN } from "../../lib/core/ids.ts";
import type { Checked } from "../../lib/core/problem.ts";
import { type Refusal, refuse } from "../../lib/core/refusal.ts";
import type { BootstrapCode } from "../../lib/bootstrap/codes.ts";
import { checkShape } from "../../lib/document/shape.ts";
import { readToml } from "../../lib/document/toml.ts";
import type { ReceiverPorts } from "./ports.ts";

/** No configuration is larger. */
const MOST_BYTES = 64 * 1024;

const folder = z.string().regex(/^(\/|[A-Za-z]:\\)[^\0]*$/, "expected an absolute path");
const seconds = (most: number) => z.int().min(1).max(most);

/** `receiver.toml`. */
export const targetShape = z.strictObject({
  schema: z.literal(1),
  node: z.string().regex(ID_PATTERN, "expected lower-case letters, digits and `-`, a letter first")
    .describe("This host's id in the topology."),
  bootstrap_authorized: z.boolean().describe(
    "Whether this host may be bootstrapped; without it only `identity` and `status` are answered.",
  ),
  root: folder.describe("Where generations, `current` and `previous` are."),
  state: folder.describe("Where the receiver's journal and lock are."),
  supervisor: z.enum(["systemd-user", "windows-task"]).describe("Who restarts the agent."),
  unit: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9:_.@-]{0,127}$/, "expected a name without spaces")
    .describe("The preprovisioned unit or task, as anvil-agent.service."),
  limits: z.strictObject({
    bundle_bytes: z.int().min(1).max(512 * 1024 * 1024).default(512 * 1024 * 1024)
      .describe("The largest archive that is taken."),
    stage_seconds: seconds(3600).default(900).describe("How long a bundle may take to arrive."),
    restart_seconds: seconds(600).default(60).describe("How long the supervisor may take."),
  }).prefault({}),
});

/** The configuration. */
export type TargetConfig = z.infer<typeof targetShape>;

/** The configuration with the digests that a plan is bound to. */
export interface Target {
  readonly kind: "ok";
  readonly config: TargetConfig;
  /** Of the file's bytes. */
  readonly configDigest: string;
  readonly rootsDigest: string;
}

/** Text to configuration, or every problem. */
export function parseTarget(text: string): Checked<TargetConfig> {
  const table = readToml(text);
  return table.kind === "invalid" ? table : checkShape(targetShape, table.model);
}

/** Reads the file at `path`. What is wrong with it goes to the host's log, not to the caller. */
export async function readTarget(
  { readOwned, sha256, remark, onTarget }: Pick<
    ReceiverPorts,
    "readOwned" | "sha256" | "remark" | "onTarget"
  >,
  path: string,
): Promise<Target | Refusal<BootstrapCode>> {
  const read = await readOwned(path, MOST_BYTES);
  if (read.kind === "refused") {
    remark(`${read.code}: ${read.cause}`);
    return read.code === "file_absent"
      ? refuse("precondition_failed", "this host has no target configuration")
      : refuse("config_unsafe", "the target configuration is not its owner's alone");
  }
  const checked = parseTarget(new TextDecoder().decode(read.bytes));
  if (checked.kind === "invalid") {
    for (const one of checked.problems) remark(`${one.code}: ${one.path}: ${one.message}`);
    return refuse("precondition_failed", "the target configuration is not valid");
  }
  const { root, state } = checked.model;
  onTarget?.({ root, state });
  return {
    kind: "ok",
    config: checked.model,
    configDigest: sha256(read.bytes).toHex(),
    rootsDigest: sha256(canonicalJson({ root, state })).toHex(),
  };
}
