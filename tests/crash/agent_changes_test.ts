import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { TOKENS } from "../support/agent.ts";
import { IN_MODE, OUTSIDE, seen, withRig } from "../support/change_host.ts";
import type { ChangePlace } from "../support/change_rig.ts";
import { until, within } from "../support/wait.ts";

const CHILD = fileURLToPath(new URL("agent_change_child.ts", import.meta.url));

/** An agent in a process of its own. */
class Child implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #read: Promise<void>;
  #out = "";

  constructor(place: ChangePlace) {
    this.#child = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--quiet", CHILD, JSON.stringify(place)],
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    this.#read = this.#follow();
  }

  async #follow(): Promise<void> {
    for await (const chunk of this.#child.stdout) this.#out += new TextDecoder().decode(chunk);
  }

  async url(): Promise<string> {
    await until("the agent listens", () => this.#out.includes("\n"), 60_000);
    return this.#out.trim();
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#child.status;
    await this.#read;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.kill();
    } catch {
      // It is dead already.
    }
  }
}

async function call(
  url: string,
  name: string,
  body: unknown,
  key?: string,
): Promise<Record<string, unknown>> {
  const response = await fetch(`${url}/v1/operations/${name}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${TOKENS.all}`,
      "x-anvil-node": "gpu-a",
      "content-type": "application/json",
      ...(key === undefined ? {} : { "idempotency-key": key }),
    },
    body: JSON.stringify(body),
  });
  return await response.json();
}

interface Change {
  readonly state: string;
  readonly done: readonly { readonly step: string }[];
}

async function change(url: string): Promise<Change | null> {
  const { result } = await call(url, "promotion.status", { input: {} });
  return (result as { readonly changes: readonly Change[] }).changes[0] ?? null;
}

Deno.test("crash: an agent killed in a mode change; the next one ends it, and the key tells the truth", async () => {
  await withRig(async ({ place, supervisor }) => {
    const asked = { input: { mode: "studio" }, confirm: true };
    {
      await using agent = new Child(place);
      const url = await agent.url();
      // Expected before the kill: an answer that breaks while nobody waits for it is an uncaught error.
      const untold = assert.rejects(call(url, "mode.enter", asked, "enter-001"));
      const stopped = () => supervisor.happened.includes("stop chat");
      await until("the competitor is stopped", stopped, 60_000);
      await agent.kill();
      await untold;
    }
    await using agent = new Child(place);
    const url = await within("the agent is back", agent.url(), 60_000);
    await until("it went on", async () => (await change(url))?.state === "reached", 60_000);
    assert.deepEqual(await seen(place.ports), IN_MODE);
    const told = await call(url, "mode.enter", asked, "enter-001");
    assert.deepEqual(
      [told["code"], told["may_have_executed"]],
      ["operation_interrupted", true],
    );
    assert.match((told["run"] as { step: string }).step, /^000001-enter: /);
    const steps = (await change(url))?.done.map(({ step }) => step) ?? [];
    assert.ok(steps.filter((step) => step === "quiesce tier primary").length > 1, "asserted again");

    const left = await call(url, "mode.leave", asked, "leave-001");
    assert.equal((left["result"] as { change: string }).change, "000002-leave");
    assert.deepEqual(await seen(place.ports), OUTSIDE);
  });
});
