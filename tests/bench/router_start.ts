/**
 * How our own router is started for the bench: by the `router` task of deno.json, so that it runs with
 * the permission flags it ships with.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import type { Command, Found, Place } from "./relay.ts";
import { MODEL } from "./wire.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const TOKEN = "anvil_bench";

/** Whether there is a router to start. */
export async function findRouter(): Promise<Found> {
  if (denoWords(await taskLine(), { root, INIT_CWD: root }) === null) {
    return { kind: "missing", why: "deno.json has no `router` task that the bench can read" };
  }
  try {
    await Deno.stat(`${root}roles/router/main.ts`);
  } catch {
    return { kind: "missing", why: "there is no roles/router/main.ts" };
  }
  return { kind: "found", version: `this tree, Deno ${Deno.version.deno}` };
}

/** The start command, with config and client tokens written into the place. */
export async function routerCommand(place: Place, variant: string | null): Promise<Command> {
  const file = `${place.dir}/router.toml`;
  await Deno.writeTextFile(file, configText(place));
  const clients = `${place.dir}/clients.toml`;
  await Deno.writeTextFile(clients, clientsText(TOKEN), { mode: 0o600 });
  const words = denoWords(await taskLine(), { root: root.replace(/\/$/, ""), INIT_CWD: place.dir });
  const split = /^([A-Z][A-Z0-9_]*)=(.*)$/.exec(variant ?? "");
  const extra = variant !== null && split === null ? [variant] : [];
  return {
    program: Deno.execPath(),
    args: [...words ?? [], "run", ...extra, file],
    cwd: place.dir,
    ...(split === null ? {} : { env: { [split[1] as string]: split[2] as string } }),
  };
}

/** The `router` task's command; empty when there is none. */
async function taskLine(): Promise<string> {
  const config = JSON.parse(await Deno.readTextFile(`${root}deno.json`)) as {
    tasks?: Record<string, string | { command?: string }>;
  };
  const task = config.tasks?.["router"];
  return typeof task === "string" ? task : task?.command ?? "";
}

/**
 * The words after `deno` in the last command of a task, with the two variables our tasks use filled
 * in. Not run through `deno task`: that would stay above the router and be counted as its memory.
 * Null when the line asks more of a shell than this.
 */
export function denoWords(
  line: string,
  variables: Readonly<Record<string, string>>,
): string[] | null {
  const last = line.split("&&").at(-1)?.trim() ?? "";
  const filled = last.replace(/\$([A-Za-z_]+)/g, (whole, name: string) => variables[name] ?? whole);
  if (/['`$|&;<>\\*?]/.test(filled)) return null;
  const words = [...filled.matchAll(/(?:"[^"]*"|[^\s"])+/g)].map(([word]) =>
    word.replaceAll('"', "")
  );
  return words[0] === "deno" && words.length > 1 ? words.slice(1) : null;
}

/** `router.toml` of the bench: limits wide enough that nothing but speed is measured. */
export function configText({ port, adminPort, upstreamPort }: Place): string {
  return `schema = 1
node = "bench"

[listen]
data = "127.0.0.1:${port}"
admin = "127.0.0.1:${adminPort}"

[auth]
clients = "clients.toml"

[limits]
body_mib = 64
requests = 4096
drain_seconds = 1

[state]
dir = "state"

[[tiers]]
id = "bench"
served_model = "${MODEL}"
dialects = ["openai-chat"]
identity = { kind = "openai-models" }
admission = { in_flight = 4096, queue = 16, queue_seconds = 30 }
members = [{ id = "a", endpoint = "http://127.0.0.1:${upstreamPort}" }]

[aliases]
"${MODEL}" = "bench"
`;
}

function clientsText(token: string): string {
  return `schema = 1

[[clients]]
name = "bench"
scopes = ["infer"]
tokens = [
  { id = "a", sha256 = "${
    createHash("sha256").update(token).digest("hex")
  }", created_at = "2026-01-01T00:00:00Z" },
]
`;
}
