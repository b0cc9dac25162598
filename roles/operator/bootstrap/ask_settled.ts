/**
 * A request to a receiver whose answer may get lost: asked about until the receiver answers again, and
 * then sent once more, because it does nothing twice.
 *
 *     ask ── answered ──> that
 *      └── lost ── status ── answers, or knows nothing of it ──> the same once more
 *                     └── busy, or no answer ── wait ── status …  ──> it may have been executed
 *
 * @module
 */

import type { BootstrapCode } from "../../../lib/bootstrap/codes.ts";
import type { Answer, Request } from "../../../lib/bootstrap/requests.ts";
import type { Refusal } from "../../../lib/core/refusal.ts";

/** What came of a request. */
export type Answered = Answer | Refusal<BootstrapCode>;

/** Sends one request, with the bundle behind it where there is one. */
export type Ask = (request: Request, bundle?: Uint8Array<ArrayBuffer>) => Promise<Answered>;

/** Sends; `wait` is asked after so many looks at a receiver that does not say how it stands. */
export async function askSettled(
  { ask, wait }: { readonly ask: Ask; readonly wait: (looks: number) => Promise<boolean> },
  operationId: string,
  request: Request,
  bundle?: Uint8Array<ArrayBuffer>,
): Promise<Answered> {
  const first = await ask(request, bundle);
  if (codeOf(first) !== "may_have_executed") return first;
  for (let looks = 1;; looks++) {
    const status = await ask({ protocol: 1, verb: "status", operation_id: operationId });
    const code = codeOf(status);
    // What it had begun has ended, one way or the other; or it never heard of it.
    if (code === null || code === "operation_unknown") return await ask(request, bundle);
    // Something that only a person can mend is no reason to wait.
    if (code !== "receiver_busy" && code !== "transport_failed") return first;
    if (!await wait(looks)) return first;
  }
}

/** What went wrong; null when nothing did. */
export function codeOf(answer: Answered): BootstrapCode | null {
  return "code" in answer ? answer.code : null;
}
