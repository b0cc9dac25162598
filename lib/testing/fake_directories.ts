/**
 * The directories port on a {@link FakeDisk}. Each change is two moments, before and after; removing
 * is one more per thing removed, as it is not done at once.
 *
 * @module
 */

import type {
  Directories,
  DirectoryEntry,
  DirectoryFault,
  DirectoryRefusal,
} from "../core/directories.ts";
import { refuse } from "../core/refusal.ts";
import { Died, type FakeDisk, type FakeFile } from "./fake_disk.ts";

/** The directories of `disk`. */
export function fakeDirectories(disk: FakeDisk): Directories {
  const { contents } = disk;
  const alive = () => {
    if (disk.dead) throw new Died("already dead");
  };
  const below = (path: string) => [...contents.keys()].filter((key) => key.startsWith(`${path}/`));
  const isDirectory = (path: string) =>
    contents.get(path)?.kind === "directory" || (!contents.has(path) && below(path).length > 0);
  const exists = (path: string) => contents.has(path) || isDirectory(path);
  return {
    list: (path, most) =>
      promised(() => {
        alive();
        if (contents.get(path)?.kind === "unreadable") return no("directory_unreadable");
        if (!exists(path)) return { kind: "absent" } as const;
        if (!isDirectory(path)) return no("not_a_directory");
        const names = new Set(below(path).map((key) => key.slice(path.length + 1).split("/")[0]));
        if (names.size > most) return no("directory_too_many");
        const entries = [...names].sort().map((name = "") =>
          entryOf(name, contents.get(`${path}/${name}`))
        );
        return { kind: "ok", entries } as const;
      }),
    make: (path) =>
      disk.effect(() => {
        if (exists(path)) return isDirectory(path) ? done : no("not_a_directory");
        if (disk.full) return no("directory_no_space");
        const parts = path.split("/");
        for (let end = 2; end <= parts.length; end++) {
          const parent = parts.slice(0, end).join("/");
          if (exists(parent) && !isDirectory(parent)) return no("directory_unwritable");
          if (!exists(parent)) contents.set(parent, { kind: "directory" });
        }
        return done;
      }),
    move: (from, to) =>
      disk.effect(() => {
        if (exists(to)) return no("directory_exists");
        if (!exists(from)) return no("directory_unwritable");
        if (!isDirectory(from)) return no("not_a_directory");
        for (const key of [from, ...below(from)]) {
          const file = contents.get(key);
          contents.delete(key);
          if (file !== undefined) contents.set(`${to}${key.slice(from.length)}`, file);
        }
        return done;
      }),
    remove: (path) =>
      promised(() => {
        disk.moment();
        if (!exists(path)) return done;
        if (!isDirectory(path)) return no("not_a_directory");
        for (const key of below(path).sort().reverse()) {
          contents.delete(key);
          disk.moment();
        }
        contents.delete(path);
        disk.moment();
        return done;
      }),
  };
}

const done = { kind: "ok" } as const;

function entryOf(name: string, file: FakeFile | undefined): DirectoryEntry {
  if (file === undefined || file.kind === "directory") {
    return { name, kind: "directory", size: 0, executable: false };
  }
  if (file.kind !== "file") {
    const kind = file.kind === "link" ? "link" : "file";
    return { name, kind, size: 0, executable: false };
  }
  return { name, kind: "file", size: file.bytes.length, executable: (file.mode & 0o111) !== 0 };
}

function no(code: DirectoryFault): DirectoryRefusal {
  return { ...refuse(code, `the fake disk says ${code}`), cause: "fake" };
}

function promised<T>(act: () => T): Promise<T> {
  return Promise.resolve().then(act);
}
