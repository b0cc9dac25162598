/**
 * `router.toml` and `clients.toml` as the tests need them: small, quick timeouts, one tier.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { stringify } from "smol-toml";

/** A table of a TOML file. */
export type Section = Readonly<Record<string, unknown>>;

/** The served model of the one tier, which the engine fixture serves by default. */
export const MODEL = "org/model";
/** The alias that clients send. Not as long as the model: the body's length has to change. */
export const ALIAS = "llm.primary";
/** A token with the scope `infer`, as long as real ones and as easy to find in a text. */
export const TOKEN = `anvil_${"canary0".repeat(6)}T`;
/** A token with the scope `observe` alone. */
export const OBSERVER = `anvil_${"observe".repeat(6)}T`;

/** What a test's router is told. Sections are laid over the defaults, key by key. */
export interface RouterSettings {
  /** Ports of the members, all on 127.0.0.1. */
  readonly members: readonly number[];
  readonly tier?: Section;
  readonly limits?: Section;
  readonly timeouts?: Section;
  readonly admission?: Section;
  readonly probes?: Section;
  readonly aliases?: Section;
  /** Laid over the top level. */
  readonly top?: Section;
}

/** The file as a table. */
export function routerTable(settings: RouterSettings): Section {
  return {
    schema: 1,
    node: "test-node",
    listen: { data: "127.0.0.1:0", admin: "127.0.0.1:0" },
    auth: { clients: "clients.toml" },
    limits: { drain_seconds: 5, ...settings.limits },
    probes: { interval_ms: 100, timeout_ms: 1000, ...settings.probes },
    tiers: [{
      id: "primary",
      served_model: MODEL,
      dialects: ["openai-chat", "anthropic-messages"],
      identity: { kind: "openai-models" },
      media: ["image"],
      members: settings.members.map((port, index) => ({
        id: `m${index + 1}`,
        endpoint: `http://127.0.0.1:${port}`,
      })),
      admission: { in_flight: 64, queue: 64, queue_seconds: 5, ...settings.admission },
      timeouts: {
        connect_ms: 1000,
        first_byte_seconds: 10,
        idle_seconds: 10,
        ...settings.timeouts,
      },
      ...settings.tier,
    }],
    aliases: { [ALIAS]: "primary", ...settings.aliases },
    ...settings.top,
  };
}

/** The file as text. */
export function routerToml(settings: RouterSettings): string {
  return `${stringify(routerTable(settings))}\n`;
}

/** The clients file of {@link TOKEN} and {@link OBSERVER}. */
export function clientsToml(): string {
  const client = (name: string, scope: string, token: string) => ({
    name,
    scopes: [scope],
    tokens: [{
      id: `tk-${name}`,
      sha256: createHash("sha256").update(token).digest("hex"),
      created_at: "2026-01-01T00:00:00Z",
    }],
  });
  const clients = [client("tester", "infer", TOKEN), client("watcher", "observe", OBSERVER)];
  return `${stringify({ schema: 1, clients })}\n`;
}
