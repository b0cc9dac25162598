/**
 * `tokens add|list|revoke`: the clients file of a program, changed by hand.
 *
 * @module
 */

import { buildCommand, buildRouteMap } from "@stricli/core";
import { timestamp } from "../core/clock.ts";
import { hex, ID_PATTERN, newId } from "../core/ids.ts";
import type { Checked } from "../core/problem.ts";
import { type Refusal, refuse } from "../core/refusal.ts";
import { systemClock } from "../host/clock.ts";
import { sha256 } from "../host/digest.ts";
import { systemFiles } from "../host/files.ts";
import { tryLock } from "../host/lock.ts";
import { systemRandom } from "../host/random.ts";
import {
  printEnvelope,
  type ProgramContext,
  reportProblems,
  reportRefusal,
} from "../terminal/program.ts";
import { JSON_FLAG } from "../terminal/json_flag.ts";
import { table } from "../terminal/table.ts";
import { type Clients, newToken } from "./clients.ts";
import { changeClients, type ClientsRead, readClientsFile } from "./clients_file.ts";

const CLIENTS = { brief: "The clients file", parse: String, placeholder: "CLIENTS_FILE" } as const;
const DAY_MS = 86_400_000;
const encoder = new TextEncoder();

/** Whose clients file it is. */
export interface TokenProgram<Scope extends string> {
  /** The binary's name. */
  readonly name: string;
  /** Scopes a completion proposes, in the order help names them. */
  readonly scopes: readonly string[];
  /** One scope as somebody wrote it; null when it is none. */
  readonly scopeOf: (text: string) => Scope | null;
  /** What a client may do when nothing is said; null when it must be said. */
  readonly fallback: Scope | null;
  readonly read: (text: string) => Checked<Clients<Scope>>;
}

/** Reads the clients file. Reports and gives null when it cannot. */
async function load<Scope extends string>(
  of: TokenProgram<Scope>,
  context: ProgramContext,
  path: string,
  json: boolean,
): Promise<Clients<Scope> | null> {
  const read = await readClientsFile({ path, files: systemFiles, read: of.read });
  return clientsOf(context, path, json, read);
}

/** Changes the clients file. Reports and gives false when it cannot. */
async function change<Scope extends string>(
  of: TokenProgram<Scope>,
  context: ProgramContext,
  path: string,
  json: boolean,
  edit: (clients: Clients<Scope>) => Clients<Scope> | Refusal,
): Promise<boolean> {
  const place = { path, program: of.name, files: systemFiles, tryLock, read: of.read };
  return clientsOf(context, path, json, await changeClients(place, edit)) !== null;
}

function clientsOf<Scope extends string>(
  context: ProgramContext,
  path: string,
  json: boolean,
  read: ClientsRead<Scope>,
): Clients<Scope> | null {
  if (read.kind === "ok") return read.clients;
  if (read.kind === "refused") reportRefusal(context, read, json);
  else reportProblems(context, path, read.problems, json);
  return null;
}

interface AddFlags<Scope> {
  readonly scope?: readonly Scope[];
  readonly expiresInDays?: number;
  readonly out?: string;
  readonly json: boolean;
}

const addCommand = <Scope extends string>(of: TokenProgram<Scope>) =>
  buildCommand<AddFlags<Scope>, [string, string], ProgramContext>({
    parameters: {
      flags: {
        scope: {
          kind: "parsed",
          parse: (text) => {
            const scope = of.scopeOf(text);
            if (scope !== null) return scope;
            throw new SyntaxError(`expected a scope, as ${of.scopes.join(" or ")}`);
          },
          proposeCompletions: (partial) => of.scopes.filter((scope) => scope.startsWith(partial)),
          variadic: true,
          optional: true,
          brief: `What the client may do: ${of.scopes.join(", ")}; once per scope${
            of.fallback === null ? "" : ` (default: ${of.fallback})`
          }`,
        },
        expiresInDays: {
          kind: "parsed",
          parse: wholeDays,
          optional: true,
          brief: "Days until the token expires (default: never)",
        },
        out: {
          kind: "parsed",
          parse: String,
          optional: true,
          brief: "Write the token to this file, mode 0600, instead of to the terminal",
        },
        json: JSON_FLAG,
      },
      positional: {
        kind: "tuple",
        parameters: [CLIENTS, {
          brief: "The client's name",
          parse: clientName,
          placeholder: "NAME",
        }],
      },
    },
    docs: {
      brief: "Add a client, or one more token for a client",
      fullDescription:
        "Makes a token, stores only its hash, and shows the token this one time. A client that has a\n" +
        "token already gets a second one: use it everywhere, then revoke the first. A running program\n" +
        "takes the change in within a second.\n\n" +
        `Example:\n  ${of.name} tokens add clients.toml laptop --scope ${of.scopes[0]} ` +
        "--expires-in-days 90 --out token",
    },
    async func({ scope, expiresInDays, out, json }, path, name) {
      const token = newToken(systemRandom);
      const now = systemClock.now();
      const id = newId("tk", systemRandom);
      const entry = {
        id,
        sha256: hex(sha256(token.reveal())),
        created_at: timestamp(now),
        ...(expiresInDays === undefined
          ? {}
          : { expires_at: timestamp(now + expiresInDays * DAY_MS) }),
      };
      if (out !== undefined) {
        // Before the clients file: a token nobody can read must not become valid.
        const bytes = encoder.encode(`${token.reveal()}\n`);
        const written = await systemFiles.replaceFile(out, bytes, 0o600);
        if (written.kind === "refused") return reportRefusal(this, written, json);
      }
      const done = await change(of, this, path, json, (clients) => {
        const known = clients.clients.find((client) => client.name === name);
        if (known === undefined) {
          const scopes = scope ?? (of.fallback === null ? [] : [of.fallback]);
          if (scopes.length === 0) {
            return refuse(
              "scope_required",
              `client ${name} is new`,
              "say with --scope what it may do",
            );
          }
          const client = { name, scopes: [...new Set(scopes)], tokens: [entry] };
          return { ...clients, clients: [...clients.clients, client] };
        }
        if (scope !== undefined && !sameScopes(scope, known.scopes)) {
          return refuse(
            "scopes_differ",
            `client ${name} has the scopes ${known.scopes.join(", ")}`,
            "leave --scope out to add a token, or choose another name",
          );
        }
        const grown = { ...known, tokens: [...known.tokens, entry] };
        return {
          ...clients,
          clients: clients.clients.map((client) => client === known ? grown : client),
        };
      });
      if (!done) return;
      if (json) {
        const shown = out === undefined ? { token: token.reveal() } : { token_file: out };
        printEnvelope(this, { ok: true, data: { client: name, id, ...shown }, problems: [] });
        return;
      }
      this.terminal.err(
        out === undefined
          ? `token ${id} of client ${name}; it is shown once, and never again:\n`
          : `token ${id} of client ${name} is in ${out}\n`,
      );
      if (out === undefined) this.terminal.out(`${token.reveal()}\n`);
    },
  });

const listCommand = <Scope extends string>(of: TokenProgram<Scope>) =>
  buildCommand<{ json: boolean }, [string], ProgramContext>({
    parameters: {
      flags: { json: JSON_FLAG },
      positional: { kind: "tuple", parameters: [CLIENTS] },
    },
    docs: { brief: "List clients and the ids of their tokens" },
    async func({ json }, path) {
      const clients = await load(of, this, path, json);
      if (clients === null) return;
      const now = systemClock.now();
      const rows = clients.clients.flatMap(({ name, scopes, tokens }) =>
        tokens.map(({ id, created_at, expires_at }) => ({
          client: name,
          scopes,
          id,
          created_at,
          expires_at: expires_at ?? null,
          state: expires_at !== undefined && Date.parse(expires_at) <= now ? "expired" : "valid",
        }))
      );
      if (json) return printEnvelope(this, { ok: true, data: rows, problems: [] });
      this.terminal.out(table(
        ["client", "scopes", "token", "created", "expires", "state"],
        rows.map((row) => [
          row.client,
          row.scopes.join(" "),
          row.id,
          row.created_at,
          row.expires_at ?? "never",
          row.state,
        ]),
      ));
    },
  });

const revokeCommand = <Scope extends string>(of: TokenProgram<Scope>) =>
  buildCommand<{ json: boolean }, [string, string], ProgramContext>({
    parameters: {
      flags: { json: JSON_FLAG },
      positional: {
        kind: "tuple",
        parameters: [CLIENTS, {
          brief: "A token's id, or a client's name for all its tokens",
          parse: String,
          placeholder: "ID",
        }],
      },
    },
    docs: {
      brief: "Revoke one token, or a client with all its tokens",
      fullDescription:
        "A running program refuses it within a second; requests it has admitted go on.",
    },
    async func({ json }, path, id) {
      const done = await change(of, this, path, json, (clients) => {
        const left = clients.clients
          .filter((client) => client.name !== id)
          .map((client) => ({
            ...client,
            tokens: client.tokens.filter((token) => token.id !== id),
          }));
        const count = (all: Clients<Scope>["clients"]) =>
          all.reduce((sum, one) => sum + one.tokens.length, 0);
        return count(left) === count(clients.clients) && left.length === clients.clients.length
          ? refuse("token_unknown", `no token and no client is called ${id}`, "see `tokens list`")
          : { ...clients, clients: left };
      });
      if (!done) return;
      if (json) printEnvelope(this, { ok: true, data: { revoked: id }, problems: [] });
      else this.terminal.err(`revoked ${id}\n`);
    },
  });

/** The commands on client tokens. */
export function tokensRoutesOf<Scope extends string>(of: TokenProgram<Scope>) {
  return buildRouteMap({
    routes: { add: addCommand(of), list: listCommand(of), revoke: revokeCommand(of) },
    docs: { brief: "Add, list and revoke client tokens" },
  });
}

function sameScopes(left: readonly string[], right: readonly string[]): boolean {
  return new Set(left).symmetricDifference(new Set(right)).size === 0;
}

function clientName(text: string): string {
  if (!ID_PATTERN.test(text)) {
    throw new SyntaxError("expected lower-case letters, digits and `-`, a letter first");
  }
  return text;
}

function wholeDays(text: string): number {
  const days = Number(text);
  if (!Number.isInteger(days) || days < 1 || days > 3650) {
    throw new SyntaxError("expected whole days, 1 to 3650");
  }
  return days;
}
