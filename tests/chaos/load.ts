/**
 * The clients of a walk: some at each host, each with one request at a time, as the seed says.
 *
 * @module
 */

import { ask, type Wish, type Words } from "./client.ts";
import type { Transcript } from "./facts.ts";
import { askByLibrary } from "./sdk_client.ts";
import { SeededRandom } from "./random.ts";
import { elapsed, pause } from "./time.ts";
import type { World } from "./world.ts";

/** How much is asked. */
export interface LoadOptions {
  readonly seed: string;
  readonly clientsPerHost: number;
  /** Between two requests of a client, in milliseconds. */
  readonly pauseMs: readonly [number, number];
}

/** So long after its end a request may still be held by a router that was not told, in milliseconds. */
const AFTERMATH_MS = 10_000;

/** Engines break off too, while they live: before a byte, in a head, in an event, before the end. */
const ENGINE_FAULTS = [
  ...["fin-at;byte=0", "reset-at;byte=0", "reset-at;byte=60", "reset-at;byte=700"],
  ...["half-event;event=3", "no-terminator", "500", "429"],
];

/** Clients at work. */
export class Load {
  readonly transcripts: Transcript[] = [];
  readonly #open = new Map<string, number>();
  readonly #stop = new AbortController();
  readonly #loops: readonly Promise<void>[];

  constructor(world: World, words: Words, options: LoadOptions) {
    this.#loops = world.hosts.flatMap((host) => {
      this.#open.set(host, 0);
      return Array.from({ length: options.clientsPerHost }, async (_, index) => {
        const name = `${host}-${index}`;
        // The first of each host is a library, as most people use one.
        const asked = index === 0 ? askByLibrary : ask;
        const random = new SeededRandom(`${options.seed}/clients/${name}`);
        for (let turn = 0; !this.#stop.signal.aborted; turn++) {
          const wish = wishOf(random, host, `m-${options.seed}-${name}-${turn}`);
          this.#open.set(host, (this.#open.get(host) ?? 0) + 1);
          this.transcripts.push(await asked(world.data(host), wish, words));
          this.#open.set(host, (this.#open.get(host) ?? 0) - 1);
          await pause(random.whole(...options.pauseMs), this.#stop.signal);
        }
      });
    });
  }

  /** Requests open on a host, or ended a moment ago. */
  open(host: string): number {
    const since = elapsed() - AFTERMATH_MS;
    let recent = 0;
    for (let at = this.transcripts.length - 1; at >= 0; at--) {
      const one = this.transcripts[at] as Transcript;
      if (one.ended < since - 60_000) break;
      if (one.host === host && one.ended > since) recent++;
    }
    return (this.#open.get(host) ?? 0) + recent;
  }

  /** Nothing new is asked; resolves when what is open has ended. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#loops);
  }
}

function wishOf(random: SeededRandom, host: string, marker: string): Wish {
  const alias = random.weighted([
    { alias: "llm.primary", weight: 8 },
    { alias: "llm.embed", weight: 8 },
    { alias: "video.make", weight: 1 },
  ]).alias;
  const tokens = random.whole(2, 70);
  return {
    marker,
    host,
    alias,
    dialect: random.chance(0.7) ? "openai" : "anthropic",
    stream: random.chance(0.8),
    tokens,
    leavesAfter: random.chance(0.08) ? random.whole(0, tokens * 40) : null,
    fault: random.chance(0.12) ? random.pick(ENGINE_FAULTS) : null,
  };
}
