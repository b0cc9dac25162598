/**
 * An agent wired as `run` wires it, with one operation that hangs until it is told to end. Run by
 * `agent_stop_test.ts`: `agent_child.ts FOLDER`.
 *
 * @module
 */

import { onStopSignal } from "../../lib/host/signals.ts";
import { lampOperation, startAgentRig } from "../support/agent.ts";

const [folder = ""] = Deno.args;
const say = (line: string) => Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));

const lamp = lampOperation(`${folder}/lamps`, async (moment, signal) => {
  if (moment === "before_effect") return;
  say("lit");
  await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
});
const asked = Promise.withResolvers<void>();
const ignore = onStopSignal(() => asked.resolve());
const rig = await startAgentRig(folder, [lamp], { toml: "[limits]\ndrain_seconds = 1\n" });
say(rig.url);
await asked.promise;
await rig[Symbol.asyncDispose]();
ignore();
