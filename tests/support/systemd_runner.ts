/**
 * Runs programs for a test inside a container, asked over a unix socket:
 * `deno run -A tests/support/systemd_runner.ts SOCKET`.
 *
 * @module
 */

import type { ProcessAsk } from "../../lib/core/process.ts";
import { runProcess } from "../../lib/host/process.ts";

const [path = ""] = Deno.args;

Deno.serve({ path, onListen: () => {} }, async (request) => {
  const ask = await request.json() as ProcessAsk;
  const outcome = await runProcess({ ...ask, signal: request.signal });
  return Response.json(
    "stdout" in outcome
      ? { ...outcome, stdout: outcome.stdout.toBase64(), stderr: outcome.stderr.toBase64() }
      : outcome,
  );
});
