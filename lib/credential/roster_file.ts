/**
 * The clients file: read at start, and again whenever it changes, so that tokens rotate without a
 * restart. A file that became wrong changes nothing: the clients known before stay known, loudly.
 *
 * @module
 */

import type { Clock } from "../core/clock.ts";
import type { Files } from "../core/files.ts";
import type { Checked, Problem } from "../core/problem.ts";
import type { Remarks } from "../core/remarks.ts";
import { type Clients, Roster, type Sha256 } from "./clients.ts";

/** How often the file is looked at, in milliseconds. */
const LOOK_MS = 1000;
/** No clients file is larger. */
export const MOST_CLIENTS_BYTES = 4 * 1024 * 1024;

/** What a roster file needs. */
export interface RosterPorts<Scope extends string> {
  /** Reads the file's text. */
  readonly read: (text: string) => Checked<Clients<Scope>>;
  readonly files: Files;
  readonly clock: Clock;
  readonly sha256: Sha256;
  readonly remarks: Remarks;
}

/** A roster that follows its file. */
export class RosterFile<Scope extends string> {
  readonly #path: string;
  readonly #ports: RosterPorts<Scope>;
  readonly #stop = new AbortController();
  #text: string;
  #roster: Roster<Scope>;
  #trouble: string | null = null;

  private constructor(
    path: string,
    ports: RosterPorts<Scope>,
    text: string,
    roster: Roster<Scope>,
  ) {
    this.#path = path;
    this.#ports = ports;
    this.#text = text;
    this.#roster = roster;
  }

  /** Reads the file; every problem, when it cannot be used. */
  static async open<Scope extends string>(
    path: string,
    ports: RosterPorts<Scope>,
  ): Promise<Checked<RosterFile<Scope>>> {
    const read = await readText(path, ports.files);
    if (read.kind === "invalid") return read;
    const clients = ports.read(read.model);
    if (clients.kind === "invalid") return clients;
    const roster = new Roster(clients.model, ports.sha256);
    const privacy = await ports.files.checkPrivate(path);
    if (privacy.kind === "unknown") {
      ports.remarks.warn("whether the clients file is private is not known: {detail}", {
        detail: privacy.detail,
      });
    }
    return { kind: "ok", model: new RosterFile(path, ports, read.model, roster) };
  }

  /** The clients known now. */
  get roster(): Roster<Scope> {
    return this.#roster;
  }

  /** Follows the file until {@link RosterFile.close}. */
  async follow(): Promise<void> {
    const { clock } = this.#ports;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await clock.sleep(LOOK_MS, signal).catch(() => {});
      if (!signal.aborted) await this.look();
    }
  }

  /** Reads the file once more. */
  async look(): Promise<void> {
    const { files, remarks, sha256 } = this.#ports;
    const read = await readText(this.#path, files);
    if (read.kind === "ok" && read.model === this.#text) {
      this.#trouble = null;
      return;
    }
    const clients = read.kind === "ok" ? this.#ports.read(read.model) : read;
    if (clients.kind === "invalid") {
      const trouble = clients.problems.map(({ path, code }) => `${path}: ${code}`).join(", ");
      if (trouble !== this.#trouble) {
        remarks.error("the clients file cannot be used, the clients known before stay: {trouble}", {
          trouble,
        });
      }
      this.#trouble = trouble;
      return;
    }
    this.#trouble = null;
    if (read.kind === "ok") this.#text = read.model;
    this.#roster = new Roster(clients.model, sha256);
    remarks.info("{count} clients are known now", { count: clients.model.clients.length });
  }

  /** Stops following. */
  close(): void {
    this.#stop.abort();
  }
}

async function readText(path: string, files: Files): Promise<Checked<string>> {
  const privacy = await files.checkPrivate(path);
  if (privacy.kind === "absent") {
    return invalid("file_absent", "there is no such file; make one with `tokens add`");
  }
  if (privacy.kind === "refused") {
    return invalid(privacy.code, `${privacy.detail}; \`chmod 600\` it and own it`);
  }
  const read = await files.readBounded(path, MOST_CLIENTS_BYTES);
  if (read.kind === "absent") return invalid("file_absent", "the file vanished while it was read");
  if (read.kind === "refused") return invalid(read.code, read.detail);
  const text = textOf(read.bytes);
  return text === null
    ? invalid("not_utf8", "the file is not UTF-8 text")
    : { kind: "ok", model: text };
}

function invalid(code: string, message: string): Checked<never> {
  const problem: Problem = { path: "$", code, message };
  return { kind: "invalid", problems: [problem] };
}

/** UTF-8 text of `bytes`; null when they are not. */
export function textOf(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
