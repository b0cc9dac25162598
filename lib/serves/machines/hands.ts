/**
 * The serves of this host by name, over driver, lifecycle, probe and budget: every ending of theirs
 * becomes `ok` with what proves it, or a refusal that says whether anything was changed.
 *
 * @module
 */

import { type Refusal, refuse } from "../../core/refusal.ts";
import type { Driver, Unknown } from "../driver.ts";
import type { Lifecycle, OnProgress } from "../lifecycle_outcome.ts";
import type { Serve } from "../manifest_shape.ts";
import type { Probe } from "../probe.ts";
import type { Handled, ServeHands } from "./ports.ts";

/** What the hands are made of. */
export interface HandParts {
  readonly serves: readonly Serve[];
  readonly driverFor: (serve: Serve) => Driver;
  readonly lifecycle: Lifecycle;
  readonly probe: Probe;
  /** Whether `start` fit once `stop` are gone. */
  readonly fits: ServeHands["fits"];
  readonly onProgress: OnProgress;
}

/** Hands on the serves of a manifest. */
export function serveHands(parts: HandParts): ServeHands {
  const named = new Map(parts.serves.map((serve) => [serve.name, serve]));
  const gone = (name: string) =>
    refuse("serve_unknown", `no serve of the manifest is called ${name}`, "plan again");
  return {
    state: (name, signal) => {
      const serve = named.get(name);
      return serve === undefined
        ? Promise.resolve({ kind: "stopped", exit: null })
        : parts.driverFor(serve).status(serve, signal);
    },
    resolve: async (name, signal) => {
      const serve = named.get(name);
      if (serve === undefined) return gone(name);
      const found = await parts.driverFor(serve).resolve(serve, signal);
      if (found.kind === "ready") return null;
      return found.kind === "refused" ? found : unknown(found);
    },
    fits: parts.fits,
    up: async (name, signal) => {
      const serve = named.get(name);
      if (serve === undefined) return untouched(gone(name));
      const end = await parts.lifecycle.up(serve, parts.onProgress, signal);
      switch (end.kind) {
        case "up":
          return {
            kind: "ok",
            observed: `${end.already ? "runs" : "started"}: ${end.instance.id}`,
          };
        case "died": {
          const how = end.exit === null ? "nobody knows how" : `code ${end.exit.code}`;
          const last = end.lines.at(-1) ?? "no line";
          return touched(refuse("serve_died", `${name} ended by itself, ${how}: ${last}`));
        }
        case "unfit":
          return touched(
            refuse(end.code, `${name}: expected ${end.expected}, observed ${end.observed}`),
          );
        case "refused":
          return untouched(end);
        case "unknown":
          return touched(unknown(end));
      }
    },
    down: async (name, signal) => {
      const serve = named.get(name);
      if (serve === undefined) return untouched(gone(name));
      const end = await parts.lifecycle.down(serve, { force: false }, parts.onProgress, signal);
      switch (end.kind) {
        case "down":
          return { kind: "ok", observed: end.was === "running" ? "gone" : "was not there" };
        case "still_there":
          return touched(refuse("serve_still_there", `${name}: ${end.detail}`));
        case "refused":
          return untouched(end);
        case "unknown":
          return touched(unknown(end));
      }
    },
    prove: async (name, signal) => {
      const serve = named.get(name);
      return serve === undefined
        ? untouched(gone(name))
        : untouched(await proven(serve, parts, signal));
    },
  };
}

/** Null made ok, for both proofs: the process behind the port, then what the engine says. */
async function proven(
  serve: Serve,
  { driverFor, probe }: HandParts,
  signal: AbortSignal,
): Promise<Refusal | { readonly kind: "ok"; readonly observed: string }> {
  const owner = await driverFor(serve).identity(serve, signal);
  if (owner.kind === "unknown") return unknown(owner);
  if (owner.kind === "absent") {
    return refuse("identity_absent", `nobody listens on the port of ${serve.name}`);
  }
  if (owner.kind === "differs") {
    return refuse(
      "identity_mismatch",
      `${serve.name}: expected ${owner.expected}, observed ${owner.observed}`,
    );
  }
  const said = await probe(serve, signal);
  switch (said.kind) {
    case "ready":
      return { kind: "ok", observed: `proven: ${owner.instance.id}` };
    case "not_ready":
      return refuse("serve_never_healthy", `${serve.name}: observed ${said.observed}`);
    case "mismatch":
      return refuse(
        "identity_mismatch",
        `${serve.name}: expected ${said.expected}, observed ${said.observed}`,
      );
    case "unparseable":
      return refuse("identity_unparseable", `${serve.name}: observed ${said.observed}`);
  }
}

function unknown({ code, detail }: Unknown): Refusal {
  return refuse(code, detail, "see whether the runtime answers");
}

function touched(refusal: Refusal): Handled {
  return { ...refusal, changed: true };
}

function untouched(told: Refusal | { readonly kind: "ok"; readonly observed: string }): Handled {
  return told.kind === "ok" ? told : { ...told, changed: false };
}
