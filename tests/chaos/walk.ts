/**
 * One walk: the faults and acts of a plan on a world, with clients all along, and what is to be said
 * of it in the end.
 *
 * @module
 */

import { AgentAsks } from "./agent_asks.ts";
import type { Words } from "./client.ts";
import type { Facts, Inflicted, Leak, Violation } from "./facts.ts";
import { type Fault, faultText } from "./fault.ts";
import { violationsOf } from "./invariants/all.ts";
import { Load } from "./load.ts";
import { Operators } from "./operators.ts";
import type { Walk } from "./plan.ts";
import { settle } from "./settle.ts";
import { elapsed, pause } from "./time.ts";
import { Watch } from "./watch.ts";
import type { Canary, World } from "./world.ts";

/** What came of it. */
export interface Walked {
  readonly facts: Facts;
  readonly violations: readonly Violation[];
}

/** How it is walked. */
export interface WalkOptions {
  readonly clientsPerHost: number;
  readonly pauseMs: readonly [number, number];
  /** Between two turns of an adopter's timers, in milliseconds. */
  readonly timerMs: number;
  readonly say: (text: string) => void;
  /** Called when clients and operators are gone, before anything is put right. */
  readonly beforeSettling?: () => Promise<void>;
}

/** Walks. */
export async function walk(world: World, plan: Walk, options: WalkOptions): Promise<Walked> {
  const { say } = options;
  const id = crypto.randomUUID().slice(0, 8);
  const words: Words = {
    token: world.tokens.client,
    prompt: `canary-prompt-${id}`,
    header: `canary-header-${id}`,
  };
  const canaries: readonly Canary[] = [
    ...await world.canaries(),
    { what: "a prompt", text: words.prompt },
    { what: "a header", text: words.header },
    { what: "a completion", text: "Anvil token 1" },
  ];
  for (const host of world.hosts) await firstProven(world, host);
  say("every host has proven its first candidate");
  const load = new Load(world, words, { seed: plan.seed, ...options });
  let settling = false; // then this asks too, beside the clients
  const watch = new Watch(world, (host) => settling ? Infinity : load.open(host), canaries);
  const asks = new AgentAsks(world);
  const operators = new Operators(world, asks, plan.seed, say);
  const inflicted: Inflicted[] = [];
  const stop = new AbortController();
  const timers = world.hosts.map(async (host, index) => {
    await pause(options.timerMs * index / world.hosts.length, stop.signal);
    while (!stop.signal.aborted) {
      await world.adopterTurn(host);
      await pause(options.timerMs, stop.signal);
    }
  });
  const began = elapsed();
  const at = (ms: number) => pause(began + ms - elapsed());
  const acts = plan.acts.map(async (act) => {
    await at(act.at);
    await operators.perform(act);
  });
  const faults = plan.faults.map(async (fault) => {
    if (world.unable.has(fault.kind)) return;
    await at(fault.at);
    await inflict(world, fault, inflicted, say);
  });
  await Promise.all([...faults, at(plan.minutes * 60_000)]);
  say("everything is healed");
  await world.heal();
  await Promise.all(acts);
  stop.abort();
  await Promise.all(timers);
  await load.stop();
  settling = true;
  await options.beforeSettling?.();
  say(`${load.transcripts.length} requests, ${asks.asks.length} asks; settling`);
  const settled = await settle({ world, asks, operators, words, seed: plan.seed, say });
  await watch.stop();
  await askAgain(world, asks);
  const all = [
    ...canaries,
    ...operators.secrets.map((text) => ({ what: "a token that was issued", text })),
  ];
  const records = await world.records(all);
  const leaks: readonly Leak[] = [...watch.leaks, ...records.leaks];
  const facts: Facts = {
    ...records,
    leaks,
    hosts: world.hosts,
    inflicted,
    transcripts: [...load.transcripts, ...settled.transcripts],
    samples: watch.samples,
    asks: asks.asks,
    adoption: watch.adoption,
    quiet: settled.quiet,
  };
  return { facts, violations: [...violationsOf(facts), ...settled.violations] };
}

async function inflict(
  world: World,
  fault: Fault,
  inflicted: Inflicted[],
  say: (text: string) => void,
): Promise<void> {
  const from = elapsed();
  say(`fault  ${faultText(fault)}`);
  const heal = await world.inflict(fault);
  await pause(fault.lasts - (elapsed() - from));
  await heal();
  inflicted.push({ fault, from, to: elapsed() });
}

/** A host has something to go back to before anything goes wrong. */
async function firstProven(world: World, host: string): Promise<void> {
  const published = await world.publish(host, `first${host.replace("-", "")}`, "good");
  for (let turn = 0; turn < 10; turn++) {
    await world.adopterTurn(host);
    if ((await world.adoption(host)).proven !== null) return;
  }
  throw new Error(`${host} proves no first candidate: ${published}`);
}

/** Every key that was answered is asked for once more: it must say the same. */
async function askAgain(world: World, asks: AgentAsks): Promise<void> {
  const ran = new Set(asks.asks.filter(({ run }) => run !== null).map(({ key }) => key));
  await Promise.all(world.hosts.map(async (host) => {
    for (const mutation of asks.mutations) {
      if (mutation.host === host && ran.has(mutation.key)) await asks.once(mutation);
    }
  }));
}
