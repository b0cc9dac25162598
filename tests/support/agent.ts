/**
 * An agent in this process, on loopback, with real files and two operations that a test steers.
 *
 * @module
 */

import { z } from "zod";
import { RosterFile } from "../../lib/credential/roster_file.ts";
import { systemClock } from "../../lib/host/clock.ts";
import { tcpDial } from "../../lib/host/dial.ts";
import { sha256 } from "../../lib/host/digest.ts";
import { systemDirectories } from "../../lib/host/directories.ts";
import { systemFiles } from "../../lib/host/files.ts";
import { openJournal } from "../../lib/host/journal.ts";
import { tryLock } from "../../lib/host/lock.ts";
import { beside } from "../../lib/host/paths.ts";
import { readPlainFile } from "../../lib/host/plain_file.ts";
import { runProcess } from "../../lib/host/process.ts";
import { systemRandom } from "../../lib/host/random.ts";
import { serve } from "../../lib/host/serve.ts";
import { defineMutation, type Operation } from "../../lib/operation/operation.ts";
import { http1Upstream } from "../../lib/relay/http1.ts";
import { type Agent, startAgent } from "../../roles/agent/agent.ts";
import type { RunProcess } from "../../lib/core/process.ts";
import { type Refusal, refuse } from "../../lib/core/refusal.ts";
import type { ServesHost } from "../../roles/agent/serves_host.ts";
import type { HostServes } from "../../roles/agent/changes.ts";
import type { OpenBenchmarkJournal } from "../../roles/agent/benchmarks/store.ts";
import { readClients } from "../../roles/agent/clients.ts";
import { readConfig } from "../../roles/agent/config.ts";

/** Tokens of the rig's clients. */
export const TOKENS = {
  all: `anvil_${"a".repeat(43)}`,
  reader: `anvil_${"r".repeat(43)}`,
  nobody: `anvil_${"n".repeat(43)}`,
  spent: `anvil_${"s".repeat(43)}`,
} as const;

/** The clients file of those tokens. */
export function agentClientsToml(): string {
  const client = (name: keyof typeof TOKENS, scope: string, rest = "") =>
    `[[clients]]\nname = "${name}"\nscopes = ["${scope}"]\n[[clients.tokens]]\n` +
    `id = "t-${name}"\nsha256 = "${sha256(TOKENS[name]).toHex()}"\n` +
    `created_at = "2026-01-01T00:00:00Z"\n${rest}`;
  return "schema = 1\n" + client("all", "*") + client("reader", "node.*:read") +
    client("nobody", "serves.list") +
    client("spent", "*", 'expires_at = "2026-01-02T00:00:00Z"\n');
}

/** `agent.toml` of the rig; `more` goes to its end. */
export function agentToml(more = "", roles: readonly string[] = ["gateway"]): string {
  return `schema = 1\nnode = "gpu-a"\nroles = ${JSON.stringify(roles)}\nlisten = "127.0.0.1:0"\n` +
    `state = "state"\n${more}`;
}

/** `lamp.light`: its effect is one line in `path`. `between` runs before and after it. */
export function lampOperation(
  path: string,
  between: (moment: "before_effect" | "after_effect", signal: AbortSignal) => Promise<void>,
): Operation {
  return defineMutation({
    name: "lamp.light",
    brief: "Light a lamp",
    effect: "mutate",
    destructive: false,
    roles: null,
    deadlineMs: 10_000,
    input: z.strictObject({ lamp: z.string() }),
    output: z.strictObject({ lit: z.string() }),
    plan: ({ lamp }) => Promise.resolve({ kind: "ok" as const, value: { lamp } }),
    run: async ({ lamp }, { step, signal }) => {
      step("light", "unknown");
      await between("before_effect", signal);
      await Deno.writeTextFile(path, `${lamp}\n`, { append: true });
      await between("after_effect", signal);
      step("lit", "applied");
      return { kind: "ok", value: { lit: lamp } };
    },
  });
}

/** What a started agent is asked with. */
export interface AgentRig extends AsyncDisposable {
  readonly agent: Agent;
  readonly url: string;
  readonly said: string[];
  /** POSTs an operation; `token` null sends none. */
  readonly call: (name: string, body: unknown, more?: CallMore) => Promise<Told>;
  readonly get: (path: string, token?: string | null) => Promise<Told>;
}

/** What a call may do otherwise. */
export interface CallMore {
  readonly token?: string | null;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An answer, read. */
export interface Told {
  readonly status: number;
  readonly code: string | null;
  readonly headers: Headers;
  readonly body: { readonly [key: string]: unknown };
}

/** Starts an agent with its files in `folder`. */
export async function startAgentRig(
  folder: string,
  more: readonly Operation[] = [],
  settings: {
    readonly toml?: string;
    readonly roles?: readonly string[];
    readonly trusted?: boolean;
    readonly serves?: HostServes;
    /** Stands in for starting programs. */
    readonly run?: RunProcess;
    readonly openServes?: () => Promise<ServesHost | Refusal>;
    readonly openBenchmarkJournal?: OpenBenchmarkJournal;
  } = {},
): Promise<AgentRig> {
  const { openServes } = settings;
  const config = readConfig(agentToml(settings.toml, settings.roles));
  if (config.kind === "invalid") throw new Error(JSON.stringify(config.problems));
  await Deno.mkdir(`${folder}/state`, { recursive: true });
  await Deno.writeTextFile(`${folder}/clients.toml`, agentClientsToml(), { mode: 0o600 });
  const said: string[] = [];
  const say = (message: string, properties: object) =>
    void said.push(`${message} ${Deno.inspect(properties)}`);
  const remarks = { info: say, warn: say, error: say };
  const roster = await RosterFile.open(`${folder}/clients.toml`, {
    files: systemFiles,
    clock: systemClock,
    sha256,
    remarks,
    read: readClients,
  });
  if (roster.kind === "invalid") throw new Error(JSON.stringify(roster.problems));
  const roots = config.model.config.roots.map((root) => beside(`${folder}/agent.toml`, root));
  const agent = await startAgent({
    ...config.model,
    state: `${folder}/state`,
    auth: settings.trusted === true ? {} : { clients: `${folder}/clients.toml` },
    config: { roots },
  }, {
    clock: systemClock,
    random: systemRandom,
    remarks,
    build: { name: "a", version: "0", build_digest: null, deno: "0", platform: "linux-x86_64" },
    facts: {
      run: settings.run ?? runProcess,
      files: systemFiles,
      clock: systemClock,
      os: Deno.build.os,
    },
    readPlain: readPlainFile,
    upstream: http1Upstream(tcpDial, systemClock),
    tryLock,
    directories: systemDirectories,
    openJournal,
    openBenchmarkJournal: settings.openBenchmarkJournal ?? openJournal,
    serves: settings.serves ?? null,
    openServes: openServes ?? (() => Promise.resolve(refuse("serves_not_configured", "none here"))),
    env: {},
    listen: (at, handler) => serve({ ...at, handler, onError: (error) => say("threw", { error }) }),
    roster: settings.trusted === true ? null : () => roster.model.roster,
    more,
  });
  if (agent.kind === "refused") throw new Error(`${agent.code}: ${agent.detail}`);
  const following = roster.model.follow();
  const url = `http://127.0.0.1:${agent.port}`;
  const bearer = (token: string | null) =>
    token === null ? {} : { authorization: `Bearer ${token}` };
  return {
    agent,
    url,
    said,
    call: (name, body, { token = TOKENS.all, key, headers = {} } = {}) =>
      told(fetch(`${url}/v1/operations/${name}`, {
        method: "POST",
        headers: {
          "x-anvil-node": "gpu-a",
          "content-type": "application/json",
          ...bearer(token),
          ...(key === undefined ? {} : { "idempotency-key": key }),
          ...headers,
        },
        body: typeof body === "string" ? body : JSON.stringify(body),
      })),
    get: (path, token = TOKENS.all) => told(fetch(`${url}${path}`, { headers: bearer(token) })),
    [Symbol.asyncDispose]: async () => {
      roster.model.close();
      await following;
      await agent.stop();
    },
  };
}

/** Reads an answer to its end. */
export async function told(asked: Promise<Response>): Promise<Told> {
  const response = await asked;
  const text = await response.text();
  return {
    status: response.status,
    code: response.headers.get("x-anvil-code"),
    headers: response.headers,
    body: text === "" ? {} : JSON.parse(text),
  };
}
