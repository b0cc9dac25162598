/**
 * An alias of this host's router as a target: which tier it means in the configuration that runs, and
 * the key of a client that the owner made for benchmarks (decision 0106).
 *
 * @module
 */

import { z } from "zod";
import { hex } from "../../../lib/core/ids.ts";
import { type Refusal, refuse } from "../../../lib/core/refusal.ts";
import { checkShape } from "../../../lib/document/shape.ts";
import { readToml } from "../../../lib/document/toml.ts";
import { textOf } from "../../../lib/credential/roster_file.ts";
import { sha256 } from "../../../lib/host/digest.ts";
import { tokenOf } from "../../../lib/serves/machines/router_client.ts";
import { subjectOf, type Target, type TargetPorts, targetUnknown, unproven } from "./target.ts";

const MOST_CONFIG_BYTES = 2 * 1024 * 1024;

const tierShape = z.looseObject({
  id: z.string(),
  served_model: z.string(),
  revision: z.string().optional(),
  engine: z.string().optional(),
  engine_version: z.string().optional(),
  image_digest: z.string().optional(),
  config_digest: z.string().optional(),
});
const viewShape = z.looseObject({
  tiers: z.array(tierShape).default([]),
  aliases: z.record(z.string(), z.string()).default({}),
});

/** The alias called `alias`. */
export async function aliasTarget(
  ports: TargetPorts,
  alias: string,
  signal: AbortSignal,
): Promise<Target | Refusal> {
  const { config, files, router } = ports;
  const at = config.router?.config ?? config.serves?.router;
  const client = config.benchmarks?.router;
  if (client === undefined || router === null || at === undefined) {
    return refuse(
      "benchmark_router_not_configured",
      "agent.toml does not say how benchmarks ask the router",
      "see docs/guides/benchmarks.md: `[router]`, its `config`, and `[benchmarks.router]`",
    );
  }
  const running = await runningConfig(ports, at, signal);
  if ("kind" in running) return running;
  const { digest, aliases, tiers } = running;
  const tier = tiers.find(({ id }) => id === aliases[alias]);
  if (tier === undefined) {
    const known = Object.keys(aliases).join(", ") || "none";
    return targetUnknown(`the router has no alias ${alias}; it has ${known}`);
  }
  const key = await tokenOf(files, client.key_file);
  if (key === null || key.kind === "refused") {
    return refuse(
      "benchmark_key_unusable",
      `the key of benchmarks: ${key?.detail ?? "there is none"}`,
      "one router token of scope `infer` in a file of mode 0600",
    );
  }
  return {
    door: { endpoint: client.data, model: alias, key: key.secret, tier: tier.id },
    subject: await subjectBehind(ports, tier),
    through: { kind: "router", alias, tier: tier.id, router_config: digest },
    // The router relays to members alone that proved the tier's model.
    prove: async (until) => {
      const told = await router.status(until);
      if (told.kind === "refused") return refuse(told.code, told.detail, told.nextStep);
      if (told.digest !== digest) return differs();
      const now = told.tiers.find((one) => one.tier === tier.id);
      return now?.readiness === "ready"
        ? null
        : unproven(alias, "no member of its tier is ready, by the router's own probes");
    },
  };
}

interface Running {
  readonly digest: string;
  readonly tiers: readonly z.infer<typeof tierShape>[];
  readonly aliases: Readonly<Record<string, string>>;
}

/** What `router.toml` says, if it is what the router runs. */
async function runningConfig(
  { files, router }: TargetPorts,
  path: string,
  signal: AbortSignal,
): Promise<Running | Refusal> {
  const told = await router?.status(signal);
  if (told === undefined || told.kind === "refused") {
    return told === undefined ? differs() : refuse(told.code, told.detail, told.nextStep);
  }
  const read = await files.readBounded(path, MOST_CONFIG_BYTES);
  if (read.kind === "absent") return refuse("config_absent", "there is no router.toml here");
  if (read.kind === "refused") return refuse(read.code, read.detail);
  const digest = hex(sha256(read.bytes));
  if (digest !== told.digest) return differs();
  const table = readToml(textOf(read.bytes) ?? "");
  const shaped = table.kind === "ok" ? checkShape(viewShape, table.model) : table;
  return shaped.kind === "ok"
    ? { digest, tiers: shaped.model.tiers, aliases: shaped.model.aliases }
    : refuse("config_not_understood", "router.toml has no tiers that can be read");
}

/** Another file than the one that runs would name another model. */
function differs(): Refusal {
  return refuse(
    "benchmark_router_differs",
    "the router runs another configuration than the file this agent reads",
    "install the file, or restart the router",
  );
}

/** What the tier declares, and what its serve adds, where this host's manifest has one. */
async function subjectBehind(
  { config, openServes }: TargetPorts,
  tier: z.infer<typeof tierShape>,
): Promise<Target["subject"]> {
  const host = config.serves === undefined ? null : await openServes();
  const serve = host === null || "code" in host
    ? undefined
    : host.serves.find((one) => one.tier === tier.id);
  const declared = serve === undefined ? null : subjectOf(serve);
  const { image_digest: image = "", config_digest: configured = "" } = tier;
  return {
    model: declared?.model ?? tier.served_model,
    revision: tier.revision ?? declared?.revision ?? null,
    quantization: declared?.quantization ?? null,
    served_model: tier.served_model,
    engine: tier.engine ?? declared?.engine ?? "unknown",
    engine_version: tier.engine_version ?? null,
    image_digest: /sha256:[0-9a-f]{64}$/.exec(image)?.[0] ?? declared?.image_digest ?? null,
    config_digest: /^[0-9a-f]{64}$/.test(configured) ? configured : declared?.config_digest ?? null,
  };
}
