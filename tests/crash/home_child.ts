/**
 * Materialises a commit and kills itself, as `kill -9` does, at a chosen step: before or after each
 * change to the disk. Run by `home_test.ts`.
 *
 *     home_child.ts HOME REPO REV STEP
 *
 * @module
 */

import type { Json } from "../../lib/core/canonical_json.ts";
import { systemClock } from "../../lib/host/clock.ts";
import { sha256 } from "../../lib/host/digest.ts";
import { systemDirectories } from "../../lib/host/directories.ts";
import { systemFiles } from "../../lib/host/files.ts";
import { openJournal } from "../../lib/host/journal.ts";
import { tryLock } from "../../lib/host/lock.ts";
import { runProcess } from "../../lib/host/process.ts";
import { materialize } from "../../lib/home/materialize.ts";
import type { HomePorts } from "../../lib/home/ports.ts";

const [home = "", repo = "", rev = "", step = ""] = Deno.args;
let steps = 0;

function moment(): void {
  if (steps++ === Number(step)) Deno.kill(Deno.pid, "SIGKILL");
}

async function stepped<Outcome>(act: () => Promise<Outcome>): Promise<Outcome> {
  moment();
  const outcome = await act();
  moment();
  return outcome;
}

const ports: HomePorts = {
  files: {
    ...systemFiles,
    replaceFile: (...args) => stepped(() => systemFiles.replaceFile(...args)),
  },
  directories: {
    list: systemDirectories.list,
    make: (path) => stepped(() => systemDirectories.make(path)),
    move: (from, to) => stepped(() => systemDirectories.move(from, to)),
    remove: (path) => stepped(() => systemDirectories.remove(path)),
  },
  tryLock,
  openJournal: async <Entry extends Json>(path: string, decode: (value: Json) => Entry | null) => {
    const opened = await openJournal<Entry>(path, decode);
    if (opened.kind !== "open") return opened;
    const { journal } = opened;
    return {
      kind: "open",
      journal: {
        read: () => journal.read(),
        append: (entry: Entry) => stepped(() => journal.append(entry)),
        [Symbol.asyncDispose]: () => journal.close(),
      },
    };
  },
  run: runProcess,
  clock: systemClock,
  sha256,
  searchPath: Deno.env.get("PATH") ?? "/usr/bin:/bin",
};

const outcome = await materialize(ports, home, { repo, rev, path: "", by: "child" });
console.log(outcome.kind);
