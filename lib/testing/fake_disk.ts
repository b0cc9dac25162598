/**
 * A disk in memory that outlives the death of the flow that writes on it, and deals out that death
 * at a chosen moment: before an effect, in the middle of it, after it.
 *
 * It dies as `kill -9` does: what was written stays. It does not lose unflushed writes as a power
 * cut does.
 *
 * @module
 */

import type { Json } from "../core/canonical_json.ts";
import type { FileFault, FileRefusal, Files } from "../core/files.ts";
import type { Journal } from "../core/journal.ts";
import { CorruptLine, decodeLines, encodeLine } from "../core/json_lines.ts";
import type { LockOutcome, TryLock } from "../core/lock.ts";
import { refuse } from "../core/refusal.ts";

/** What a flow gets when its moment has come, and from every later call until the restart. */
export class Died extends Error {
  override readonly name = "Died";
}

/** One thing under a path. */
export type FakeFile =
  | { readonly kind: "file"; readonly bytes: Uint8Array; readonly mode: number }
  | { readonly kind: "directory" | "link" | "unreadable" | "other_owner" };

/** The disk. Directories exist when something is in them, or when they were put there. */
export class FakeDisk {
  readonly contents = new Map<string, FakeFile>();
  /** While true, nothing can be written: ENOSPC. */
  full = false;
  /** Moments passed since the start or restart. */
  moments = 0;
  #dieAt: number | null = null;
  #dead = false;
  readonly #locks = new Set<string>();

  /** Dies at the `moment`th moment from now on, the first being 0. */
  dieAt(moment: number): void {
    this.#dieAt = this.moments + moment;
  }

  get dead(): boolean {
    return this.#dead;
  }

  /** A new process on the same disk: locks are gone, contents stay. */
  restart(): void {
    this.#dead = false;
    this.#dieAt = null;
    this.moments = 0;
    this.#locks.clear();
  }

  /** A point at which the process can die. */
  moment(): void {
    this.#alive();
    if (this.moments++ === this.#dieAt) {
      this.#dead = true;
      throw new Died("died here");
    }
  }

  /** Any other effect on the world that outlives us: two moments, before and after. */
  async effect<T>(act: () => T | Promise<T>): Promise<T> {
    this.moment();
    const result = await act();
    this.moment();
    return result;
  }

  /** The files port on this disk. Replacing has three moments; a death at the second leaves a temp. */
  readonly files: Files = {
    readBounded: (path, maxBytes) => {
      this.#alive();
      const found = this.contents.get(path);
      if (found === undefined) return Promise.resolve({ kind: "absent" });
      if (found.kind === "unreadable") return Promise.resolve(no("file_unreadable"));
      if (found.kind === "directory") return Promise.resolve(no("file_not_regular"));
      if (found.kind !== "file") return Promise.resolve(no("file_unreadable"));
      if (found.bytes.length > maxBytes) return Promise.resolve(no("file_too_large"));
      return Promise.resolve({ kind: "ok", bytes: Uint8Array.from(found.bytes) });
    },
    replaceFile: (path, bytes, mode) =>
      promised(() => {
        this.moment();
        if (this.full) return no("file_no_space");
        const name = path.slice(path.lastIndexOf("/") + 1);
        const directory = path.slice(0, path.lastIndexOf("/"));
        if (!this.#holds(directory)) return no("file_unwritable");
        const temp = `${directory}/.${name}.0.tmp`;
        this.contents.set(temp, { kind: "file", bytes: Uint8Array.from(bytes), mode });
        this.moment();
        this.contents.delete(temp);
        if (this.contents.get(path)?.kind === "directory") return no("file_unwritable");
        this.contents.set(path, { kind: "file", bytes: Uint8Array.from(bytes), mode });
        this.moment();
        return { kind: "ok" } as const;
      }),
    checkPrivate: (path) => {
      this.#alive();
      const found = this.contents.get(path);
      if (found === undefined) return Promise.resolve({ kind: "absent" });
      if (found.kind === "link") return Promise.resolve(refuse("file_is_link", "a link"));
      if (found.kind === "other_owner") {
        return Promise.resolve(refuse("file_not_owned", "another owner"));
      }
      if (found.kind !== "file") return Promise.resolve(refuse("file_not_regular", "no file"));
      return Promise.resolve(
        found.mode === 0o600 || found.mode === 0o400
          ? { kind: "private" }
          : refuse("file_not_private", `mode ${found.mode.toString(8)}`),
      );
    },
  };

  /** A journal at `path`. Appending has three moments; a death at the second leaves half a line. */
  journal<Entry extends Json>(
    path: string,
    decode: (value: Json) => Entry | null = (value) => value as Entry,
  ): Journal<Entry> {
    const read = () => {
      this.#alive();
      const found = this.contents.get(path);
      const bytes = found?.kind === "file" ? found.bytes : new Uint8Array(0);
      const { values, wholeBytes } = decodeLines(bytes);
      const entries = values.map((value, index) => {
        const entry = decode(value);
        if (entry === null) throw new CorruptLine(index + 1, "not an entry of this journal");
        return entry;
      });
      return { entries, whole: bytes.subarray(0, wholeBytes) };
    };
    const put = (bytes: Uint8Array) =>
      this.contents.set(path, { kind: "file", bytes, mode: 0o600 });
    return {
      read: () => promised(() => read().entries),
      append: (entry) =>
        promised(() => {
          this.moment();
          const { whole } = read();
          if (this.full) throw Object.assign(new Error("no space"), { code: "ENOSPC" });
          const line = new TextEncoder().encode(encodeLine(entry));
          put(joined(whole, line.subarray(0, line.length >> 1)));
          this.moment();
          put(joined(whole, line));
          this.moment();
        }),
    };
  }

  /** The lock port on this disk. */
  readonly tryLock: TryLock = (path) =>
    promised((): LockOutcome => {
      this.#alive();
      if (this.contents.get(path)?.kind === "directory") {
        return { ...refuse("lock_unavailable", "the lock file cannot be opened"), cause: "EISDIR" };
      }
      if (this.#locks.has(path)) return { kind: "busy" };
      this.#locks.add(path);
      let mine = true;
      const release = () => {
        if (mine) this.#locks.delete(path);
        mine = false;
        return Promise.resolve();
      };
      return { kind: "held", release, [Symbol.asyncDispose]: release };
    });

  #alive(): void {
    if (this.#dead) throw new Died("already dead");
  }

  #holds(directory: string): boolean {
    if (this.contents.get(directory)?.kind === "directory") return true;
    return [...this.contents.keys()].some((path) => path.startsWith(`${directory}/`));
  }
}

function no(code: FileFault): FileRefusal {
  return { ...refuse(code, `the fake disk says ${code}`), cause: "fake" };
}

/** What the real thing rejects with, the fake must not throw. */
function promised<T>(act: () => T): Promise<T> {
  return Promise.resolve().then(act);
}

function joined(left: Uint8Array, right: Uint8Array): Uint8Array {
  const both = new Uint8Array(left.length + right.length);
  both.set(left);
  both.set(right, left.length);
  return both;
}
