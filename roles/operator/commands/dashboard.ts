/** `anvil-operator dashboard`. @module */

import { buildCommand } from "@stricli/core";
import { printEnvelope, type ProgramContext } from "../../../lib/terminal/program.ts";
import { type Dashboard, startDashboard } from "../dashboard/dashboard.ts";
import { DISPATCH_FLAGS, type DispatchFlags } from "../dispatch_flags.ts";
import type { Operator } from "../operator.ts";
import { reportFailure } from "../report.ts";

type Flags =
  & Pick<DispatchFlags, "json" | "home" | "topology" | "tokens" | "ca" | "connectTimeout">
  & {
    readonly port: number;
    readonly operatorTokens: boolean;
  };

/** Streams end at once; a browser that holds on is not waited for longer than this, in milliseconds. */
const STOP_MS = 2000;

/** Serves one local web page about the fleet until it is told to stop. */
export function dashboardCommand(operator: Operator) {
  const { json, home, topology, tokens, ca, connectTimeout } = DISPATCH_FLAGS;
  return buildCommand<Flags, [], ProgramContext>({
    parameters: {
      flags: {
        json: { ...json, brief: "Print one JSON envelope with the address, then nothing more" },
        ...{ home, topology, tokens, ca, connectTimeout },
        port: {
          kind: "parsed",
          parse: portOf,
          default: "8790",
          brief: "Port on 127.0.0.1; 0 takes one that is free",
          placeholder: "N",
        },
        operatorTokens: {
          kind: "boolean",
          default: false,
          withNegated: false,
          brief: "Where the dashboard has no token of its own, use the operator's",
        },
      },
    },
    docs: {
      brief: "Serve one local web page: the fleet, what is served where, adoption, events",
      fullDescription:
        "Listens on 127.0.0.1 alone and prints the address; nothing is opened. The page only reads:\n" +
        "hosts are asked a fixed list of reads, while somebody looks, each with the token\n" +
        "HOST-dashboard of the store. Runs until a stop signal, then exits 0.\n\n" +
        "Make a token per host once:\n" +
        "  anvil-operator tokens issue --target host:gpu-a --client dashboard --scope '*:read'\n\n" +
        "Examples:\n  anvil-operator dashboard\n  anvil-operator dashboard --port 0 --json",
    },
    async func(flags) {
      const { terminal } = this;
      const stopped = Promise.withResolvers<void>();
      const ignore = operator.dispatch.onStop(() => stopped.resolve());
      try {
        // Git says where a home is; with a file there is no home to ask about.
        await operator.narrow(flags.topology === undefined ? ["ssh"] : "all");
        const started = await startDashboard(operator, flags, (line) => {
          terminal.err(`dashboard: ${line}\n`);
        });
        if (started.kind !== "listening") return reportFailure(this, started, flags.json);
        told(this, started, flags.json);
        await stopped.promise;
        const { clock } = operator.ports;
        await Promise.race([started.stop(), clock.sleep(STOP_MS)]);
      } finally {
        ignore();
      }
    },
  });
}

function told(context: ProgramContext, { url, watch }: Dashboard, json: boolean): void {
  const { fingerprint, hosts } = watch.watched;
  if (json) {
    const data = { url, fingerprint, hosts: hosts.length };
    return printEnvelope(context, { ok: true, data, problems: [] });
  }
  context.terminal.out(`${url}\n`);
  if (context.terminal.isTerminal) {
    context.terminal.err(`${hosts.length} hosts, read-only; Ctrl-C ends it\n`);
  }
}

function portOf(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535) {
    throw new SyntaxError("expected a port from 0 to 65535");
  }
  return port;
}
