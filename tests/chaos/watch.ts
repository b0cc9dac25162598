/**
 * Looks at the world all along: routers' status, adopters' summaries, what processes show of
 * themselves.
 *
 * @module
 */

import type { AdoptionSample, Leak, StatusSample } from "./facts.ts";
import { elapsed, pause } from "./time.ts";
import type { Canary, World } from "./world.ts";

const STATUS_MS = 400;
const ADOPTION_MS = 1000;
const SPY_MS = 7000;
const LATE_MS = 3000;

/** One look at a router; null when it does not answer. */
export async function sampleOf(
  world: World,
  host: string,
  open: number,
): Promise<StatusSample | null> {
  const { hostname, port } = world.admin(host);
  const from = elapsed();
  try {
    const answer = await fetch(`http://${hostname}:${port}/v1/router/status`, {
      headers: { authorization: `Bearer ${world.tokens.observer}`, connection: "close" },
      signal: AbortSignal.timeout(LATE_MS),
    });
    const status = await answer.json() as { readonly tiers: StatusSample["tiers"] };
    if (answer.status !== 200) return null;
    const tiers = status.tiers.map((tier) => ({
      ...tier,
      members: tier.members.map((member) => ({ ...member, program: member.id })),
    }));
    return { host, from, to: elapsed(), open, tiers };
  } catch {
    return null;
  }
}

/** Looks until it is stopped. */
export class Watch {
  readonly samples: StatusSample[] = [];
  readonly adoption: AdoptionSample[] = [];
  readonly leaks: Leak[] = [];
  readonly #stop = new AbortController();
  readonly #loops: readonly Promise<void>[];

  constructor(world: World, open: (host: string) => number, canaries: readonly Canary[]) {
    const every = async (ms: number, act: () => Promise<void>) => {
      while (!this.#stop.signal.aborted) {
        await act();
        await pause(ms, this.#stop.signal);
      }
    };
    this.#loops = [
      ...world.hosts.flatMap((host) => [
        every(STATUS_MS, async () => {
          const sample = await sampleOf(world, host, open(host));
          if (sample !== null) this.samples.push(sample);
        }),
        every(ADOPTION_MS, async () => {
          const seen = await world.adoption(host);
          const last = this.adoption.findLast((one) => one.host === host);
          if (last?.proven !== seen.proven || last?.current !== seen.current) {
            this.adoption.push(seen);
          }
        }),
      ]),
      every(SPY_MS, async () => void this.leaks.push(...await world.spied(canaries))),
    ];
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#loops);
  }
}
