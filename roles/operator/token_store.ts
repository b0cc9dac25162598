/**
 * The operator's token store: a folder of files, one token each, mode 0600. A token that is being
 * made stands aside until the node has it, so that a crash in between loses neither the old one,
 * which is valid, nor the new one, which may be.
 *
 *     <store>/gpu-a                    the token of that name
 *             .pending-gpu-a/token     made, and perhaps valid
 *             .gpu-a.lock              one command changes a token at a time
 *
 * @module
 */

import { hex } from "../../lib/core/ids.ts";
import type { HeldLock } from "../../lib/core/lock.ts";
import { type Refusal, refuse } from "../../lib/core/refusal.ts";
import type { Secret } from "../../lib/core/secret.ts";
import { newToken } from "../../lib/credential/clients.ts";
import { readTokenFile } from "../../lib/dispatch/token_source.ts";
import { within } from "../../lib/host/paths.ts";
import type { Operator } from "./operator.ts";

/** A token that is being made. */
export interface PendingToken extends AsyncDisposable {
  readonly kind: "pending";
  readonly secret: Secret;
  /** What the node is told of it. */
  readonly hash: { readonly id: string; readonly sha256: string };
  /** It was made by an earlier command that did not come to its end. */
  readonly resumed: boolean;
  /** Makes it the token of its name. */
  readonly keep: () => Promise<Refusal | null>;
}

type Ports = Pick<Operator, "ports" | "dispatch">;

/** The id and hash of a token. */
export function hashOf({ ports }: Ports, secret: Secret): PendingToken["hash"] {
  const sha256 = hex(ports.sha256(secret.reveal()));
  return { id: `tk-${sha256.slice(0, 24)}`, sha256 };
}

/**
 * The token that is being made for `name`: the one an earlier command left, or a fresh one. `replace`
 * allows that there is one of that name already.
 */
export async function pendingToken(
  operator: Ports,
  store: string | null,
  name: string,
  replace: boolean,
): Promise<PendingToken | Refusal> {
  if (store === null) {
    return refuse("store_unknown", "no token store is known", "name one with --tokens or --home");
  }
  const { files, directories, tryLock } = operator.ports;
  const made = await directories.make(store);
  if (made.kind === "refused") return unusable(made);
  const lock = await tryLock(within(store, `.${name}.lock`));
  if (lock.kind === "refused") return unusable(lock);
  if (lock.kind === "busy") {
    return refuse("store_busy", "another command changes this token right now", "wait for it");
  }
  const pending = await locked(operator, store, name, replace, lock);
  if (pending.kind === "refused") await lock.release();
  return pending;

  async function locked(
    { ports, dispatch }: Ports,
    store: string,
    name: string,
    replace: boolean,
    lock: HeldLock,
  ): Promise<PendingToken | Refusal> {
    const path = within(store, name);
    const aside = within(store, `.pending-${name}`);
    const current = await readTokenFile(files, path);
    if (current.kind === "refused") return current;
    const left = await readTokenFile(files, within(aside, "token"));
    if (left.kind === "refused") return left;
    const spent = current.kind === "ok" && left.kind === "ok" &&
      current.secret.reveal() === left.secret.reveal();
    if (current.kind === "ok" && !replace && !spent) {
      return refuse(
        "token_name_taken",
        `the store holds a token ${name} already`,
        "choose another name with --save-as",
      );
    }
    // Kept, and not yet tidied up: this command makes the next one.
    const resumed = left.kind === "ok" && (!spent || !replace);
    const secret = resumed ? left.secret : newToken(dispatch.random);
    if (!resumed) {
      const folder = await directories.make(aside);
      if (folder.kind === "refused") return unusable(folder);
      const bytes = new TextEncoder().encode(`${secret.reveal()}\n`);
      const written = await files.replaceFile(within(aside, "token"), bytes, 0o600);
      if (written.kind === "refused") return unusable(written);
    }
    return {
      kind: "pending",
      secret,
      resumed,
      hash: hashOf({ ports, dispatch }, secret),
      keep: async () => {
        const bytes = new TextEncoder().encode(`${secret.reveal()}\n`);
        const kept = await files.replaceFile(path, bytes, 0o600);
        if (kept.kind === "refused") return unusable(kept);
        const tidied = await directories.remove(aside);
        return tidied.kind === "refused" ? unusable(tidied) : null;
      },
      [Symbol.asyncDispose]: () => lock.release(),
    };
  }
}

/** The store cannot be used, whatever the file system said. */
export function unusable({ detail }: Refusal): Refusal {
  return refuse(
    "store_unusable",
    detail,
    "see to the folder of --tokens, or to tokens in the home",
  );
}
