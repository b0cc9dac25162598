/** `anvil-router tokens add|list|revoke`. @module */

import { buildCommand, buildRouteMap } from "@stricli/core";
import { writeToml } from "../../../lib/document/toml.ts";
import { timestamp } from "../../../lib/core/clock.ts";
import { hex, ID_PATTERN, newId } from "../../../lib/core/ids.ts";
import { type Refusal, refuse } from "../../../lib/core/refusal.ts";
import { systemClock } from "../../../lib/host/clock.ts";
import { sha256 } from "../../../lib/host/digest.ts";
import { systemFiles } from "../../../lib/host/files.ts";
import { tryLock } from "../../../lib/host/lock.ts";
import { systemRandom } from "../../../lib/host/random.ts";
import {
  printEnvelope,
  type ProgramContext,
  reportProblems,
  reportRefusal,
} from "../../../lib/terminal/program.ts";
import { table } from "../../../lib/terminal/table.ts";
import { type Clients, newToken, readClients, type Scope, SCOPES } from "../clients.ts";
import { textOf } from "../config_file.ts";
import { MOST_CLIENTS_BYTES } from "../roster_file.ts";
import { JSON_FLAG } from "./check.ts";

const CLIENTS = { brief: "The clients file", parse: String, placeholder: "CLIENTS_FILE" } as const;
const DAY_MS = 86_400_000;
const encoder = new TextEncoder();

/** Reads the clients file; an absent one holds no clients. Reports and gives null when it cannot. */
async function load(context: ProgramContext, path: string, json: boolean): Promise<Clients | null> {
  const read = await systemFiles.readBounded(path, MOST_CLIENTS_BYTES);
  if (read.kind === "absent") return { schema: 1, clients: [] };
  if (read.kind === "refused") {
    reportRefusal(context, read, json);
    return null;
  }
  const clients = readClients(textOf(read.bytes) ?? "\0");
  if (clients.kind === "ok") return clients.model;
  reportProblems(context, path, clients.problems, json);
  return null;
}

/** Changes the file under its lock, so that two people who add at once both find their token. */
async function change(
  context: ProgramContext,
  path: string,
  json: boolean,
  edit: (clients: Clients) => Clients | Refusal,
): Promise<boolean> {
  const lock = await tryLock(`${path}.lock`);
  if (lock.kind !== "held") {
    const refusal = lock.kind === "refused"
      ? lock
      : refuse("clients_locked", "another command changes this file right now", "try again");
    reportRefusal(context, refusal, json);
    return false;
  }
  await using _held = lock;
  const clients = await load(context, path, json);
  if (clients === null) return false;
  const edited = edit(clients);
  if ("kind" in edited) {
    reportRefusal(context, edited, json);
    return false;
  }
  const text = `# Client tokens of anvil-router, hashed. Changed by \`anvil-router tokens\`.\n${
    writeToml(edited)
  }`;
  const replaced = await systemFiles.replaceFile(path, encoder.encode(text), 0o600);
  if (replaced.kind === "refused") reportRefusal(context, replaced, json);
  return replaced.kind === "ok";
}

interface AddFlags {
  readonly scope?: readonly Scope[];
  readonly expiresInDays?: number;
  readonly out?: string;
  readonly json: boolean;
}

const addCommand = buildCommand<AddFlags, [string, string], ProgramContext>({
  parameters: {
    flags: {
      scope: {
        kind: "enum",
        values: SCOPES,
        variadic: true,
        optional: true,
        brief: "What the client may do: infer, observe, admin; once per scope (default: infer)",
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
      parameters: [CLIENTS, { brief: "The client's name", parse: clientName, placeholder: "NAME" }],
    },
  },
  docs: {
    brief: "Add a client, or one more token for a client",
    fullDescription:
      "Makes a token, stores only its hash, and shows the token this one time. A client that has a\n" +
      "token already gets a second one: use it everywhere, then revoke the first. A running router\n" +
      "takes the change in within a second.\n\n" +
      "Examples:\n  anvil-router tokens add clients.toml laptop\n" +
      "  anvil-router tokens add clients.toml prometheus --scope observe --expires-in-days 90 --out token",
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
    const done = await change(this, path, json, (clients) => {
      const known = clients.clients.find((client) => client.name === name);
      if (known === undefined) {
        const client = { name, scopes: [...new Set(scope ?? ["infer" as const])], tokens: [entry] };
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

const listCommand = buildCommand<{ json: boolean }, [string], ProgramContext>({
  parameters: {
    flags: { json: JSON_FLAG },
    positional: { kind: "tuple", parameters: [CLIENTS] },
  },
  docs: { brief: "List clients and the ids of their tokens" },
  async func({ json }, path) {
    const clients = await load(this, path, json);
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

const revokeCommand = buildCommand<{ json: boolean }, [string, string], ProgramContext>({
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
    fullDescription: "A running router refuses it within a second; requests it has admitted go on.",
  },
  async func({ json }, path, id) {
    const done = await change(this, path, json, (clients) => {
      const left = clients.clients
        .filter((client) => client.name !== id)
        .map((client) => ({ ...client, tokens: client.tokens.filter((token) => token.id !== id) }));
      const count = (all: Clients["clients"]) =>
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
export const tokensRoutes = buildRouteMap({
  routes: { add: addCommand, list: listCommand, revoke: revokeCommand },
  docs: { brief: "Add, list and revoke client tokens" },
});

function sameScopes(left: readonly Scope[], right: readonly Scope[]): boolean {
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
