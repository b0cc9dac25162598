// needs: nothing
/**
 * Mode and promotion, killed at every moment, with a real router, real engines and real requests.
 * Each kill is `kill -9` of the process that works on the change; a later life goes on with it.
 *
 * @module
 */

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { beginChange, type What } from "../support/change_asks.ts";
import { changeLife, type ChangePlace, servesAt } from "../support/change_rig.ts";
import { ChangeSupervisor } from "../support/change_supervisor.ts";
import { type ChangePorts, freePorts, routerText } from "../support/change_texts.ts";
import { RouterProcess } from "../support/router_process.ts";
import { ADMIN, scopedClients } from "../support/router_rig.ts";
import { TOKEN } from "../support/router_toml.ts";
import { ask, askBody, CHAT, StreamReader } from "../support/stream_reader.ts";
import { until } from "../support/wait.ts";

const CHILD = fileURLToPath(new URL("../crash/change_child.ts", import.meta.url));

interface Rig {
  readonly place: ChangePlace;
  readonly supervisor: ChangeSupervisor;
}

async function withRig(run: (rig: Rig) => Promise<void>): Promise<void> {
  await using dir = await tempDir();
  const ports = freePorts();
  const folder = dir.path;
  await Deno.mkdir(`${folder}/state`);
  await Deno.mkdir(`${folder}/agent/changes`, { recursive: true });
  await Deno.writeTextFile(`${folder}/router.toml`, routerText(ports, "chat"));
  await Deno.writeTextFile(`${folder}/clients.toml`, agentClients(), { mode: 0o600 });
  await Deno.writeTextFile(`${folder}/router.token`, ADMIN, { mode: 0o600 });
  await using supervisor = new ChangeSupervisor(folder, servesAt(ports));
  await Promise.all([supervisor.start("chat"), supervisor.start("embed")]);
  supervisor.router = await RouterProcess.start(folder, { waitReady: false });
  await until(
    "both tiers answer",
    async () =>
      await statusOf(ports, "llm.primary") === 200 && await statusOf(ports, "llm.embed") === 200,
  );
  await run({ place: { folder, ports, control: supervisor.url }, supervisor });
}

/** The agent's token looks and changes. */
function agentClients(): string {
  const text = scopedClients().replace(/scopes = \[ *"admin" *\]/, 'scopes = ["observe", "admin"]');
  assert.match(text, /"observe", "admin"/);
  return text;
}

/** One real request through the router. */
async function answerOf(ports: ChangePorts, alias: string): Promise<Response> {
  return await fetch(`http://127.0.0.1:${ports.data}${CHAT}`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify(askBody({ model: alias, max_tokens: 2 })),
  });
}

async function statusOf(ports: ChangePorts, alias: string): Promise<number> {
  const answer = await answerOf(ports, alias);
  await answer.body?.cancel();
  return answer.status;
}

/** Which model answers for an alias; the status when none does. */
async function modelOf(ports: ChangePorts, alias: string): Promise<string> {
  const answer = await answerOf(ports, alias);
  const body = await answer.json() as { readonly model?: string };
  return answer.status === 200 ? String(body.model) : String(answer.status);
}

/** A stream of the tier nobody touches; resolves with whether it came whole. */
async function openStream(ports: ChangePorts, tokens: number): Promise<() => Promise<boolean>> {
  const body = askBody({ model: "llm.embed", stream: true, max_tokens: tokens });
  const reader = await StreamReader.open(ports.data, ask(CHAT, body));
  assert.ok(await reader.readUntil("Anvil token 1"), reader.text);
  return async () => {
    const whole = await reader.readUntil("data: [DONE]\n\n");
    reader.close();
    return whole && reader.text.includes(` ${tokens}"`);
  };
}

interface Ended {
  readonly killed: boolean;
  readonly out: string;
}

async function child(place: ChangePlace, what: What, at: number): Promise<Ended> {
  const output = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", CHILD, JSON.stringify(place), what, String(at)],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).output();
  return {
    killed: output.signal === "SIGKILL",
    out: new TextDecoder().decode(output.stdout).trim(),
  };
}

/** What answers, seen from outside. */
async function seen(ports: ChangePorts): Promise<Readonly<Record<string, string>>> {
  const entries: [string, string][] = [];
  for (const alias of ["llm.primary", "llm.embed", "video.make"]) {
    entries.push([alias, await modelOf(ports, alias)]);
  }
  return Object.fromEntries(entries);
}

const OUTSIDE = { "llm.primary": "org/model", "llm.embed": "org/embed", "video.make": "503" };
const IN_MODE = { "llm.primary": "503", "llm.embed": "org/embed", "video.make": "org/video" };
const PROMOTED = { ...OUTSIDE, "llm.primary": "org/model-next" };

type Seen = Readonly<Record<string, string>>;

/** A change, what is seen before it and after it. */
type Turn = readonly [what: What, before: Seen, after: Seen];

/** Hosts that are worked on side by side: most of the time is spent waiting. */
const RIGS = 3;

/** A stream lasts about as long as a change, its kill and its second life. */
const TOKENS = 36;

/** Counts the moments of both turns, and sees that they do what they should. */
async function momentsOf({ place }: Rig, turns: readonly Turn[]): Promise<readonly number[]> {
  const counts: number[] = [];
  // The first round leaves a tier quiesced that was not: its steps are others than all later ones.
  for (const [what, , after] of [...turns, ...turns]) {
    const { killed, out } = await child(place, what, -1);
    assert.ok(!killed, out);
    const { moments, end } = JSON.parse(out) as { moments: string[]; end: unknown };
    assert.deepEqual(await seen(place.ports), after, JSON.stringify(end));
    counts.push(moments.length);
  }
  return counts.slice(turns.length);
}

/** One kill at one moment, one resume; true when the new state came of it. */
async function killedAt({ place }: Rig, [what, before, after]: Turn, at: number): Promise<boolean> {
  const stream = await openStream(place.ports, TOKENS);
  const died = await child(place, what, at);
  assert.ok(died.killed, `moment ${at} of ${what}: ${died.out}`);
  const life = await changeLife(place);
  const end = await life.conductor.resume();
  const now = await seen(place.ports);
  const why = `${what} ${died.out}: ${JSON.stringify(end)}\n${life.said.join("\n")}`;
  assert.ok(await stream(), `a stream of another tier was cut: ${why}`);
  const isNew = JSON.stringify(now) === JSON.stringify(after);
  if (!isNew) {
    assert.deepEqual(now, before, why);
    // It is asked for again: the next turn starts where this one was to end.
    const again = await beginChange(life, what, place.ports);
    assert.ok(again.kind === "ended" && again.record.state.at === "reached", why);
  }
  life.close();
  return isNew;
}

/** There and back in turn, killed at every moment that either has. */
async function killedAtEveryMoment(turns: readonly [Turn, Turn]): Promise<void> {
  const came = new Map<What, { moments: number; kills: number; fresh: number }>();
  await Promise.all(Array.from({ length: RIGS }, (_, first) =>
    withRig(async (rig) => {
      const counts = await momentsOf(rig, turns);
      for (let at = first; at < Math.max(...counts); at += RIGS) {
        for (const [index, turn] of turns.entries()) {
          const moments = counts[index] ?? 0;
          const fresh = await killedAt(rig, turn, Math.min(at, moments - 1));
          const tally = came.get(turn[0]) ?? { moments, kills: 0, fresh: 0 };
          tally.kills++;
          tally.fresh += fresh ? 1 : 0;
          came.set(turn[0], tally);
        }
      }
      assert.ok(!rig.supervisor.happened.includes("stop embed"));
    })));
  for (const [what, { moments, kills, fresh }] of came) {
    const old = kills - fresh;
    console.log(`  ${what.padEnd(8)} ${moments} moments, ${kills} kills: ${fresh} new, ${old} old`);
    assert.ok(kills >= moments, "a moment was left out");
  }
}

Deno.test("mode enter and leave, killed at every moment, through a real router", async () => {
  await killedAtEveryMoment([["enter", OUTSIDE, IN_MODE], ["leave", IN_MODE, OUTSIDE]]);
});

Deno.test("promote there and back, killed at every moment, through a real router", async () => {
  await killedAtEveryMoment([["promote", OUTSIDE, PROMOTED], ["demote", PROMOTED, OUTSIDE]]);
});
