/**
 * Says which stop signals it gets; takes its handler back after SIGTERM. Run by `host_test.ts`.
 *
 * @module
 */

import { onStopSignal } from "../host/signals.ts";

const dispose = onStopSignal((signal) => {
  if (signal === "SIGTERM") dispose();
  console.log(signal);
});
setTimeout(() => {
  throw new Error("nobody killed it");
}, 30_000);
console.log("ready");
