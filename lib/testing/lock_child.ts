/**
 * Takes the lock at its first argument and holds it until it is killed. Run by `lock_test.ts`.
 *
 * @module
 */

import { tryLock } from "../host/lock.ts";

const outcome = await tryLock(Deno.args[0] ?? "");
console.log(outcome.kind);
setTimeout(() => {
  throw new Error("nobody killed it");
}, 30_000);
