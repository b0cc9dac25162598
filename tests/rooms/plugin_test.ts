import assert from "node:assert/strict";
import plugin from "./plugin.ts";

/** One snippet in one file, and the rules that must speak: none for a good one. */
interface Case {
  readonly file: string;
  readonly source: string;
  readonly says: readonly string[];
}

const IMPORTS = "rooms/imports";
const PURE = "rooms/pure";
const WORLD = "rooms/world";

function good(file: string, source: string): Case {
  return { file, source, says: [] };
}

function bad(file: string, source: string, ...says: string[]): Case {
  return { file, source, says };
}

const CASES: readonly Case[] = [
  // Imports point down.
  good("lib/relay/a.ts", `import { refuse } from "../core/refusal.ts"; refuse;`),
  good("lib/relay/a.ts", `import { x } from "./b.ts"; x;`),
  good("lib/relay/deep/a.ts", `import { x } from "../b.ts"; x;`),
  good(
    "lib/relay/a.ts",
    `import type { Lease } from "../admission/gate.ts"; export type L = Lease;`,
  ),
  good(
    "lib/relay/a.ts",
    `import { type Lease } from "../admission/gate.ts"; export type L = Lease;`,
  ),
  good("lib/relay/a.ts", `export type L = import("../admission/gate.ts").Lease;`),
  bad("lib/relay/a.ts", `import { gate } from "../admission/gate.ts"; gate;`, IMPORTS),
  bad("lib/relay/a.ts", `import "../admission/gate.ts";`, IMPORTS),
  bad("lib/relay/a.ts", `import { type L, gate } from "../admission/gate.ts"; gate;`, IMPORTS),
  bad("lib/relay/a.ts", `export { gate } from "../admission/gate.ts";`, IMPORTS),
  bad("lib/relay/a.ts", `export * from "../admission/gate.ts";`, IMPORTS),
  bad("lib/relay/a.ts", `await import("../admission/gate.ts");`, IMPORTS),
  bad("lib/relay/a.ts", `const n = "../host/x.ts"; await import(n);`, IMPORTS),
  bad("lib/relay/a.ts", `import type { F } from "../host/files.ts"; export type G = F;`, IMPORTS),
  bad("lib/relay/a.ts", `export type L = import("../host/files.ts").F;`, IMPORTS),
  bad("lib/relay/a.ts", `import { x } from "../../lib/host/files.ts"; x;`, IMPORTS),
  bad("lib/core/a.ts", `import { x } from "../relay/b.ts"; x;`, IMPORTS),
  bad("lib/core/a.ts", `import type { X } from "../relay/b.ts"; export type Y = X;`, IMPORTS),
  good(
    "lib/host/a.ts",
    `import type { Upstream } from "../relay/upstream.ts"; export type U = Upstream;`,
  ),
  bad("lib/host/a.ts", `import { x } from "../relay/headers.ts"; x;`, IMPORTS),
  // Roles.
  good("roles/router/app.ts", `import { x } from "../../lib/relay/b.ts"; x;`),
  bad("roles/router/app.ts", `import { x } from "../agent/app.ts"; x;`, IMPORTS),
  bad("lib/host/a.ts", `import { x } from "../../roles/router/app.ts"; x;`, IMPORTS),
  bad("roles/router/app.ts", `import { x } from "../../tests/fixtures/b.ts"; x;`, IMPORTS),
  bad("roles/router/app.ts", `import { x } from "../../scripts/b.ts"; x;`, IMPORTS),
  // Tests see more.
  good("roles/router/app_test.ts", `import { x } from "../../tests/fixtures/b.ts"; x;`),
  good("lib/relay/a_test.ts", `import { x } from "../testing/b.ts"; x;`),
  good("tests/flow/a_test.ts", `import { x } from "../../lib/testing/b.ts"; x;`),
  good("lib/testing/a.ts", `import { x } from "./b.ts"; import { y } from "../host/c.ts"; x; y;`),
  good("lib/testing/a.ts", `import { x } from "../../tests/fixtures/b.ts"; x;`),
  bad("lib/relay/a.ts", `import type { X } from "../testing/b.ts"; export type Y = X;`, IMPORTS),
  bad("roles/router/main.ts", `import { x } from "../../lib/testing/b.ts"; x;`, IMPORTS),
  bad("scripts/a.ts", `import { x } from "../lib/testing/b.ts"; x;`, IMPORTS),
  bad("lib/relay/a_test.ts", `import { x } from "../host/b.ts"; x;`, IMPORTS),
  bad("lib/relay/a.ts", `import { x } from "./b_test.ts"; x;`, IMPORTS),
  // Packages.
  good("lib/document/a.ts", `import { z } from "zod"; z;`),
  good("lib/relay/a_test.ts", `import fc from "fast-check"; fc;`),
  good("roles/router/a.ts", `import { buildCommand } from "@stricli/core"; buildCommand;`),
  bad("lib/relay/a.ts", `import { z } from "zod"; z;`, IMPORTS),
  bad("lib/relay/a.ts", `import { z } from "zod/mini"; z;`, IMPORTS),
  bad("lib/document/a.ts", `import fc from "fast-check"; fc;`, IMPORTS),
  bad("roles/router/a.ts", `import OpenAI from "openai"; OpenAI;`, IMPORTS),
  bad("lib/document/a.ts", `import { z } from "npm:zod@4"; z;`, IMPORTS),
  bad("lib/host/a.ts", `import { x } from "https://example.com/x.ts"; x;`, IMPORTS),
  // node:*
  good("lib/host/a.ts", `import { join } from "node:path"; join;`),
  good("lib/relay/a_test.ts", `import assert from "node:assert/strict"; assert;`),
  good("roles/router/a.ts", `import { timingSafeEqual } from "node:crypto"; timingSafeEqual;`),
  bad("lib/relay/a.ts", `import { join } from "node:path"; join;`, IMPORTS),
  // Every file stands in a room.
  bad("lib/cellar/a.ts", `export const x = 1;`, IMPORTS),
  bad("lib/a.ts", `export const x = 1;`, IMPORTS),
  bad("roles/butler/main.ts", `export const x = 1;`, IMPORTS),
  // Pure rooms: time.
  good("lib/relay/a.ts", `export const t = (ms: number) => new Date(ms).toISOString();`),
  good(
    "lib/relay/a.ts",
    `Date.parse("x"); Date.UTC(2000); export const d = (x: unknown) => x instanceof Date;`,
  ),
  bad("lib/relay/a.ts", `Date.now();`, PURE),
  bad("lib/relay/a.ts", `Date["now"]();`, PURE),
  bad("lib/relay/a.ts", `const k = "now"; Date[k];`, PURE),
  bad("lib/relay/a.ts", `new Date();`, PURE),
  bad("lib/relay/a.ts", `Date();`, PURE),
  bad("lib/relay/a.ts", `const none: [] = []; new Date(...none);`, PURE),
  bad("lib/relay/a.ts", `const { now } = Date; now();`, PURE),
  bad("lib/relay/a.ts", `setTimeout(() => {}, 1);`, PURE),
  bad("lib/relay/a.ts", `setInterval(() => {}, 1);`, PURE),
  bad("lib/relay/a.ts", `performance.now();`, PURE),
  bad("lib/relay/a.ts", `AbortSignal.timeout(1);`, PURE),
  good("lib/relay/a.ts", `AbortSignal.any([]);`),
  bad("lib/relay/a.ts", `Temporal.Now.instant();`, PURE),
  // Pure rooms: chance.
  good("lib/relay/a.ts", `Math.max(1, 2);`),
  bad("lib/relay/a.ts", `Math.random();`, PURE),
  bad("lib/relay/a.ts", `const { random } = Math; random();`, PURE),
  bad("lib/relay/a.ts", `crypto.getRandomValues(new Uint8Array(1));`, PURE),
  bad("lib/relay/a.ts", `crypto.randomUUID();`, PURE),
  good("lib/relay/a.ts", `crypto.subtle.digest("SHA-256", new Uint8Array(1));`),
  // Pure rooms: the world.
  bad("lib/relay/a.ts", `fetch("x");`, PURE, WORLD),
  bad("lib/relay/a.ts", `const f = { fetch }; f;`, PURE, WORLD),
  bad("lib/relay/a.ts", `(fetch as unknown);`, PURE, WORLD),
  bad("lib/relay/a.ts", `globalThis.fetch("x");`, PURE),
  bad("lib/relay/a.ts", `console.log("x");`, PURE),
  bad("lib/relay/a.ts", `Deno.readTextFileSync("x");`, PURE, WORLD),
  good("lib/relay/a.ts", `export interface Port { fetch(): void; Deno: number; console: string }`),
  good("lib/relay/a.ts", `export const f = (port: { fetch(): void }) => port.fetch();`),
  good("lib/relay/a.ts", `export const o = { Deno: 1, fetch: 2, performance: 3 };`),
  good("lib/relay/a.ts", `export class C { fetch = 1; console() {} }`),
  good("lib/relay/a.ts", `export type Connection = Deno.Conn; export type F = typeof fetch;`),
  // Tests beside pure sources may touch anything.
  good("lib/relay/a_test.ts", `Deno.test("x", () => { Date.now(); setTimeout(() => {}, 1); });`),
  // Rooms that act through ports.
  bad("lib/serves/a.ts", `Deno.cwd();`, WORLD),
  bad("lib/serves/a.ts", `fetch("x");`, WORLD),
  bad("lib/serves/a.ts", `globalThis.Deno.cwd();`, WORLD),
  bad("lib/serves/a.ts", `globalThis["De" + "no"];`, WORLD),
  bad("lib/serves/a.ts", `import { join } from "node:path"; join;`, IMPORTS),
  good("lib/serves/a.ts", `export const later = () => setTimeout(() => {}, 1);`),
  // Deno is for the host and for main.ts; only main.ts exits.
  good("lib/host/a.ts", `Deno.cwd(); fetch("x"); Date.now();`),
  good("roles/router/main.ts", `Deno.exit(Deno.args.length);`),
  bad("roles/router/app.ts", `Deno.cwd();`, WORLD),
  bad("roles/router/deep/main.ts", `Deno.cwd();`, WORLD),
  bad("lib/host/a.ts", `Deno.exit(1);`, WORLD),
  bad("lib/host/a.ts", `import process from "node:process"; process.exit(1);`, WORLD),
  bad("lib/host/a_test.ts", `Deno.exit(1);`, WORLD),
  good("lib/testing/a.ts", `Deno.exit(1);`), // a child that tests start
  // Outside lib/ and roles/ there are no rooms.
  good("tests/process/a_test.ts", `import { x } from "../../roles/agent/b.ts"; x; Deno.exit(0);`),
  good("scripts/a.ts", `Deno.exit(0);`),
];

/** The rules that spoke, each once, in order of name. */
function rulesThatSpeak(file: string, source: string): string[] {
  const found = Deno.lint.runPlugin(plugin, file, source);
  return [...new Set(found.map((one) => one.id))].sort();
}

Deno.test("each snippet wakes exactly the rules it breaks", () => {
  for (const { file, source, says } of CASES) {
    assert.deepEqual(rulesThatSpeak(file, source), [...says].sort(), `${file}: ${source}`);
  }
});

Deno.test("every rule of the plugin is red at least once above", () => {
  const red = new Set(CASES.flatMap((one) => one.says));
  assert.deepEqual(
    [...red].sort(),
    Object.keys(plugin.rules).map((name) => `rooms/${name}`).sort(),
  );
});

Deno.test("absolute paths, URLs and Windows paths find the same room", () => {
  const root = new URL("../../", import.meta.url);
  const file = new URL("lib/relay/a.ts", root);
  const names = [file.href, decodeURIComponent(file.pathname), "lib\\relay\\a.ts"];
  for (const name of names) {
    assert.deepEqual(rulesThatSpeak(name, "Date.now();"), [PURE], name);
  }
});

Deno.test("a shorthand property is reported once per rule", () => {
  const found = Deno.lint.runPlugin(plugin, "lib/relay/a.ts", "const f = { console }; f;");
  assert.equal(found.length, 1);
});
