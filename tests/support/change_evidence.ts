/**
 * Measurements of the serves that are promoted in tests.
 *
 * @module
 */

import { writeEvidence } from "../../lib/evidence/evidence.ts";
import type { Evidence } from "../../lib/evidence/evidence_shape.ts";
import type { Serve } from "../../lib/serves/manifest_shape.ts";
import { sampleEvidence } from "../../lib/testing/evidence_samples.ts";

/** A sound measurement of `serve` on `node`, changed where a test is about that. */
export function measured(
  node: string,
  serve: Pick<Serve, "name" | "model" | "engine" | "runtime" | "tier">,
  change: (body: Evidence) => void = () => {},
) {
  return writeEvidence(sampleEvidence((body) => {
    const { model, engine, runtime } = serve;
    body.host.node = node;
    body.host.runtime = runtime;
    body.subject.model = model.id;
    body.subject.revision = model.revision;
    body.subject.quantization = model.quantization ?? null;
    body.subject.engine = engine;
    body.through = { kind: "member", serve: serve.name, tier: serve.tier };
    change(body);
  }));
}

/** The same as an input of `promotion.plan`. */
export async function namedIn(...asked: Parameters<typeof measured>) {
  const { id, bytes } = await measured(...asked);
  return { id, document: new TextDecoder().decode(bytes) };
}
