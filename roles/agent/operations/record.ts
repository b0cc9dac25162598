/**
 * `audit.tail` and `operations.list|get|cancel`: what was done here, and how to end what runs.
 *
 * @module
 */

import { z } from "zod";
import { refuse } from "../../../lib/core/refusal.ts";
import type { Audit } from "../../../lib/operation/audit.ts";
import { ACTIONS } from "../../../lib/operation/authorize.ts";
import type { Ledger } from "../../../lib/operation/ledger.ts";
import {
  defineMutation,
  defineRead,
  jsonShape,
  type Operation,
} from "../../../lib/operation/operation.ts";

/** What these operations look at. */
export interface RecordParts {
  readonly audit: Pick<Audit, "tail">;
  readonly ledger: Pick<Ledger, "list" | "get">;
  /** Asks a live run to end; false when it is not live. */
  readonly cancel: (id: string) => boolean;
  readonly isLive: (id: string) => boolean;
}

const id = z.string().regex(/^run-[0-9a-f]{24}$/, "expected the id of a run");
const most = z.int().min(1).max(1000).default(100);

/** The four. */
export function recordOperations(parts: RecordParts): Operation[] {
  return [
    defineRead({
      name: "audit.tail",
      brief: "The newest audit records, oldest first",
      effect: "read",
      roles: null,
      deadlineMs: 5000,
      input: z.strictObject({
        most,
        actions: z.array(z.enum(ACTIONS)).min(1).max(ACTIONS.length).optional().describe(
          "Records of these only; without it all.",
        ),
      }),
      output: z.strictObject({ records: z.array(jsonShape) }),
      run: (input) =>
        Promise.resolve({
          kind: "ok" as const,
          value: { records: [...parts.audit.tail(input.most, input.actions ?? null)] },
        }),
    }),
    defineRead({
      name: "operations.list",
      brief: "The newest runs of mutations, without their results",
      effect: "read",
      roles: null,
      deadlineMs: 5000,
      control: true,
      input: z.strictObject({ most, principal: z.string().max(63).optional() }),
      output: z.strictObject({ runs: z.array(jsonShape) }),
      run: (input) =>
        Promise.resolve({
          kind: "ok" as const,
          value: { runs: [...parts.ledger.list(input.most, input.principal ?? null)] },
        }),
    }),
    defineRead({
      name: "operations.get",
      brief: "One run: how far it is, or how it ended",
      effect: "read",
      roles: null,
      deadlineMs: 5000,
      control: true,
      input: z.strictObject({ run: id }),
      output: z.strictObject({ run: jsonShape }),
      run: ({ run }) => {
        const found = parts.ledger.get(run);
        return Promise.resolve(
          found === null
            ? refuse("run_unknown", "no run has this id, or it was let go long ago")
            : { kind: "ok" as const, value: { run: found } },
        );
      },
    }),
    defineMutation({
      name: "operations.cancel",
      brief: "Ask a running operation to end; how it ended is in the run",
      effect: "mutate",
      destructive: false,
      roles: null,
      deadlineMs: 5000,
      control: true,
      input: z.strictObject({ run: id }),
      output: z.strictObject({ run: z.string(), asked: z.literal(true) }),
      plan: ({ run }) =>
        Promise.resolve(
          parts.isLive(run) ? { kind: "ok" as const, value: { run } } : notRunning(),
        ),
      run: ({ run }, { step }) => {
        if (!parts.cancel(run)) return Promise.resolve(notRunning());
        step("asked", "applied");
        return Promise.resolve({ kind: "ok" as const, value: { run, asked: true as const } });
      },
    }),
  ];
}

function notRunning() {
  return refuse("run_not_running", "no such run is worked on now", "see `operations.get`");
}
