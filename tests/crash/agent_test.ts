import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { verifyAudit } from "../../lib/operation/audit_verify.ts";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { TOKENS } from "../support/agent.ts";
import { until, within } from "../support/wait.ts";

/** Where the process dies. */
export type Moment =
  | "before claim"
  | "after claim"
  | "mid-run"
  | "from outside"
  | "after effect"
  | "before settle";

/** What the same key must answer after the restart, and how often the lamp was lit by then. */
interface Ending {
  readonly code: string | null;
  readonly mayHaveExecuted: boolean | null;
  readonly step: string | null;
  readonly effect: string;
  readonly lit: number;
}

const INTERRUPTED = { code: "operation_interrupted" } as const;

const ENDINGS: Readonly<Record<Moment, Ending>> = {
  // Nothing was begun: the key is free, and runs now, once.
  "before claim": { code: null, mayHaveExecuted: null, step: "lit", effect: "applied", lit: 1 },
  "after claim": { ...INTERRUPTED, mayHaveExecuted: false, step: null, effect: "none", lit: 0 },
  "mid-run": { ...INTERRUPTED, mayHaveExecuted: true, step: "light", effect: "unknown", lit: 0 },
  "from outside": {
    ...INTERRUPTED,
    mayHaveExecuted: true,
    step: "light",
    effect: "unknown",
    lit: 0,
  },
  "after effect": {
    ...INTERRUPTED,
    mayHaveExecuted: true,
    step: "light",
    effect: "unknown",
    lit: 1,
  },
  "before settle": {
    ...INTERRUPTED,
    mayHaveExecuted: true,
    step: "lit",
    effect: "applied",
    lit: 1,
  },
};

class Child implements AsyncDisposable {
  out = "";
  readonly #child: Deno.ChildProcess;
  readonly #read: Promise<void>;

  constructor(folder: string, moment: Moment | "none") {
    this.#child = new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "-A", "--frozen", "--quiet"],
        fileURLToPath(new URL("./agent_child.ts", import.meta.url)),
        ...[folder, moment],
      ],
      cwd: fileURLToPath(new URL("../../", import.meta.url)),
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    this.#read = this.#follow(this.#child.stdout);
  }

  async #follow(stdout: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of stdout) this.out += decoder.decode(chunk, { stream: true });
  }

  async url(): Promise<string> {
    await until("the child listens", () => this.out.includes("\n"), 30_000);
    return this.out.split("\n")[0] ?? "";
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }

  async ended(): Promise<Deno.Signal | null> {
    const { signal } = await this.#child.status;
    await this.#read;
    return signal;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.kill();
    } catch {
      // It is dead already, as it should be.
    }
    await this.ended();
  }
}

async function light(url: string): Promise<Record<string, unknown>> {
  const response = await fetch(`${url}/v1/operations/lamp.light`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${TOKENS.all}`,
      "x-anvil-node": "gpu-a",
      "content-type": "application/json",
      "idempotency-key": "key-00000001",
    },
    body: JSON.stringify({ input: { lamp: "a" } }),
  });
  return await response.json();
}

async function die(folder: string, moment: Moment): Promise<void> {
  await using child = new Child(folder, moment);
  const asked = light(await child.url());
  if (moment === "from outside") {
    await until("it hangs", () => child.out.includes("hangs"), 10_000);
    child.kill();
  }
  await assert.rejects(asked);
  assert.equal(await child.ended(), "SIGKILL");
}

for (const [moment, ending] of Object.entries(ENDINGS) as [Moment, Ending][]) {
  Deno.test(`crash: killed ${moment}: lit ${ending.lit} times, ${ending.code ?? "done"}, effect ${ending.effect}`, async () => {
    await using dir = await tempDir();
    await Deno.writeTextFile(dir.at("lamps"), "");
    await within("the crash", die(dir.path, moment), 45_000);
    await using child = new Child(dir.path, "none");
    const url = await child.url();
    for (let time = 0; time < 3; time++) {
      const told = await light(url);
      assert.equal(told["code"] ?? null, ending.code);
      assert.equal(told["may_have_executed"] ?? null, ending.mayHaveExecuted);
      const run = told["run"] as Record<string, unknown>;
      assert.deepEqual([run["step"], run["effect"]], [ending.step, ending.effect]);
    }
    const lamps = (await Deno.readTextFile(dir.at("lamps"))).split("\n").length - 1;
    assert.equal(lamps, ending.lit);
    assert.equal((await verifyAudit(dir.at("state/audit.jsonl"))).kind, "whole");
  });
}
