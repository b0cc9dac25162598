/**
 * The Windows task scheduler as the supervisor.
 *
 * What it says of a running task is in the language of the machine, so liveness is read from the
 * process table: the process whose command line is the declared one. Windows cannot ask a program
 * without a window to end: a stop without force is refused.
 *
 * Written from its documentation: no Windows was at hand.
 *
 * @module
 */

import { refuse } from "../core/refusal.ts";
import type { RunProcess } from "../core/process.ts";
import type { NativeServe } from "./manifest_shape.ts";
import { notUnderstood, type OsFacts, type ProcessFact, tell } from "./os_facts.ts";
import { familyOf, type Ordered, type SupervisorPort, type UnitFact } from "./supervisor.ts";
import { windowsWord } from "./unit_file.ts";

/** The supervisor. */
export function windowsTask({ run, facts }: {
  readonly run: RunProcess;
  readonly facts: Pick<OsFacts, "processes">;
}): SupervisorPort {
  async function order(signal: AbortSignal, ...args: string[]): Promise<Ordered> {
    const told = await tell(run, ["schtasks.exe", ...args], signal);
    if (told.kind === "unknown") return told;
    return told.code === 0
      ? { kind: "taken" }
      : refuse("order_refused", `schtasks ${args[0]} exited with ${told.code}`);
  }

  return {
    kind: "windows-task",
    async look(serve, signal) {
      const told = await tell(
        run,
        ["schtasks.exe", "/Query", "/TN", serve.unit, "/XML", "ONE"],
        signal,
      );
      if (told.kind === "unknown") return told;
      if (told.code > 1) return notUnderstood(`schtasks exited with ${told.code}`);
      const table = await facts.processes(signal);
      if (table.kind === "unknown") return table;
      const main = table.value.find((one) => isIt(serve, one)) ?? null;
      const unit: UnitFact = {
        loaded: told.code === 0,
        differences: told.code === 0 ? differences(told.text, serve) : [],
        activity: main === null ? "stopped" : "running",
        mainPid: main?.pid ?? null,
        life: null,
        exit: null,
      };
      return { kind: "seen", value: unit };
    },
    start: (serve, signal) => order(signal, "/Run", "/TN", serve.unit),
    ask: () =>
      Promise.resolve(
        refuse(
          "order_refused",
          "Windows can end a program without a window only by killing it",
          "stop it with force",
        ),
      ),
    kill: (serve, signal) => order(signal, "/End", "/TN", serve.unit),
    logs: () => Promise.resolve({ kind: "logs", lines: [], truncated: false }),
    members: (_serve, mainPid, table) => mainPid === null ? [] : familyOf(mainPid, table),
  };
}

function isIt(serve: NativeServe, { commandLine }: ProcessFact): boolean {
  const [program = "", ...args] = serve.argv;
  const rest = args.map(windowsWord).join(" ");
  return [windowsWord(program), `"${program}"`].some((first) =>
    commandLine.trim() === `${first} ${rest}`.trim()
  );
}

function differences(text: string, serve: NativeServe): string[] {
  const of = (name: string) =>
    (new RegExp(`<${name}>([^<]*)</${name}>`).exec(text)?.[1] ?? "")
      .replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"')
      .replaceAll("&amp;", "&");
  const [program = "", ...args] = serve.argv;
  const wrong: string[] = [];
  if (of("Command") !== program) wrong.push("Command is not the program of `argv`");
  if (of("Arguments") !== args.map(windowsWord).join(" ")) {
    wrong.push("Arguments is not the rest of `argv`");
  }
  if (of("WorkingDirectory") !== serve.cwd) wrong.push("WorkingDirectory is not `cwd`");
  return wrong;
}
