import assert from "node:assert/strict";
import { buildApplication, buildCommand, buildRouteMap } from "@stricli/core";
import { refuse } from "../core/refusal.ts";
import type { Build } from "../core/version.ts";
import {
  printEnvelope,
  type ProgramContext,
  reportProblems,
  reportRefusal,
  runProgram,
} from "./program.ts";

const BUILD: Build = {
  name: "anvil-test",
  version: "1.2.3",
  build_digest: null,
  deno: "2.0.0",
  platform: "linux-x86_64",
};

const json = { kind: "boolean", brief: "One JSON line.", default: false } as const;
const command = (act: (context: ProgramContext, flags: { json: boolean }) => void) =>
  buildCommand<{ json: boolean }, [], ProgramContext>({
    docs: { brief: "A command." },
    parameters: { flags: { json } },
    func(flags) {
      act(this, flags);
    },
  });

const PROBLEMS = [
  { path: "node", code: "missing", message: "required" },
  { path: "$", code: "syntax", message: "not TOML", line: 3, column: 7 },
];

const app = buildApplication(
  buildRouteMap({
    routes: {
      good: command((context) => printEnvelope(context, { ok: true, data: [1], problems: [] })),
      quiet: command(() => {}),
      wrong: command((context, flags) => reportProblems(context, "f.toml", PROBLEMS, flags.json)),
      refused: command((context, flags) =>
        reportRefusal(context, refuse("port_in_use", "it is taken", "free it"), flags.json)
      ),
      plain: command((context, flags) =>
        reportRefusal(context, refuse("no", "it is not"), flags.json, 3)
      ),
      bug: command(() => {
        throw new Error("a bug");
      }),
    },
    docs: { brief: "A program." },
  }),
  { name: "anvil-test" },
);

async function ran(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const said = { out: "", err: "" };
  const code = await runProgram(app, BUILD, args, {
    out: (text) => said.out += text,
    err: (text) => said.err += text,
    isTerminal: false,
    color: false,
  });
  return { code, ...said };
}

Deno.test("program: what it exits with, and where it says why", async () => {
  assert.deepEqual(await ran("quiet"), { code: 0, out: "", err: "" });
  for (
    const args of [["nothing"], ["good", "--flag"], ["good", "extra"], ["good", "--json=maybe"]]
  ) {
    const { code, out, err } = await ran(...args);
    assert.deepEqual([code, out], [2, ""], args.join(" "));
    assert.notEqual(err, "", args.join(" "));
  }
  const bug = await ran("bug");
  assert.deepEqual([bug.code, bug.out], [1, ""]);
  assert.match(bug.err, /a bug/);
  const help = await ran("--help");
  assert.deepEqual([help.code, help.err], [0, ""]);
  assert.match(help.out, /A program\./);
});

Deno.test("program: a refusal is 1 unless it says otherwise, in words and as JSON", async () => {
  assert.deepEqual(await ran("refused"), {
    code: 1,
    out: "",
    err: "port_in_use: it is taken\n  next: free it\n",
  });
  assert.deepEqual(await ran("plain"), { code: 3, out: "", err: "no: it is not\n" });
  assert.deepEqual(await ran("refused", "--json"), {
    code: 1,
    out: '{"ok":false,"data":null,"problems":[{"path":"$","code":"port_in_use",' +
      '"message":"it is taken","next_step":"free it"}]}\n',
    err: "",
  });
});

Deno.test("program: problems with a file are 2, with their places", async () => {
  assert.deepEqual(await ran("wrong"), {
    code: 2,
    out: "",
    err: "f.toml: node: missing: required\nf.toml:3:7: $: syntax: not TOML\n2 problems\n",
  });
  const { code, out, err } = await ran("wrong", "--json");
  assert.deepEqual([code, err], [2, ""]);
  assert.deepEqual(JSON.parse(out), {
    ok: false,
    data: null,
    problems: PROBLEMS.map((problem) => ({ ...problem, file: "f.toml" })),
  });
});

Deno.test("program: the envelope is one line", async () => {
  assert.deepEqual(await ran("good"), {
    code: 0,
    out: '{"ok":true,"data":[1],"problems":[]}\n',
    err: "",
  });
});

Deno.test("program: which build it is, for people and for machines", async () => {
  assert.deepEqual(await ran("--version"), { code: 0, out: "anvil-test 1.2.3\n", err: "" });
  assert.deepEqual(await ran("-V"), { code: 0, out: "anvil-test 1.2.3\n", err: "" });
  const { code, out } = await ran("--version", "--json");
  assert.equal(code, 0);
  assert.deepEqual(JSON.parse(out), BUILD);
});
