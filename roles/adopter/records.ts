/**
 * What an adopter leaves for people: receipts, failure markers, the summary. None of it is ever read
 * back to decide anything but whether somebody was told already.
 *
 * @module
 */

import { mark, type Marker, markerText, readMarker } from "../../lib/adoption/marker.ts";
import { addReceipt, type Receipt, receiptsShape } from "../../lib/adoption/receipts.ts";
import { type Summary, summaryShape } from "../../lib/adoption/status.ts";
import type { Json } from "../../lib/core/canonical_json.ts";
import { within } from "../../lib/host/paths.ts";
import type { AdopterConfig } from "./config.ts";
import type { AdopterPorts } from "./ports.ts";

/** The two units that can fail. */
export const UNITS = { stage: "anvil-adopter-stage", activate: "anvil-adopter-activate" } as const;
/** One of {@link UNITS}. */
export type Unit = keyof typeof UNITS;

const MOST_BYTES = 4 * 1024 * 1024;
const NOTIFY_MS = 30_000;

/** Which answer the publisher gave last. */
export type Contact = NonNullable<Summary["contact"]>;

/** The records of one host. */
export class Records {
  readonly #config: AdopterConfig;
  readonly #ports: AdopterPorts;

  constructor(config: AdopterConfig, ports: AdopterPorts) {
    this.#config = config;
    this.#ports = ports;
  }

  /** Every receipt, oldest first; null when the file is there and cannot be read. */
  async receipts(): Promise<readonly Receipt[] | null> {
    const read = await this.#read(within(this.#config.state, "receipts.json"));
    if (read === "absent") return [];
    const shaped = receiptsShape.safeParse(read);
    return shaped.success ? shaped.data.receipts : null;
  }

  /** Adds a receipt. A damaged file is kept beside and begun anew: receipts decide nothing. */
  async add(one: Receipt): Promise<void> {
    const { files, remarks } = this.#ports;
    const path = within(this.#config.state, "receipts.json");
    let before = await this.receipts();
    if (before === null) {
      const damaged = await files.readBounded(path, MOST_BYTES);
      if (damaged.kind === "ok") await files.replaceFile(`${path}.damaged`, damaged.bytes, 0o600);
      remarks.error("the receipts were damaged and are begun anew", {
        kept: "receipts.json.damaged",
      });
      before = [];
    }
    await this.#write(path, { schema: 1, receipts: [...addReceipt(before, one)] }, 0o600);
  }

  /** Marks a failure of a unit, and tells somebody when it is time to. */
  async fail(unit: Unit, code: string, detail: string): Promise<void> {
    const { clock, remarks, run } = this.#ports;
    const { policy } = this.#config;
    const failure = {
      unit: UNITS[unit],
      code,
      detail,
      next: `anvil-adopter status; then docs/runbooks/adopter-codes.md, ${code}`,
    };
    const again = policy.renotify_hours * 3_600_000;
    const { marker, notify } = mark(await this.marker(unit), failure, clock.now(), again);
    const bytes = new TextEncoder().encode(markerText(marker));
    await this.#replace(this.#markerPath(unit), bytes, 0o644);
    if (!notify) return;
    remarks.error("{unit} failed: {code}", { unit: failure.unit, code, detail });
    const [program, ...args] = policy.notify;
    if (program === undefined) return;
    const ended = await run({
      argv: [program, ...args],
      env: { PATH: "/run/current-system/sw/bin:/usr/local/bin:/usr/bin:/bin", LC_ALL: "C" },
      stdin: bytes,
      deadlineMs: NOTIFY_MS,
      maxOutputBytes: 64 * 1024,
    });
    if (ended.kind !== "exited" || ended.code !== 0) {
      remarks.warn("nobody was told: the notifier did not succeed", { end: ended.kind });
    }
  }

  /** The unit did its work again: its marker goes. */
  async clear(unit: Unit): Promise<void> {
    if (await this.marker(unit) === null) return;
    if (!await this.#ports.removeFile(this.#markerPath(unit))) {
      this.#ports.remarks.warn("the marker of {unit} cannot be removed", { unit: UNITS[unit] });
      return;
    }
    this.#ports.remarks.info("{unit} is well again", { unit: UNITS[unit] });
  }

  /** The marker of a unit; null when there is none. */
  async marker(unit: Unit): Promise<Marker | null> {
    const read = await this.#ports.files.readBounded(this.#markerPath(unit), 64 * 1024);
    return read.kind === "ok" ? readMarker(new TextDecoder().decode(read.bytes)) : null;
  }

  /** When the publisher was last asked. */
  async contact(): Promise<Contact | null> {
    const read = await this.#read(within(this.#config.state, "contact.json"));
    const shaped = summaryShape.shape.contact.safeParse(read);
    return shaped.success ? shaped.data : null;
  }

  async contacted(code: string, ok: boolean): Promise<void> {
    const at = new Date(this.#ports.clock.now()).toISOString();
    const before = await this.contact();
    const contact = { at, code, ok_at: ok ? at : before?.ok_at ?? null };
    await this.#write(within(this.#config.state, "contact.json"), contact, 0o600);
  }

  /** Writes the summary, for everybody. */
  async summarize(summary: Summary): Promise<void> {
    await this.#write(this.#config.summary, summary, 0o644);
  }

  /** Another adopter holds the lock: told apart from the state it holds. */
  async contended(verb: string): Promise<void> {
    const at = new Date(this.#ports.clock.now()).toISOString();
    await this.#write(within(this.#config.state, "contention.json"), { verb, at }, 0o600);
  }

  #markerPath(unit: Unit): string {
    return within(this.#config.failures, `${UNITS[unit]}.failure`);
  }

  async #read(path: string): Promise<unknown> {
    const read = await this.#ports.files.readBounded(path, MOST_BYTES);
    if (read.kind !== "ok") return read.kind === "absent" ? "absent" : null;
    try {
      return JSON.parse(new TextDecoder().decode(read.bytes));
    } catch {
      return null;
    }
  }

  async #write(path: string, value: unknown, mode: number): Promise<void> {
    const bytes = new TextEncoder().encode(`${JSON.stringify(value as Json)}\n`);
    await this.#replace(path, bytes, mode);
  }

  /** What cannot be recorded is said, and stops nothing: the journal alone decides. */
  async #replace(path: string, bytes: Uint8Array, mode: number): Promise<void> {
    const done = await this.#ports.files.replaceFile(path, bytes, mode);
    if (done.kind === "ok") return;
    const name = path.split("/").at(-1);
    this.#ports.remarks.warn("{name} was not written: {code}", { name, code: done.code });
  }
}
