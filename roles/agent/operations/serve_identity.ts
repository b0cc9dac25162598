/**
 * `serves.identity`: which declared serve owns a port of this host, by looking at the process. What a
 * router asks for tiers of the identity kind `agent`; the shape is that of `lib/identity/agent_proof`.
 *
 * @module
 */

import { z } from "zod";
import { AGENT_HEALTHS, AGENT_PROOFS } from "../../../lib/identity/agent_proof.ts";
import { defineRead, jsonShape, type Operation } from "../../../lib/operation/operation.ts";
import type { Proof } from "../../../lib/serves/driver.ts";
import { type Serve, servedModel } from "../../../lib/serves/manifest_shape.ts";
import type { Probed } from "../../../lib/serves/probe.ts";
import { SERVING_HOSTS } from "../host_roles.ts";
import type { ServesParts } from "./serves.ts";
import { proofJson } from "./serves_shown.ts";

const output = z.strictObject({
  port: z.int(),
  serve: z.string().nullable(),
  proof: z.enum(AGENT_PROOFS),
  /** What clients of the engine call its model, by the manifest; null when nothing is proven. */
  model: z.string().nullable(),
  revision: z.string().nullable(),
  observed: z.string().describe("For people: what speaks against it; empty when nothing does."),
  health: z.enum(AGENT_HEALTHS),
  process: jsonShape,
});
type Answer = z.infer<typeof output>;

/** The one. */
export function serveIdentityOperation(parts: Pick<ServesParts, "open">): Operation {
  return defineRead({
    name: "serves.identity",
    brief: "Which declared serve owns a port of this host, proven by its process",
    effect: "read",
    roles: SERVING_HOSTS,
    deadlineMs: 30_000,
    input: z.strictObject({ port: z.int().min(1).max(65_535) }),
    output,
    run: async ({ port }, { signal }) => {
      const host = await parts.open();
      if ("code" in host) return host;
      const serve = host.serves.find((one) => one.port === port);
      if (serve === undefined) return { kind: "ok", value: undeclared(port) };
      const driver = host.driverOf(serve);
      if ("code" in driver) return driver;
      const proof = await driver.identity(serve, signal);
      // What is not the declared process is not asked either.
      const probed = proof.kind === "proven" ? await host.probe(serve, signal) : null;
      return { kind: "ok", value: identityOf(serve, proof, probed) };
    },
  });
}

/** What a proof of the process, and then the engine's own word, say together. */
export function identityOf(serve: Serve, proof: Proof, probed: Probed | null): Answer {
  const said = {
    port: serve.port,
    serve: serve.name,
    model: null,
    revision: null,
    health: "not_asked" as const,
    process: proofJson(proof),
  };
  switch (proof.kind) {
    case "unknown":
      return { ...said, proof: "unknown", observed: proof.detail };
    case "absent":
      return { ...said, proof: "absent", observed: "nobody listens on the port" };
    case "differs":
      return { ...said, proof: "differs", observed: proof.observed };
    case "proven":
      break;
  }
  // The engine speaks against its own manifest: that weighs more than its command line.
  if (probed?.kind === "mismatch") return { ...said, proof: "differs", observed: probed.observed };
  if (probed?.kind === "unparseable") {
    return { ...said, proof: "unknown", observed: probed.observed };
  }
  return {
    ...said,
    proof: "proven",
    model: servedModel(serve),
    revision: serve.model.revision,
    observed: probed?.kind === "not_ready" ? probed.observed : "",
    health: probed === null ? "not_asked" : probed.kind === "ready" ? "healthy" : "silent",
  };
}

function undeclared(port: number): Answer {
  return {
    port,
    serve: null,
    proof: "undeclared",
    model: null,
    revision: null,
    observed: `serves.toml declares nothing on port ${port}`,
    health: "not_asked",
    process: null,
  };
}
