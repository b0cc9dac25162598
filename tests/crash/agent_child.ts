/**
 * An agent in a process of its own that dies at one moment of `lamp.light`. Run by `agent_test.ts`.
 *
 *     agent_child.ts FOLDER MOMENT       MOMENT "none" lives
 *
 * @module
 */

import { z } from "zod";
import { defineMutation } from "../../lib/operation/operation.ts";
import { startAgentRig } from "../support/agent.ts";
import type { Moment } from "./agent_test.ts";

const [folder = "", dies = "none"] = Deno.args;
const deadline = setTimeout(() => {
  throw new Error("nobody ended it");
}, 60_000);

/** The kill of this process by itself is as good as anybody's: nothing of ours runs after it. */
function at(moment: Moment): true {
  if (moment === dies) Deno.kill(Deno.pid, "SIGKILL");
  return true;
}

const lamp = defineMutation({
  name: "lamp.light",
  brief: "Light a lamp",
  effect: "mutate",
  destructive: false,
  roles: null,
  deadlineMs: 30_000,
  input: z.strictObject({ lamp: z.string().refine(() => at("before claim")) }),
  output: z.strictObject({ lit: z.string().refine(() => at("before settle")) }),
  plan: ({ lamp }) => {
    at("after claim");
    return Promise.resolve({ kind: "ok" as const, value: { lamp } });
  },
  run: async ({ lamp }, { step }) => {
    step("light", "unknown");
    at("mid-run");
    if (dies === "from outside") {
      Deno.stdout.writeSync(new TextEncoder().encode("hangs\n"));
      await new Promise(() => {});
    }
    Deno.writeTextFileSync(`${folder}/lamps`, `${lamp}\n`, { append: true });
    at("after effect");
    step("lit", "applied");
    return { kind: "ok" as const, value: { lit: lamp } };
  },
});

const rig = await startAgentRig(folder, [lamp]);
Deno.stdout.writeSync(new TextEncoder().encode(`${rig.url}\n`));
clearTimeout(deadline);
Deno.unrefTimer(setTimeout(() => Deno.kill(Deno.pid, "SIGKILL"), 60_000));
