/**
 * From a reviewed commit to what is live. Nothing that is live is touched before the last step, and
 * that step is one rename: interrupted anywhere, the old `current` stands.
 *
 *     place ── lock ── export ── check ── write generation ── history line ── `current`
 *
 * @module
 */

import { timestamp } from "../core/clock.ts";
import type { Fleet } from "../topology/shape.ts";
import { checkSet } from "./check_set.ts";
import { type ExportAsk, exportCommit } from "./export_commit.ts";
import { loadReceipt, writeGeneration } from "./generation.ts";
import { readCurrent, type Switch } from "./history.ts";
import { refuseGitTree } from "./home_place.ts";
import { lockPath } from "./layout.ts";
import { type HomePorts, type HomeRefusal, homeRefusal, type InvalidSet, ofDisk } from "./ports.ts";
import { contentOf, digestOf, type Receipt } from "./receipt.ts";
import { switchCurrent } from "./switch_current.ts";

/** What to materialise, and who says so. */
export interface MaterializeAsk extends ExportAsk {
  readonly by: string;
}

/** What is live now. */
export interface Materialized {
  readonly kind: "materialized";
  readonly receipt: Receipt;
  readonly current: Switch;
  readonly fleet: Fleet;
  /** False when this generation was live already and nothing was switched. */
  readonly switched: boolean;
}

/** Materialises a commit into `home`, which is made when it is not there. */
export async function materialize(
  ports: HomePorts,
  home: string,
  ask: MaterializeAsk,
): Promise<Materialized | InvalidSet | HomeRefusal> {
  return await changeHome(ports, home, async (current) => {
    const exported = await exportCommit(ports, ask);
    if (exported.kind !== "exported") return exported;
    const checked = checkSet(exported.files);
    if (checked.kind === "invalid") return checked;
    const content = contentOf(ports.sha256, exported.commit, ask.path, exported.files);
    const digest = digestOf(ports.sha256, content);
    const at = timestamp(ports.clock.now());
    const fresh: Receipt = { schema: 1, digest, ...content, at, by: ask.by };
    const refusal = await writeGeneration(ports, home, fresh, exported.files);
    if (refusal !== null) return refusal;
    // A generation that was there keeps the receipt it was made with.
    const receipt = await loadReceipt(ports, home, digest);
    if ("kind" in receipt) return receipt;
    const done = { kind: "materialized", receipt, fleet: checked.fleet } as const;
    if (current?.digest === digest) return { ...done, current, switched: false };
    const action = "materialize";
    const next = await switchCurrent(ports, home, { action, receipt, by: ask.by, current });
    return "kind" in next ? next : { ...done, current: next, switched: true };
  });
}

/** Does `act` as the one who changes the home. */
export async function changeHome<Outcome>(
  ports: HomePorts,
  home: string,
  act: (current: Switch | null) => Promise<Outcome>,
  whenDamaged: "refuse" | "go on" = "refuse",
): Promise<Outcome | HomeRefusal> {
  const misplaced = await refuseGitTree(ports, home);
  if (misplaced !== null) return misplaced;
  const made = await ports.directories.make(home);
  if (made.kind === "refused") return ofDisk(made, "make the home");
  const lock = await ports.tryLock(lockPath(home));
  if (lock.kind === "refused") return ofDisk(lock, "lock the home");
  if (lock.kind === "busy") {
    return homeRefusal("home_busy", "another command changes this home right now", {
      nextStep: "wait for it, then look at `home status`",
    });
  }
  await using _held = lock;
  const current = await readCurrent(ports, home);
  if (current === null || !("kind" in current)) return await act(current);
  return whenDamaged === "go on" && current.code === "current_damaged" ? await act(null) : current;
}
