/**
 * An adopter that dies at its `STEP`th effect on the world: a line of the journal, a file, a program.
 * Run by `adopter_test.ts`.
 *
 *     adopter_child.ts FOLDER STEP       STEP -1 lives; says how it ended and how many steps there were
 *
 * @module
 */

import type { Journal } from "../../lib/core/journal.ts";
import type { Json } from "../../lib/core/canonical_json.ts";
import { openAdopter } from "../../roles/adopter/adopter.ts";
import { adopt } from "../../roles/adopter/verbs/adopt.ts";
import { adopterConfig, hostPorts } from "../support/adopter_rig.ts";

const [folder = "", step = "-1"] = Deno.args;
const deadline = setTimeout(() => {
  throw new Error("nobody ended it");
}, 60_000);
let steps = 0;

/** The kill of this process by itself is as good as anybody's: nothing of ours runs after it. */
function moment(): void {
  if (steps++ === Number(step)) Deno.kill(Deno.pid, "SIGKILL");
}

async function around<T>(act: () => Promise<T>): Promise<T> {
  moment();
  const done = await act();
  moment();
  return done;
}

const real = hostPorts(folder);
const config = adopterConfig(await Deno.readTextFile(`${folder}/adopter.toml`));
const opened = await openAdopter(
  config,
  {
    ...real,
    files: {
      ...real.files,
      replaceFile: (path, bytes, mode) => around(() => real.files.replaceFile(path, bytes, mode)),
    },
    run: (ask) => ask.argv[0] === "systemctl" ? around(() => real.run(ask)) : real.run(ask),
    openJournal: async <Entry extends Json>(
      path: string,
      decode: (value: Json) => Entry | null,
    ) => {
      const one = await real.openJournal(path, decode);
      if (one.kind !== "open") return one;
      const { journal } = one;
      const watched: Journal<Entry> & AsyncDisposable = {
        read: () => journal.read(),
        append: (entry) => around(() => journal.append(entry)),
        [Symbol.asyncDispose]: () => journal[Symbol.asyncDispose](),
      };
      return { kind: "open" as const, journal: watched };
    },
  },
  { who: "crash", kind: "timer" },
  "adopt",
);
if (opened.kind !== "open") throw new Error(JSON.stringify(opened));
const outcome = await adopt(opened, { rules: [], why: "" });
const slots = await opened.adoption.slots();
await opened[Symbol.asyncDispose]();
real.download.close();
clearTimeout(deadline);
console.log(JSON.stringify({ code: outcome.code, ending: slots.last?.ending.kind ?? null, steps }));
