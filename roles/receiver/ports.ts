/**
 * What the receiver needs of the world.
 *
 * @module
 */

import type { Json } from "../../lib/core/canonical_json.ts";
import type { Clock } from "../../lib/core/clock.ts";
import type { Journal } from "../../lib/core/journal.ts";
import type { TryLock } from "../../lib/core/lock.ts";
import type { ReadOwned } from "../../lib/core/owned_file.ts";
import type { RunProcess } from "../../lib/core/process.ts";
import type { ProbeReplace } from "../../lib/core/replace_probe.ts";
import type { Build } from "../../lib/core/version.ts";
import type { GenerationPorts } from "../../lib/generation/ports.ts";

/** An opened journal, or why there is none. */
export type OpenedJournal<Entry extends Json> =
  | { readonly kind: "open"; readonly journal: Journal<Entry> & AsyncDisposable }
  | { readonly kind: "busy" }
  | { readonly kind: "refused"; readonly cause: string };

/** The ports. */
export interface ReceiverPorts extends GenerationPorts {
  readonly readOwned: ReadOwned;
  readonly tryLock: TryLock;
  readonly openJournal: <Entry extends Json>(
    path: string,
    decode: (value: Json) => Entry | null,
  ) => Promise<OpenedJournal<Entry>>;
  readonly run: RunProcess;
  readonly probeReplace: ProbeReplace;
  readonly clock: Clock;
  readonly build: Build;
  /** The user it runs as; null where the platform has no such number. */
  readonly uid: number | null;
  /** For the log of the host, never for the wire; paths are called by what they are. */
  readonly remark: (text: string) => void;
  /** Told where things are, as soon as that is read. */
  readonly onTarget?: (config: { readonly root: string; readonly state: string }) => void;
}
