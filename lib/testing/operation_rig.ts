/**
 * A runner over a real ledger and a real audit in a directory of its own, with a few operations
 * whose course a test steers.
 *
 * @module
 */

import { z } from "zod";
import type { Json } from "../core/canonical_json.ts";
import type { Clock } from "../core/clock.ts";
import { refuse } from "../core/refusal.ts";
import { systemClock } from "../host/clock.ts";
import { systemRandom } from "../host/random.ts";
import { type Database, openDatabase } from "../host/sqlite.ts";
import type { Call } from "../operation/answer.ts";
import { type Audit, openAudit } from "../operation/audit.ts";
import { Catalogue } from "../operation/catalogue.ts";
import { Ledger, type LedgerBounds } from "../operation/ledger.ts";
import { LEDGER_MIGRATIONS } from "../operation/ledger_schema.ts";
import { defineMutation, defineRead, jsonShape, type Operation } from "../operation/operation.ts";
import { Runner, type RunnerBounds } from "../operation/runner.ts";

/** What the operation `box.put` does next. */
export type Course = "fine" | "refuse" | "throw" | "hang" | "deaf" | "large";

/** What a rig may be told. */
export interface OperationRigSettings {
  readonly folder: string;
  readonly epoch?: string;
  readonly clock?: Clock;
  readonly bounds?: Partial<RunnerBounds>;
  readonly ledgerBounds?: LedgerBounds;
}

/** A runner and what stands around it. */
export class OperationRig implements Disposable {
  readonly runner: Runner;
  readonly ledger: Ledger;
  readonly audit: Audit;
  readonly database: Database;
  /** What `box.put` put, in order: the world outside. */
  readonly world: string[] = [];
  readonly said: string[] = [];
  course: Course = "fine";
  /** Ends a `box.put` that hangs. */
  release: () => void = () => {};

  private constructor(settings: OperationRigSettings, database: Database, audit: Audit) {
    const clock = settings.clock ?? systemClock;
    this.database = database;
    this.audit = audit;
    const epoch = settings.epoch ?? "epoch-1";
    this.ledger = settings.ledgerBounds === undefined
      ? new Ledger(database, { clock, epoch })
      : new Ledger(database, { clock, epoch }, settings.ledgerBounds);
    const say = (message: string) => void this.said.push(message);
    this.runner = new Runner(Catalogue.for(["gateway"], this.#operations()), {
      clock,
      random: systemRandom,
      ledger: this.ledger,
      audit,
      remarks: { info: say, warn: say, error: say },
      node: "gpu-a",
      topology: null,
    }, { reads: 4, mutations: 2, graceMs: 20, ...settings.bounds });
  }

  /** Opens ledger and audit in `settings.folder`. */
  static async open(settings: OperationRigSettings): Promise<OperationRig> {
    const opened = openDatabase(`${settings.folder}/ledger.sqlite`, {
      migrations: LEDGER_MIGRATIONS,
    });
    if (opened.kind !== "open") throw new Error(opened.code);
    const audit = await openAudit(
      `${settings.folder}/audit.jsonl`,
      settings.clock ?? systemClock,
    );
    if (audit.kind !== "open") throw new Error(audit.code);
    return new OperationRig(settings, opened.database, audit.audit);
  }

  [Symbol.dispose](): void {
    this.audit.close();
    this.database.close();
  }

  #operations(): Operation[] {
    const input = z.strictObject({ text: z.string().max(100) });
    return [
      defineMutation({
        name: "box.put",
        brief: "Put a text into the box",
        effect: "mutate",
        destructive: false,
        roles: null,
        deadlineMs: 200,
        input,
        output: jsonShape,
        plan: ({ text }) =>
          Promise.resolve(
            text === "never"
              ? refuse("text_refused", "this text is never put")
              : { kind: "ok" as const, value: { put: text } },
          ),
        run: async ({ put }, context) => {
          if (this.course === "refuse") return refuse("box_full", "the box is full", "empty it");
          if (this.course === "throw") throw new Error("a bug");
          if (this.course === "hang" || this.course === "deaf") {
            const { promise, resolve, reject } = Promise.withResolvers<void>();
            this.release = resolve;
            const deaf = this.course === "deaf";
            if (!deaf) {
              context.signal.addEventListener("abort", () => reject(context.signal.reason));
            }
            await promise;
          }
          context.step("put", "unknown");
          this.world.push(put);
          context.step("put", "applied");
          const value: Json = this.course === "large" ? "x".repeat(10 * 1024 * 1024) : { put };
          return { kind: "ok", value };
        },
      }),
      defineMutation({
        name: "box.burn",
        brief: "Burn the box",
        effect: "mutate",
        destructive: true,
        roles: ["gateway"],
        deadlineMs: 200,
        input: z.strictObject({}),
        output: jsonShape,
        plan: () => Promise.resolve({ kind: "ok" as const, value: { burns: this.world.length } }),
        run: () => {
          this.world.length = 0;
          return Promise.resolve({ kind: "ok" as const, value: {} });
        },
      }),
      defineRead({
        name: "box.look",
        brief: "What is in the box",
        effect: "read",
        roles: ["gpu"],
        deadlineMs: 50,
        input: z.strictObject({}),
        output: jsonShape,
        run: () => Promise.resolve({ kind: "ok" as const, value: [...this.world] }),
      }),
      defineRead({
        name: "box.size",
        brief: "How much is in the box",
        effect: "read",
        roles: null,
        deadlineMs: 50,
        input: z.strictObject({ wait: z.boolean().default(false) }),
        output: z.strictObject({ size: z.int() }),
        run: async ({ wait }, { signal }) => {
          if (wait) await systemClock.sleep(60_000, signal);
          return { kind: "ok", value: { size: this.world.length } };
        },
      }),
    ];
  }
}

/** A call of `box.put` with everything right, but for what `more` says. */
export function put(text: string, more: Partial<Call> = {}): Call {
  return {
    principal: "ops",
    scopes: ["*"],
    operation: "box.put",
    input: { text },
    dryRun: false,
    confirm: false,
    key: "key-00000001",
    ...more,
  };
}
