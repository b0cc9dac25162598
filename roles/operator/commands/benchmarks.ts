/** `anvil-operator benchmarks ...`. @module */

import { textFlag } from "../flags.ts";
import { buildCommand, buildRouteMap } from "@stricli/core";
import type { Json } from "../../../lib/core/canonical_json.ts";
import type { ProgramContext } from "../../../lib/terminal/program.ts";
import {
  benchmarkCancelled,
  benchmarkEnded,
  benchmarkList,
  benchmarkPlan,
  benchmarkResult,
} from "../benchmark_text.ts";
import { type ChangeFlags, changeFlags, lookFlags } from "../change_flags.ts";
import { runChange } from "../change_run.ts";
import { lookAtOne, type TargetFlags } from "../one_host.ts";
import type { Operator } from "../operator.ts";

/** The commands on benchmarks. */
export function benchmarksRoutes(operator: Operator) {
  return buildRouteMap({
    routes: {
      run: runCommand(operator),
      status: statusCommand(operator),
      cancel: cancelCommand(operator),
      result: resultCommand(operator),
    },
    docs: { brief: "Measure a model on its host, follow that, and see what came of it" },
  });
}

interface RunFlags extends ChangeFlags {
  readonly of?: Subject;
  readonly corpus?: string;
  readonly corpusDigest?: string;
  readonly repeats?: number;
  readonly concurrency?: number;
  readonly topLogprobs?: number;
  readonly requestSeconds?: number;
  readonly deadline?: number;
  readonly resume?: string;
}

interface Subject {
  readonly kind: string;
  readonly name: string;
}

function subjectOf(text: string): Subject {
  const [, kind, name] = /^(serve|member|alias):(.+)$/.exec(text) ?? [];
  if (kind === undefined || name === undefined) {
    throw new SyntaxError("expected serve:NAME, member:NAME or alias:NAME");
  }
  return { kind, name };
}

function wholeNumber(text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new SyntaxError("expected a whole number");
  return Number(text);
}

const count = (brief: string, placeholder: string) =>
  ({ kind: "parsed", parse: wholeNumber, optional: true, brief, placeholder }) as const;

function runCommand(operator: Operator) {
  return buildCommand<RunFlags, [], ProgramContext>({
    parameters: {
      flags: {
        ...changeFlags(operator),
        of: {
          kind: "parsed",
          parse: subjectOf,
          optional: true,
          brief:
            "serve:NAME of serves.toml, member:NAME of agent.toml, or alias:NAME by the router",
          placeholder: "KIND:NAME",
        },
        corpus: textFlag("What is asked: chat, code, long-prompt, refusal-bait", "CORPUS"),
        corpusDigest: textFlag("Refuse unless the host has the corpus of this digest", "HEX"),
        repeats: count("Times each prompt is asked (default: 1)", "N"),
        concurrency: count("Requests at a time (default: 1)", "N"),
        topLogprobs: count("Likeliest tokens asked for at each place (default: 5)", "N"),
        requestSeconds: count("Seconds one request may take (default: 120)", "S"),
        deadline: count("Seconds after which no more is asked (default: 1800)", "S"),
        resume: textFlag("Go on with this benchmark instead", "BENCHMARK"),
      },
    },
    docs: {
      brief: "Measure a model on its host, and follow that",
      fullDescription:
        "One at a time on a host. Nothing is sent twice: a request that fails is an error of the\n" +
        "measurement. Ctrl-C here leaves the benchmark running; --key joins it, and\n" +
        "`benchmarks cancel` ends it. What did not come to its end is gone on with by --resume.\n\n" +
        "Examples:\n" +
        "  anvil-operator benchmarks run --target host:gpu-a --of serve:primary --corpus chat\n" +
        "  anvil-operator benchmarks run --target host:gpu-a --of alias:llm.primary --corpus code " +
        "--repeats 3 --concurrency 8\n" +
        "  anvil-operator benchmarks run --target host:gpu-a --resume bench-000007",
    },
    async func(flags) {
      await runChange(this, operator, flags, {
        name: "benchmarks.run",
        input: inputOf(flags),
        destructive: false,
        plan: benchmarkPlan,
        show: benchmarkEnded,
        more: "benchmarks status",
      });
    },
  });
}

/** What was said, and nothing else: the agent has the defaults, and the words for what is missing. */
function inputOf(flags: RunFlags): { readonly [key: string]: Json } {
  const said: { readonly [key: string]: Json | undefined } = {
    target: flags.of === undefined ? undefined : { ...flags.of },
    corpus: flags.corpus,
    corpus_digest: flags.corpusDigest,
    repeats: flags.repeats,
    concurrency: flags.concurrency,
    top_logprobs: flags.topLogprobs,
    request_seconds: flags.requestSeconds,
    deadline_seconds: flags.deadline,
    resume: flags.resume,
  };
  return Object.fromEntries(
    Object.entries(said).flatMap(([key, value]) => value === undefined ? [] : [[key, value]]),
  );
}

function statusCommand(operator: Operator) {
  return buildCommand<TargetFlags & { readonly id?: string }, [], ProgramContext>({
    parameters: {
      flags: { ...lookFlags(operator), id: textFlag("This one alone", "BENCHMARK") },
    },
    docs: {
      brief: "Say how far benchmarks of a host are, or how they ended",
      fullDescription: "Example:\n  anvil-operator benchmarks status --target host:gpu-a",
    },
    async func({ id, ...flags }) {
      const input = id === undefined ? {} : { id };
      const look = { name: "benchmarks.status", input, show: benchmarkList };
      await lookAtOne(this, operator, flags, look);
    },
  });
}

function cancelCommand(operator: Operator) {
  return buildCommand<ChangeFlags & { readonly id?: string }, [], ProgramContext>({
    parameters: {
      flags: {
        ...changeFlags(operator),
        id: textFlag("This one, or none; without it whichever runs", "BENCHMARK"),
      },
    },
    docs: {
      brief: "End the benchmark that runs on a host",
      fullDescription: "What was asked so far is kept as evidence that says it is a part.\n\n" +
        "Example:\n  anvil-operator benchmarks cancel --target host:gpu-a",
    },
    async func({ id, ...flags }) {
      await runChange(this, operator, flags, {
        name: "benchmarks.cancel",
        input: id === undefined ? {} : { id },
        destructive: false,
        plan: ({ host }) => `the benchmark that runs on ${host} is ended\n`,
        show: benchmarkCancelled,
        more: "benchmarks status",
      });
    },
  });
}

function resultCommand(operator: Operator) {
  return buildCommand<TargetFlags, [string], ProgramContext>({
    parameters: {
      flags: lookFlags(operator),
      positional: {
        kind: "tuple",
        parameters: [{ brief: "As bench-000007", parse: String, placeholder: "BENCHMARK" }],
      },
    },
    docs: {
      brief: "Show the evidence of a benchmark, with its conditions",
      fullDescription:
        "Shown, not kept: `evidence fetch` takes it over, with the answers that parity compares.\n\n" +
        "Example:\n  anvil-operator benchmarks result bench-000007 --target host:gpu-a",
    },
    async func(flags, id) {
      const look = {
        name: "benchmarks.result",
        input: { id, records_from: null },
        show: benchmarkResult,
      };
      await lookAtOne(this, operator, flags, look);
    },
  });
}
