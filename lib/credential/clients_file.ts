/**
 * The clients file, changed: under its lock, so that two who change it at once both find what they
 * did, and in one replace, so that a reader sees the old file or the new one.
 *
 * @module
 */

import type { Files } from "../core/files.ts";
import type { TryLock } from "../core/lock.ts";
import type { Checked, Problem } from "../core/problem.ts";
import { type Refusal, refuse } from "../core/refusal.ts";
import { writeToml } from "../document/toml.ts";
import type { Clients } from "./clients.ts";
import { MOST_CLIENTS_BYTES, textOf } from "./roster_file.ts";

/** Which file, and how it is read. */
export interface ClientsPlace<Scope extends string> {
  readonly path: string;
  /** The binary whose clients they are. */
  readonly program: string;
  readonly files: Files;
  readonly tryLock: TryLock;
  readonly read: (text: string) => Checked<Clients<Scope>>;
}

/** Clients, every problem of the file, or why it cannot be had. */
export type ClientsRead<Scope extends string> =
  | { readonly kind: "ok"; readonly clients: Clients<Scope> }
  | { readonly kind: "invalid"; readonly problems: readonly Problem[] }
  | Refusal;

/** Reads the file; an absent one holds no clients. */
export async function readClientsFile<Scope extends string>(
  { path, files, read }: Pick<ClientsPlace<Scope>, "path" | "files" | "read">,
): Promise<ClientsRead<Scope>> {
  const found = await files.readBounded(path, MOST_CLIENTS_BYTES);
  if (found.kind === "absent") return { kind: "ok", clients: { schema: 1, clients: [] } };
  if (found.kind === "refused") return found;
  const clients = read(textOf(found.bytes) ?? "\0");
  return clients.kind === "ok" ? { kind: "ok", clients: clients.model } : clients;
}

/** Changes the file; a refusal of `edit` leaves it as it was. */
export async function changeClients<Scope extends string>(
  place: ClientsPlace<Scope>,
  edit: (clients: Clients<Scope>) => Clients<Scope> | Refusal,
): Promise<ClientsRead<Scope>> {
  const lock = await place.tryLock(`${place.path}.lock`);
  if (lock.kind === "refused") return lock;
  if (lock.kind === "busy") {
    return refuse("clients_locked", "another command changes this file right now", "try again");
  }
  await using _held = lock;
  const read = await readClientsFile(place);
  if (read.kind !== "ok") return read;
  const edited = edit(read.clients);
  if ("kind" in edited) return edited;
  const { program } = place;
  const text = `# Client tokens of ${program}, hashed. Changed by \`${program} tokens\`.\n${
    writeToml({ ...edited })
  }`;
  const bytes = new TextEncoder().encode(text);
  const replaced = await place.files.replaceFile(place.path, bytes, 0o600);
  return replaced.kind === "refused" ? replaced : { kind: "ok", clients: edited };
}
