/**
 * The room table: what every folder under lib/ and roles/ may import, use and touch.
 *
 * `plugin.ts` enforces it in `deno lint`; `table_test.ts` compares it with the tree. A room that is
 * not here does not exist. Widening a row is a decision: say why in docs/decisions.
 *
 * @module
 */

/**
 * How much of the world a room sees.
 * - `pure`: values in, values out. No time, no chance, no network, no console, no Deno, no node:*.
 * - `ports`: acts through ports it is given. No Deno, no fetch, no node:*.
 * - `world`: touches Deno, node:* and fetch. Only `host` and `testing`.
 */
export type Reach = "pure" | "ports" | "world";

/** One row. */
export interface Room {
  readonly reach: Reach;
  /** Rooms whose values and types it may import. Its own files always. */
  readonly imports: readonly string[];
  /** Rooms of which it may import types only, besides `imports`. */
  readonly types: readonly string[];
  /** npm packages, by the bare names of deno.json. */
  readonly packages: readonly string[];
  /** Designed but not begun: the folder must not hold a file yet. */
  readonly planned?: true;
}

/** Rooms that decide in values. They know `core` and each other's types, never `host`. */
const PURE = [
  "topology",
  "admission",
  "relay",
  "intake",
  "identity",
  "adoption",
  "bootstrap",
  "evidence",
  "dispatch",
] as const;

const CORE = ["core"] as const;
const HOST = ["core", "host"] as const;

/** lib/: a later row may lean on an earlier one, never the other way round. */
export const ROOMS: Readonly<Record<string, Room>> = {
  core: { reach: "pure", imports: [], types: [], packages: [] },
  terminal: { reach: "pure", imports: CORE, types: [], packages: ["@stricli/core"] },
  document: { reach: "pure", imports: CORE, types: [], packages: ["smol-toml", "zod"] },
  host: {
    reach: "world",
    imports: CORE,
    types: ["relay", "intake"], // the ports it implements
    packages: ["@logtape/logtape", "@logtape/redaction"],
  },
  credential: {
    reach: "ports",
    imports: [...HOST, "document", "terminal"],
    types: [],
    packages: ["@stricli/core", "zod"],
  },
  topology: {
    reach: "pure",
    imports: ["core", "document"],
    types: PURE,
    packages: ["zod"],
  },
  admission: { reach: "pure", imports: CORE, types: PURE, packages: [] },
  relay: { reach: "pure", imports: CORE, types: PURE, packages: [] },
  intake: { reach: "pure", imports: ["core", "relay"], types: PURE, packages: [] },
  identity: { reach: "pure", imports: CORE, types: PURE, packages: [] },
  serves: {
    reach: "ports",
    // The words of a host's memory and of an engine's proof: decision 0050.
    imports: [...HOST, "document", "topology", "identity"],
    types: PURE,
    packages: ["zod"],
  },
  operation: {
    reach: "ports",
    imports: [...HOST, "document"],
    types: [...PURE, "serves"],
    packages: ["zod"],
  },
  generation: { reach: "ports", imports: HOST, types: PURE, packages: ["zod"] },
  adoption: {
    reach: "ports", // the drivers of backends, gates and probes act: decision 0070
    imports: [...CORE, "generation"],
    types: PURE,
    packages: ["zod"],
  },
  bootstrap: { reach: "pure", imports: CORE, types: PURE, packages: ["zod"] },
  evidence: {
    reach: "pure",
    imports: [...CORE, "document", "topology", "adoption"], // decision 0100
    types: PURE,
    packages: ["zod"],
  },
  benchmark: {
    reach: "pure",
    imports: ["core", "adoption", "evidence"], // decision 0105
    types: PURE,
    packages: ["zod"],
  },
  home: {
    reach: "ports",
    imports: [...HOST, "document", "topology", "serves", "generation"], // serves: decision 0050
    types: PURE,
    packages: ["diff", "zod"], // diff: decision 0115
  },
  dispatch: { reach: "pure", imports: ["core", "topology"], types: PURE, packages: [] },
  testing: {
    reach: "world",
    imports: [
      ...[
        "core",
        "document",
        "host",
        "credential",
        "topology",
        "admission",
        "relay",
        "intake",
        "identity",
        "serves",
        "operation",
      ],
      ...["generation", "adoption", "bootstrap", "evidence", "benchmark", "home", "dispatch"],
    ],
    types: [],
    packages: ["fast-check", "@logtape/logtape", "zod"],
  },
};

const EVERY_ROOM_BUT_TESTING = Object.keys(ROOMS).filter((name) => name !== "testing");

const ROLE: Room = {
  reach: "ports", // main.ts alone wires ports, and so touches Deno
  imports: EVERY_ROOM_BUT_TESTING,
  types: [],
  packages: ["@modelcontextprotocol/sdk", "@stricli/core", "prom-client", "zod"],
};

/** roles/: a role never imports another role. */
export const ROLES: Readonly<Record<string, Room>> = {
  router: ROLE,
  agent: ROLE,
  adopter: ROLE,
  receiver: ROLE,
  publisher: ROLE,
  operator: { ...ROLE, packages: [...ROLE.packages, "hono"] }, // the dashboard: decision 0120
};

/** What only tests may import, besides what their room may. */
export const TEST_PACKAGES: readonly string[] = [
  "fast-check",
  "openai",
  "@anthropic-ai/sdk",
  "ai",
  "@ai-sdk/openai-compatible",
  "@ai-sdk/anthropic",
  "axe-core",
  "puppeteer-core",
];

/** Names no part of the tree may use for a file: they say nothing about what is inside. */
export const EMPTY_NAMES: readonly string[] = ["utils", "helpers", "manager", "service", "base"];

/** Lines a source under lib/ or roles/ may have. */
export const MOST_LINES = 400;

/**
 * Globals a pure room may not name at all. A port of the same name gets another name: shadowing one
 * of these in a room that has none of them would only puzzle the reader.
 */
export const PURE_BANNED: readonly string[] = [
  ...["Deno", "globalThis", "self", "window", "process"],
  ...["fetch", "WebSocket", "WebSocketStream", "EventSource", "XMLHttpRequest", "Worker"],
  ...["setTimeout", "setInterval", "setImmediate", "requestAnimationFrame", "performance"],
  ...["console", "alert", "confirm", "prompt", "navigator"],
  ...["localStorage", "sessionStorage", "caches", "BroadcastChannel", "eval"],
];

/** Globals of which a pure room may use some members: only these, or all but these. */
export const PURE_MEMBERS: Readonly<
  Record<string, { readonly rule: "only" | "all but"; readonly names: readonly string[] }>
> = {
  Date: { rule: "only", names: ["UTC", "parse"] }, // and `new Date(ms)`
  Math: { rule: "all but", names: ["random"] },
  crypto: { rule: "only", names: ["subtle"] },
  AbortSignal: { rule: "all but", names: ["timeout"] },
  Temporal: { rule: "all but", names: ["Now"] },
};
