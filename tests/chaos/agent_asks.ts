/**
 * Asks agents for operations, as the gateway does, and writes down each answer. A request is sent
 * once; sending a key again is an ask of its own.
 *
 * @module
 */

import type { AskFact } from "./facts.ts";
import { elapsed } from "./time.ts";
import type { World } from "./world.ts";

/** What an agent said; null when no answer came. */
export interface Said {
  readonly status: number;
  readonly body: { readonly [key: string]: unknown };
}

/** A mutation. */
export interface Mutation {
  readonly host: string;
  readonly operation: string;
  readonly input: object;
  readonly key: string;
  /** Of a token operation. */
  readonly hash?: string;
}

const PATIENCE_MS = 90_000;
/** A plan runs programs on its host, and that may stand still. */
const READ_MS = 45_000;

/** Asks and remembers. */
export class AgentAsks {
  readonly asks: AskFact[] = [];
  readonly mutations: Mutation[] = [];
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  /** A read. */
  async read(host: string, operation: string, input: object = {}): Promise<Said | null> {
    return await this.#post(host, operation, { input }, null, READ_MS);
  }

  /** A mutation, and `again` more with its key, beside it or after it. The first answer. */
  async mutate(mutation: Mutation, again = 0, atOnce = false): Promise<Said | null> {
    this.mutations.push(mutation);
    const others = atOnce ? Array.from({ length: again }, () => this.once(mutation)) : [];
    const first = await this.once(mutation);
    await Promise.all(others);
    if (!atOnce) { for (let turn = 0; turn < again; turn++) await this.once(mutation); }
    return first;
  }

  /** One ask of a mutation. */
  async once({ host, operation, input, key, hash }: Mutation): Promise<Said | null> {
    const said = await this.#post(host, operation, { input, confirm: true }, key, PATIENCE_MS);
    const run = said?.body["run"] as
      | { readonly id?: string; readonly state?: string; readonly effect?: string }
      | undefined;
    this.asks.push({
      host,
      operation,
      key,
      at: elapsed(),
      status: said?.status ?? null,
      said: said === null ? null : said.status === 200 ? "done" : String(said.body["code"]),
      run: run?.id ?? null,
      state: run?.state ?? null,
      effect: run?.effect ?? null,
      hash: hash ?? null,
    });
    return said;
  }

  async #post(
    host: string,
    operation: string,
    body: object,
    key: string | null,
    patienceMs: number,
  ): Promise<Said | null> {
    const { hostname, port } = this.#world.agent(host);
    try {
      const answer = await fetch(`http://${hostname}:${port}/v1/operations/${operation}`, {
        method: "POST",
        headers: {
          "authorization": `Bearer ${this.#world.tokens.operator}`,
          "x-anvil-node": host,
          "content-type": "application/json",
          "connection": "close",
          ...(key === null ? {} : { "idempotency-key": key }),
        },
        // A Blob is never sent a second time by the runtime; a text may be.
        body: new Blob([JSON.stringify(body)]),
        signal: AbortSignal.timeout(patienceMs),
      });
      return { status: answer.status, body: await answer.json() };
    } catch {
      return null;
    }
  }
}
