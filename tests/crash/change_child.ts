/**
 * A life of the agent's machines in a process of its own that kills itself at one moment. Run by
 * `tests/real/changes_killed_test.ts`.
 *
 *     change_child.ts PLACE WHAT MOMENT       MOMENT -1 lives, and tells every moment
 *
 * @module
 */

import { beginChange, type What } from "../support/change_asks.ts";
import { changeLife, placeOf } from "../support/change_rig.ts";

const [place = "", what = "", at = "-1"] = Deno.args;
const deadline = setTimeout(() => Deno.kill(Deno.pid, "SIGKILL"), 60_000);
const moments: string[] = [];

const life = await changeLife(placeOf(place), (name) => {
  // The kill of this process by itself is as good as anybody's: nothing of ours runs after it.
  if (moments.length === Number(at)) {
    Deno.stdout.writeSync(new TextEncoder().encode(`dies: ${name}\n`));
    Deno.kill(Deno.pid, "SIGKILL");
  }
  moments.push(name);
});
const end = await beginChange(life, what as What, placeOf(place).ports);
life.close();
clearTimeout(deadline);
Deno.stdout.writeSync(
  new TextEncoder().encode(`${JSON.stringify({ moments, end })}\n`),
);
