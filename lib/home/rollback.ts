/**
 * Back to a set that was live before: the whole of it, compared byte for byte first.
 *
 * @module
 */

import { loadReceipt, refuseDamaged } from "./generation.ts";
import { made, readHistory, type Switch } from "./history.ts";
import { changeHome } from "./materialize.ts";
import { type HomePorts, type HomeRefusal, homeRefusal } from "./ports.ts";
import { switchCurrent } from "./switch_current.ts";

/** What was live, and what is. */
export interface RolledBack {
  readonly kind: "rolled_back";
  readonly from: string | null;
  readonly current: Switch;
}

/** Which generation, and who says so. */
export interface RollbackAsk {
  /** A digest, or its first letters; without it the set that was live before this one. */
  readonly to?: string;
  readonly by: string;
}

/** Rolls `home` back. */
export async function rollback(
  ports: HomePorts,
  home: string,
  { to, by }: RollbackAsk,
): Promise<RolledBack | HomeRefusal> {
  const act = async (current: Switch | null): Promise<RolledBack | HomeRefusal> => {
    const history = await readHistory(ports, home);
    if ("kind" in history) return history;
    const digest = to === undefined
      ? made(history, current).find((one) => one.digest !== current?.digest)?.digest
      : named(history, to);
    if (digest === undefined) {
      return to === undefined
        ? homeRefusal("nothing_to_roll_back_to", "no other set was live in this home before")
        : homeRefusal("generation_unknown", `no generation of the history begins with ${to}`, {
          nextStep: "see `home history`, and give more letters where several begin so",
        });
    }
    const damaged = await refuseDamaged(ports, home, digest);
    if (damaged !== null) return damaged;
    const receipt = await loadReceipt(ports, home, digest);
    if ("kind" in receipt) return receipt;
    const next = await switchCurrent(ports, home, { action: "rollback", receipt, by, current });
    return "kind" in next
      ? next
      : { kind: "rolled_back", from: current?.digest ?? null, current: next };
  };
  return await changeHome(ports, home, act, to === undefined ? "refuse" : "go on");
}

/** The one digest of the history that begins with `prefix`. */
export function named(history: readonly Switch[], prefix: string): string | undefined {
  if (!/^[0-9a-f]{4,64}$/.test(prefix)) return undefined;
  const found = new Set(
    history.map(({ digest }) => digest).filter((digest) => digest.startsWith(prefix)),
  );
  return found.size === 1 ? [...found][0] : undefined;
}
