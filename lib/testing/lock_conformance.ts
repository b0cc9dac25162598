/**
 * What every implementation of the lock port does.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { TryLock } from "../core/lock.ts";

/** One directory and the port under test. */
export interface LockSubject extends AsyncDisposable {
  readonly tryLock: TryLock;
  at(name: string): string;
  putDirectory(name: string): Promise<void>;
}

/** Registers the suite under `name`. */
export function lockConformance(name: string, make: () => Promise<LockSubject>): void {
  Deno.test(`lock, ${name}: one holder per path, until it lets go`, async () => {
    await using subject = await make();
    const first = await subject.tryLock(subject.at("a"));
    assert.ok(first.kind === "held");
    assert.equal((await subject.tryLock(subject.at("a"))).kind, "busy");
    const other = await subject.tryLock(subject.at("b"));
    assert.ok(other.kind === "held");
    await first.release();
    await using second = await subject.tryLock(subject.at("a")) as typeof first;
    assert.equal(second.kind, "held");
    await first.release(); // a late second release must not free the new holder's lock
    assert.equal((await subject.tryLock(subject.at("a"))).kind, "busy");
    await other.release();
  });

  Deno.test(`lock, ${name}: a file that cannot be opened is refused, not busy`, async () => {
    await using subject = await make();
    await subject.putDirectory("d");
    const outcome = await subject.tryLock(subject.at("d"));
    assert.ok(outcome.kind === "refused" && outcome.code === "lock_unavailable");
  });
}
