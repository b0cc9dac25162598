/**
 * What the adopter needs of the world, gathered once by `main.ts`.
 *
 * @module
 */

import type { CanConnect } from "../../lib/adoption/probes/probes.ts";
import type { Json } from "../../lib/core/canonical_json.ts";
import type { Clock } from "../../lib/core/clock.ts";
import type { Directories } from "../../lib/core/directories.ts";
import type { Download } from "../../lib/core/download.ts";
import type { Files } from "../../lib/core/files.ts";
import type { RandomBytes } from "../../lib/core/ids.ts";
import type { Journal } from "../../lib/core/journal.ts";
import type { TryLock } from "../../lib/core/lock.ts";
import type { RunProcess } from "../../lib/core/process.ts";
import type { Refusal } from "../../lib/core/refusal.ts";
import type { Remarks } from "../../lib/core/remarks.ts";
import type { Backend } from "../../lib/adoption/backend.ts";
import type { Upstream } from "../../lib/relay/upstream.ts";
import type { AdopterConfig } from "./config.ts";

/** The ports. */
export interface AdopterPorts {
  readonly files: Files;
  readonly directories: Directories;
  /** Removes a file; one that is not there is fine. False: the operating system said no. */
  readonly removeFile: (path: string) => Promise<boolean>;
  readonly tryLock: TryLock;
  readonly openJournal: <Entry extends Json>(
    path: string,
    decode: (value: Json) => Entry | null,
  ) => Promise<
    | { readonly kind: "open"; readonly journal: Journal<Entry> & AsyncDisposable }
    | { readonly kind: "busy" }
    | (Refusal<"journal_unavailable"> & { readonly cause: string })
  >;
  readonly run: RunProcess;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly sha256: (data: Uint8Array | string) => Uint8Array;
  readonly download: Download;
  readonly upstream: Upstream;
  readonly canConnect: CanConnect;
  readonly remarks: Remarks;
  /** The user the adopter runs as; null where there is none, on Windows. */
  readonly uid: number | null;
  /** `linux`, `darwin`. */
  readonly os: string;
  /** When this software was built, in milliseconds since the epoch: no clock is before it. */
  readonly builtAt: number;
  /** Stands in for the backend of the configuration; tests bring one. */
  readonly backend?: (config: AdopterConfig) => Backend;
}
