/**
 * The operator in this process before agents whose serves or changes run on hosts in memory; its
 * words are kept in the order in which they came.
 *
 * @module
 */

import { runProgram } from "../../lib/terminal/program.ts";
import { NAME, operatorApp } from "../../roles/operator/app.ts";
import { operatorAt, type Said } from "../fixtures/operator_cli.ts";
import { TOKENS } from "./agent.ts";
import { type DispatchRig, dispatchRig } from "./dispatch.ts";

/** How a command is run. */
export interface Manner {
  readonly terminal?: boolean;
  /** Ctrl-C comes when this resolves. */
  readonly stopped?: Promise<void>;
  /** Told every word at once; `stop` is what Ctrl-C does. */
  readonly onSaid?: (said: string, stop: () => void) => void;
}

/** The operator of hosts that listen on these ports. */
export class ServesOperator implements AsyncDisposable {
  readonly rig: DispatchRig;

  private constructor(rig: DispatchRig) {
    this.rig = rig;
  }

  /** Each host's token is good for everything unless `tokens` has another. */
  static async over(
    hosts: readonly (readonly [id: string, url: string])[],
    tokens: Readonly<Record<string, string>> = {},
  ): Promise<ServesOperator> {
    const ports = hosts.map(([id, url]) => [id, Number(new URL(url).port)] as const);
    const all = Object.fromEntries(hosts.map(([id]) => [id, TOKENS.all]));
    return new ServesOperator(await dispatchRig(ports, { ...all, ...tokens }));
  }

  /** Runs one command line. */
  async run(
    words: string,
    { terminal = false, onSaid = () => {}, stopped }: Manner = {},
  ): Promise<Said> {
    let out = "";
    let err = "";
    const stops = new Set<() => void>();
    const stop = () => [...stops].forEach((one) => one());
    stopped?.then(stop);
    const at = operatorAt(this.rig.folder.at("home"));
    const operator = {
      ...at,
      dispatch: {
        ...at.dispatch,
        onStop: (handler: () => void) => {
          stops.add(handler);
          return () => void stops.delete(handler);
        },
      },
    };
    const build = { name: NAME, version: "0", build_digest: null, deno: "0", platform: "test" };
    const args = [...words.split(" "), ...this.rig.flags];
    const code = await runProgram(operatorApp(operator), build, args, {
      out: (text) => {
        out += text;
        onSaid(text, stop);
      },
      err: (text) => {
        err += text;
        onSaid(text, stop);
      },
      isTerminal: terminal,
      color: false,
    });
    return { code, out, err };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.rig[Symbol.asyncDispose]();
  }
}
