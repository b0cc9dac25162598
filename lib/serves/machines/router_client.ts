/**
 * The admin listener of this host's router, over HTTP with a router token of ours. Each request is
 * sent once; what may have happened and was not answered is said to be so.
 *
 * @module
 */

import { z } from "zod";
import type { Json } from "../../core/canonical_json.ts";
import type { Clock } from "../../core/clock.ts";
import type { Files } from "../../core/files.ts";
import { refuse } from "../../core/refusal.ts";
import { Secret } from "../../core/secret.ts";
import { readJson } from "../../core/strict_json.ts";
import type { Endpoint, Upstream, UpstreamAnswer } from "../../relay/upstream.ts";
import type { Observed, RouterAdmin, RouterRefusal, RouterReport, TransitionAsk } from "./ports.ts";

/** Where the router is and how it is asked. */
export interface RouterClientParts {
  readonly upstream: Upstream;
  readonly files: Files;
  readonly clock: Clock;
  readonly admin: Endpoint;
  /** A file with one token: scope `observe` to look, `admin` to change. Null: none is sent. */
  readonly tokenFile: string | null;
}

/** The client, which can also give what the router said in its own words. */
export interface RouterClient extends RouterAdmin {
  statusJson(signal: AbortSignal): Promise<{ readonly status: Json } | RouterRefusal>;
}

const MOST_ANSWER_BYTES = 4 * 1024 * 1024;
const CONNECT_MS = 2000;
const ANSWER_MS = 10_000;
/** A drain answers when it is over; this much later it does not any more. */
const DRAIN_SECONDS = 30;

const tierShape = z.looseObject({
  tier: z.string(),
  intent: z.enum(["admit", "quiesce"]),
  readiness: z.enum(["ready", "not_ready"]),
  in_flight: z.int(),
});

const statusShape = z.looseObject({
  config_digest: z.string(),
  draining: z.boolean(),
  tiers: z.array(tierShape),
  aliases: z.record(z.string(), z.string()),
});

const observedShape = tierShape.extend({ drained: z.boolean(), persisted: z.boolean() });

const refusedShape = z.looseObject({
  error: z.looseObject({
    code: z.enum([
      "tier_unknown",
      "drain_timeout",
      "readmit_refused",
      "intent_not_kept",
      "router_draining",
    ]),
    message: z.string(),
    next_step: z.string().optional(),
  }),
});

/** A client of the router at `admin`. */
export function routerClient(parts: RouterClientParts): RouterClient {
  const statusJson = async (signal: AbortSignal) => {
    const answer = await exchange(parts, null, ANSWER_MS, signal);
    if ("kind" in answer) return answer;
    if (answer.status !== 200) return refusedBy(answer.status, "observe");
    return { status: answer.json };
  };
  return {
    statusJson,
    async status(signal) {
      const told = await statusJson(signal);
      if ("kind" in told) return told;
      const read = statusShape.safeParse(told.status);
      if (!read.success) return strange("its status has another shape than a router's");
      const { config_digest, draining, tiers, aliases } = read.data;
      const report: RouterReport = {
        kind: "report",
        digest: config_digest,
        draining,
        tiers: tiers.map(reportOf),
        aliases,
      };
      return report;
    },
    async transition(ask, signal) {
      const body = bodyOf(ask);
      const waits = ask.action === "drain" ? (ask.seconds ?? DRAIN_SECONDS) * 1000 : 0;
      const answer = await exchange(parts, body, ANSWER_MS + waits, signal);
      if ("kind" in answer) return answer;
      return answer.status === 200 ? observedIn(answer.json) : notCome(answer);
    },
  };
}

function bodyOf({ tier, action, seconds, dryRun }: TransitionAsk): Json {
  return {
    tier,
    action,
    ...(seconds === undefined ? {} : { timeout_seconds: seconds }),
    ...(dryRun === undefined ? {} : { dry_run: dryRun }),
  };
}

function reportOf({ tier, intent, readiness, in_flight }: z.infer<typeof tierShape>) {
  return { tier, intent, readiness, inFlight: in_flight };
}

function observedIn(json: Json): Observed | RouterRefusal {
  const read = observedShape.safeParse(json);
  if (!read.success) return { ...strange("its answer has another shape"), changed: true };
  const { drained, persisted } = read.data;
  return { kind: "observed", ...reportOf(read.data), drained, persisted };
}

function notCome({ status, json }: Told): RouterRefusal {
  const read = refusedShape.safeParse(json);
  if (!read.success) return refusedBy(status, "admin");
  const { code, message, next_step } = read.data.error;
  // A drain that timed out has quiesced; the others say that nothing was changed.
  return { ...refuse(code, message, next_step), changed: code === "drain_timeout" };
}

function refusedBy(status: number, scope: string): RouterRefusal {
  const next = status === 401 || status === 403
    ? `give the agent a router token of scope \`${scope}\``
    : "look at the router's log";
  const detail = `the router answered with status ${status}`;
  return { ...refuse("router_refused", detail, next), changed: status >= 500 };
}

function strange(detail: string): RouterRefusal {
  return { ...refuse("router_refused", detail), changed: false };
}

interface Told {
  readonly status: number;
  readonly json: Json;
}

async function exchange(
  { upstream, files, clock, admin, tokenFile }: RouterClientParts,
  body: Json,
  mostMs: number,
  signal: AbortSignal,
): Promise<Told | RouterRefusal> {
  const token = await tokenOf(files, tokenFile);
  if (token !== null && token.kind === "refused") return token;
  const bytes = new TextEncoder().encode(JSON.stringify(body));
  const over = new AbortController();
  const late = new AbortController();
  void clock.sleep(mostMs, over.signal).then(() => late.abort(), () => {});
  try {
    const answer = await upstream.send({
      endpoint: admin,
      method: body === null ? "GET" : "POST",
      target: body === null ? "/v1/router/status" : "/v1/admin/transition",
      headers: [
        ["accept", "application/json"],
        ...(body === null ? [] : [["content-type", "application/json"] as const]),
        ...(token === null ? [] : [["authorization", `Bearer ${token.secret.reveal()}`] as const]),
      ],
      body: body === null
        ? { kind: "none" }
        : { kind: "bytes", size: bytes.length, chunks: [bytes] },
      connectMs: CONNECT_MS,
      signal: AbortSignal.any([signal, late.signal]),
    });
    signal.throwIfAborted();
    return await toldBy(answer, body !== null);
  } finally {
    over.abort();
  }
}

async function toldBy(answer: UpstreamAnswer, changes: boolean): Promise<Told | RouterRefusal> {
  const silent = (detail: string, changed: boolean): RouterRefusal => ({
    ...refuse("router_unreachable", detail, "see whether the router runs"),
    changed: changes && changed,
  });
  if (answer.kind === "failed") {
    return silent(`the router did not answer: ${answer.code}`, answer.sent !== "no");
  }
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for (;;) {
    const read = await answer.body.read(new Uint8Array(16 * 1024));
    if (read.kind === "end") break;
    if (read.kind === "broken") return silent("the router's answer was cut", true);
    chunks.push(read.bytes.slice());
    size += read.bytes.length;
    if (size > MOST_ANSWER_BYTES) {
      answer.body.cancel();
      return { ...strange("the router's answer is too large"), changed: changes };
    }
  }
  const bytes = new Uint8Array(await new Blob(chunks).arrayBuffer());
  const json = readJson(bytes, { bytes: MOST_ANSWER_BYTES, depth: 64, values: 1_000_000 });
  return json.kind === "ok"
    ? { status: answer.status, json: json.value }
    : { ...strange("the answer is not the router's: it is no JSON"), changed: changes };
}

/** The one token in the file at `path`, which nobody else may read; null when there is no path. */
export async function tokenOf(
  files: Files,
  path: string | null,
): Promise<{ readonly kind: "ok"; readonly secret: Secret } | RouterRefusal | null> {
  const no = (detail: string): RouterRefusal => ({
    ...refuse("router_token_unusable", detail, "one token in a file of mode 0600"),
    changed: false,
  });
  if (path === null) return null;
  const privacy = await files.checkPrivate(path);
  if (privacy.kind === "refused") return no(privacy.detail);
  const read = await files.readBounded(path, 4096);
  if (read.kind !== "ok") return no("the router's token file cannot be read");
  const text = new TextDecoder().decode(read.bytes).trim();
  return /^[\x21-\x7e]+$/.test(text)
    ? { kind: "ok", secret: new Secret(text) }
    : no("the router's token file does not hold one token");
}
