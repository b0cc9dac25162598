/**
 * An agent with its changes in a process of its own, over a real router and a supervisor of real
 * engines. Killed from outside by `agent_changes_test.ts`.
 *
 *     agent_change_child.ts PLACE
 *
 * @module
 */

import { startAgentRig } from "../support/agent.ts";
import { changeLife, placeOf } from "../support/change_rig.ts";

const place = placeOf(Deno.args[0] ?? "");
const { survey } = await changeLife(place);
const rig = await startAgentRig(`${place.folder}/agent`, [], {
  roles: ["serving", "router"],
  toml: `[router]\nadmin = "http://127.0.0.1:${place.ports.admin}"\n` +
    `token_file = "${place.folder}/router.token"\nconfig = "${place.folder}/router.toml"\n` +
    `unit = "not-used.service"\n`,
  serves: {
    facts: () => Promise.resolve(survey.facts),
    handsFor: () => Promise.resolve(survey.hands),
  },
});
Deno.stdout.writeSync(new TextEncoder().encode(`${rig.url}\n`));
Deno.unrefTimer(setTimeout(() => Deno.kill(Deno.pid, "SIGKILL"), 120_000));
