/**
 * A host whose changes are tried for real: a router process, engine processes, a supervisor, and
 * what a client sees of it.
 *
 * @module
 */

import assert from "node:assert/strict";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { type ChangePlace, servesAt } from "./change_rig.ts";
import { ChangeSupervisor } from "./change_supervisor.ts";
import { type ChangePorts, freePorts, routerText } from "./change_texts.ts";
import { RouterProcess } from "./router_process.ts";
import { ADMIN, scopedClients } from "./router_rig.ts";
import { TOKEN } from "./router_toml.ts";
import { ask, askBody, CHAT, StreamReader } from "./stream_reader.ts";
import { until } from "./wait.ts";

/** The host. */
export interface Rig {
  readonly place: ChangePlace;
  readonly supervisor: ChangeSupervisor;
}

/** Runs `run` on a host outside of its mode, with `llm.primary` as it was. */
export async function withRig(run: (rig: Rig) => Promise<void>): Promise<void> {
  await using dir = await tempDir();
  const ports = freePorts();
  const folder = dir.path;
  await Deno.mkdir(`${folder}/state`);
  await Deno.mkdir(`${folder}/agent/changes`, { recursive: true });
  await Deno.writeTextFile(`${folder}/router.toml`, routerText(ports, "chat"));
  await Deno.writeTextFile(`${folder}/clients.toml`, agentClients(), { mode: 0o600 });
  await Deno.writeTextFile(`${folder}/router.token`, ADMIN, { mode: 0o600 });
  await using supervisor = new ChangeSupervisor(folder, servesAt(ports));
  await Promise.all([supervisor.start("chat"), supervisor.start("embed")]);
  supervisor.router = await RouterProcess.start(folder, { waitReady: false });
  await until(
    "both tiers answer",
    async () =>
      await statusOf(ports, "llm.primary") === 200 && await statusOf(ports, "llm.embed") === 200,
  );
  await run({ place: { folder, ports, control: supervisor.url }, supervisor });
}

/** The agent's token looks and changes. */
function agentClients(): string {
  const text = scopedClients().replace(/scopes = \[ *"admin" *\]/, 'scopes = ["observe", "admin"]');
  assert.match(text, /"observe", "admin"/);
  return text;
}

/** One real request through the router. */
async function answerOf(ports: ChangePorts, alias: string): Promise<Response> {
  return await fetch(`http://127.0.0.1:${ports.data}${CHAT}`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify(askBody({ model: alias, max_tokens: 2 })),
  });
}

async function statusOf(ports: ChangePorts, alias: string): Promise<number> {
  const answer = await answerOf(ports, alias);
  await answer.body?.cancel();
  return answer.status;
}

/** Which model answers for an alias; the status when none does. */
async function modelOf(ports: ChangePorts, alias: string): Promise<string> {
  const answer = await answerOf(ports, alias);
  const body = await answer.json() as { readonly model?: string };
  return answer.status === 200 ? String(body.model) : String(answer.status);
}

/** A stream of the tier nobody touches; resolves with whether it came whole. */
export async function openStream(
  ports: ChangePorts,
  tokens: number,
): Promise<() => Promise<boolean>> {
  const body = askBody({ model: "llm.embed", stream: true, max_tokens: tokens });
  const reader = await StreamReader.open(ports.data, ask(CHAT, body));
  assert.ok(await reader.readUntil("Anvil token 1"), reader.text);
  return async () => {
    const whole = await reader.readUntil("data: [DONE]\n\n");
    reader.close();
    return whole && reader.text.includes(` ${tokens}"`);
  };
}

/** What answers, seen from outside. */
export async function seen(ports: ChangePorts): Promise<Readonly<Record<string, string>>> {
  const entries: [string, string][] = [];
  for (const alias of ["llm.primary", "llm.embed", "video.make"]) {
    entries.push([alias, await modelOf(ports, alias)]);
  }
  return Object.fromEntries(entries);
}

/** What a client sees: which model answers, or the status. */
export const OUTSIDE = {
  "llm.primary": "org/model",
  "llm.embed": "org/embed",
  "video.make": "503",
};
/** While the mode is in force. */
export const IN_MODE = {
  "llm.primary": "503",
  "llm.embed": "org/embed",
  "video.make": "org/video",
};
/** After the promotion. */
export const PROMOTED = { ...OUTSIDE, "llm.primary": "org/model-next" };

/** Model or status by alias. */
export type Seen = Readonly<Record<string, string>>;
