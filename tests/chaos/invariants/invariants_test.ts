import assert from "node:assert/strict";
import type {
  AskFact,
  AuditFact,
  DecisionFact,
  DiaryLine,
  Facts,
  Inflicted,
  LedgerRow,
  Life,
  StatusSample,
  Transcript,
  Violation,
} from "../facts.ts";
import { brokenRecord, INVARIANTS, violationsOf } from "./all.ts";
import { blessedUnproven } from "./blessing.ts";
import { dispatchedTwice } from "./dispatch.ts";
import { untrueEnd } from "./ends.ts";
import { gatewayChanged } from "./gateway.ts";
import { wrongIdentity } from "./identity.ts";
import { leakedLease } from "./leases.ts";
import { ranTwice, untruthfulKey } from "./operations.ts";
import { findCanaries, secretInSink } from "./secrets.ts";

const HOST = "gpu-a";
const MODEL = "org/model";

const came: DiaryLine = {
  ...{ host: HOST, program: "chat", model: MODEL, marker: "m-1", when: "came", at: 5000 },
};
const sent: DiaryLine = { ...came, when: "sent_whole", at: 6000 };
const decided: DecisionFact = {
  ...{ host: HOST, request_id: "m-1", outcome: "completed", code: null, status: 200 },
  ...{ dispatched: 1, tier: "primary" },
};
const seen: Transcript = {
  ...{ marker: "m-1", host: HOST, alias: "llm.primary", stream: true, spoiled: false },
  ...{ began: 5000, ended: 6100 },
  ...{ status: 200, end: "whole", terminator: true, complete: true, code: null },
};
const life: Life = {
  ...{ host: HOST, program: "chat", model: MODEL, expected: MODEL, began: 0, ended: null },
};
const routerLife: Life = { ...life, program: "router", model: null, expected: null };
const sample: StatusSample = {
  ...{ host: HOST, from: 20_000, to: 20_050, open: 1 },
  tiers: [{
    ...{ tier: "primary", intent: "admit", readiness: "ready", in_flight: 1, waiting: 0 },
    members: [{ id: "chat", state: "ready", age_ms: 300, program: "chat" }],
  }],
};
const quiet: StatusSample = {
  ...sample,
  open: 0,
  tiers: sample.tiers.map((tier) => ({ ...tier, in_flight: 0 })),
};
const ask: AskFact = {
  ...{ host: HOST, operation: "tokens.issue", key: "k-1", at: 100, status: 200, said: "done" },
  ...{ run: "run-1", state: "done", effect: "applied", hash: "h1" },
};
const row: LedgerRow = {
  ...{ host: HOST, id: "run-1", key: "k-1", operation: "tokens.issue", state: "done" },
  effect: "applied",
};
const audited: AuditFact = {
  ...{ host: HOST, phase: "end", operation: "tokens.issue", key: "k-1", action: "apply" },
  outcome: "done",
};

/** A walk in which everything was right. */
const RIGHT: Facts = {
  hosts: [HOST],
  inflicted: [],
  transcripts: [seen],
  diary: [came, sent],
  decisions: [decided],
  lives: [life, routerLife],
  samples: [sample],
  asks: [ask],
  ledger: [row],
  audit: [audited],
  orders: [],
  adoption: [{ host: HOST, at: 900, proven: "d1", current: "d1" }],
  probes: [
    { host: HOST, digest: "d1", pass: true, upMs: 0 },
    { host: HOST, digest: "d1", pass: true, upMs: 3000 },
  ],
  published: [{ host: HOST, digest: "d1", good: true }, { host: HOST, digest: "d2", good: false }],
  tokens: [{ host: HOST, hash: "h1" }],
  leaks: [],
  broken: [],
  quiet: [quiet],
};

type Plant = readonly [what: string, wrong: Partial<Facts>];

/** `invariant` is silent about the right walk and about `fine`, and loud about each plant. */
function red(
  invariant: (facts: Facts) => readonly Violation[],
  plants: readonly Plant[],
  fine: readonly Plant[] = [],
): void {
  assert.deepEqual(invariant(RIGHT), []);
  for (const [what, wrong] of plants) {
    assert.notDeepEqual(invariant({ ...RIGHT, ...wrong }), [], `not seen: ${what}`);
  }
  for (const [what, harmless] of fine) {
    assert.deepEqual(invariant({ ...RIGHT, ...harmless }), [], what);
  }
}

const harmed = (fault: Inflicted["fault"], from: number, to: number) => [{ fault, from, to }];
const FAULT = { at: 0, lasts: 1 } as const;
const cutOff: Transcript = { ...seen, end: "cut", terminator: false, complete: false };

Deno.test("invariants: all are silent about a walk in which everything was right", () => {
  assert.deepEqual(violationsOf(RIGHT), []);
  assert.equal(new Set(INVARIANTS).size, 10);
});

Deno.test("invariant: no request dispatched twice", () => {
  red(dispatchedTwice, [
    ["one engine saw it twice", { diary: [came, came, sent] }],
    ["two engines saw it", { diary: [came, { ...came, host: "gpu-b", program: "embed" }] }],
    ["two decisions", { decisions: [decided, decided] }],
    ["said to be not sent, and it came", { decisions: [{ ...decided, dispatched: 0 }] }],
  ], [["another marker", { diary: [came, sent, { ...came, marker: "m-2" }] }]]);
});

Deno.test("invariant: no stream without a true end", () => {
  const error: Transcript = { ...seen, end: "error_event", terminator: false, complete: false };
  red(untrueEnd, [
    ["whole by its framing alone", {
      transcripts: [{ ...seen, end: "untrue", terminator: false }],
    }],
    ["a terminator behind half an answer", { transcripts: [{ ...seen, complete: false }] }],
    ["an answer of no engine", { diary: [] }],
    ["cut by nothing", { transcripts: [cutOff], decisions: [] }],
    ["a stream broke off without a word", {
      transcripts: [cutOff],
      decisions: [{ ...decided, outcome: "upstream_truncated" }],
    }],
    ["whole, recorded as cut", { decisions: [{ ...decided, outcome: "upstream_truncated" }] }],
    ["an error, recorded as completed", { transcripts: [error] }],
    ["completed, and never sent whole", {
      transcripts: [{ ...cutOff, end: "left" }],
      diary: [came, { ...came, when: "broken_off" }],
    }],
    ["refused with one code, recorded with another", {
      transcripts: [{
        ...seen,
        end: "refused",
        status: 503,
        terminator: false,
        code: "queue_full",
      }],
      decisions: [{ ...decided, outcome: "refused_busy", code: "queue_timeout" }],
    }],
  ], [
    ["cut by a kill of the router", {
      transcripts: [cutOff],
      decisions: [],
      lives: [life, { ...routerLife, ended: 6000 }],
    }],
    ["cut by the cable", {
      transcripts: [cutOff],
      decisions: [],
      inflicted: harmed({ ...FAULT, kind: "cut", host: HOST }, 5500, 5900),
    }],
    ["a body with a length broke off, and that is told", {
      transcripts: [{ ...cutOff, stream: false }],
      decisions: [{ ...decided, outcome: "upstream_truncated" }],
    }],
    ["a record that a kill took", { decisions: [] }],
    ["the client left", { transcripts: [{ ...cutOff, end: "left" }], decisions: [] }],
  ]);
  assert.notDeepEqual(
    untrueEnd({
      ...RIGHT,
      transcripts: [cutOff],
      decisions: [],
      inflicted: harmed({ ...FAULT, kind: "cut", host: "gpu-b" }, 5500, 5900),
    }),
    [],
    "another host's cable excuses nothing",
  );
});

Deno.test("invariant: no tier ready with a wrong identity", () => {
  const impostor: Life = { ...life, model: "org/impostor", began: 10_000, ended: 25_000 };
  const asked: DiaryLine = { ...came, model: "org/impostor", at: 24_000 };
  red(wrongIdentity, [
    ["proven while an impostor served", { lives: [impostor] }],
    ["asked long after", { samples: [], lives: [impostor], diary: [asked] }],
  ], [
    ["proven before", { lives: [{ ...impostor, began: 19_500 }] }],
    ["proven behind it", { lives: [{ ...impostor, ended: 19_000 }] }],
    ["asked at once", { samples: [], lives: [{ ...impostor, began: 23_000 }], diary: [asked] }],
    ["the host stood still", {
      samples: [],
      lives: [impostor],
      diary: [asked],
      inflicted: harmed({ ...FAULT, kind: "pause", host: HOST }, 13_000, 23_000),
    }],
  ]);
});

Deno.test("invariant: no operation run twice", () => {
  const start = { host: HOST, at: 50, verb: "start", unit: "anvil-gpu-a-embed.service" };
  const restart: AskFact = { ...ask, operation: "serves.restart", hash: null };
  red(ranTwice, [
    ["two runs of a key", { asks: [ask, { ...ask, run: "run-2" }] }],
    ["done twice by the audit", { audit: [audited, audited] }],
    ["two rows", { ledger: [row, { ...row, id: "run-2" }] }],
    ["two starts by one key", { asks: [restart, restart], orders: [start, start] }],
  ], [
    ["joined", { asks: [ask, ask], audit: [audited, { ...audited, outcome: "known" }] }],
    ["one start", { asks: [restart], orders: [start] }],
    ["a plan, and reads that bear a key", {
      audit: [audited, ...["plan", "read", "read"].map((action) => ({ ...audited, action }))],
    }],
  ]);
});

Deno.test("invariant: a key has one truthful answer", () => {
  const failed: AskFact = { ...ask, said: "operation_interrupted", status: 409, state: "failed" };
  red(untruthfulKey, [
    ["done, then failed", { asks: [ask, failed] }],
    ["done, and the ledger says failed", { ledger: [{ ...row, state: "failed" }] }],
    ["failed, and the ledger says done", { asks: [failed] }],
    ["a run without a row", { ledger: [] }],
    ["running for ever", {
      ledger: [{ ...row, state: "running" }],
      asks: [{ ...ask, status: null }],
    }],
    ["done, and its token is not there", { tokens: [] }],
    ["no effect, and its token is there", {
      asks: [{ ...failed, effect: "none" }],
      ledger: [{ ...row, state: "failed", effect: "none" }],
    }],
    ["its token is there twice", { tokens: [...RIGHT.tokens, ...RIGHT.tokens] }],
  ], [
    ["not told, then done", { asks: [{ ...ask, status: null, said: null, run: null }, ask] }],
    ["busy, then done", { asks: [{ ...ask, status: 429, said: "agent_busy", run: null }, ask] }],
    ["unknown effect, and it is there", {
      asks: [failed],
      ledger: [{ ...row, state: "failed", effect: "unknown" }],
    }],
  ]);
});

Deno.test("invariant: no unproven generation blessed", () => {
  const bad = { host: HOST, at: 950, proven: "d2", current: "d2" };
  const probes = RIGHT.probes.map((one) => ({ ...one, digest: "d2" }));
  red(blessedUnproven, [
    ["a bad one is proven", { adoption: [bad], probes }],
    ["proven by one sample", { probes: RIGHT.probes.slice(1) }],
    ["proven by probes of another host", {
      probes: RIGHT.probes.map((one) => ({ ...one, host: "gpu-b" })),
    }],
    ["proven by probes that failed", {
      probes: RIGHT.probes.map((one) => ({ ...one, pass: false })),
    }],
    ["proven by less than the window", {
      probes: RIGHT.probes.map((one) => ({ ...one, upMs: 0 })),
    }],
    ["nobody published what runs", { adoption: [{ ...bad, proven: null, current: "d9" }] }],
  ], [["a bad one runs while it is judged", { adoption: [{ ...bad, proven: "d1" }] }]]);
});

Deno.test("invariant: no lease leaked", () => {
  red(leakedLease, [
    ["more held than asked", { samples: [{ ...sample, open: 0 }] }],
    ["held in the quiet", { quiet: [sample] }],
  ]);
});

Deno.test("invariant: no secret in any sink", () => {
  const canaries = [{ what: "a token", text: "anvil_secret" }];
  const leaks = findCanaries("router.log", "a line with anvil_secret in it", canaries);
  assert.deepEqual(leaks, [{ sink: "router.log", what: "a token" }]);
  assert.deepEqual(findCanaries("router.log", "a line", canaries), []);
  red(secretInSink, [["a token in a log", { leaks }]]);
});

Deno.test("invariant: gateway loss changes no serving", () => {
  const inflicted = harmed({ ...FAULT, kind: "gateway_gone" }, 4000, 30_000);
  const at = (from: number) => ({ from, to: from + 50 });
  const failed: Transcript = {
    ...{ ...seen, began: 22_000, ended: 22_100, end: "refused", code: "tier_not_ready" },
    status: 503,
  };
  const shut = {
    ...sample,
    ...{ from: 21_000, to: 21_050 },
    tiers: sample.tiers.map((tier) => ({ ...tier, readiness: "not_ready" })),
  };
  const closed = {
    ...shut,
    tiers: sample.tiers.map((tier) => ({ ...tier, intent: "quiesce" })),
  };
  const promotion: AskFact = { ...ask, operation: "promotion.apply", at: 40_000 };
  red(gatewayChanged, [
    ["a tier fell", { inflicted, samples: [sample, shut] }],
    ["a request failed", {
      inflicted,
      transcripts: [failed],
    }],
    ["a tier was closed, and nobody was at it", { inflicted, samples: [sample, closed] }],
    ["a request met a closed tier, and nobody was at it", {
      inflicted,
      asks: [{ ...promotion, host: "gpu-b" }, { ...promotion, at: 200_000 }],
      transcripts: [{ ...failed, code: "tier_quiesced" }],
    }],
    ["a request failed otherwise beside an operation", {
      inflicted,
      asks: [promotion],
      transcripts: [failed],
    }],
  ], [
    ["an operation that was under way closed the tier (seed 9)", {
      inflicted,
      samples: [sample, closed],
      asks: [promotion],
      transcripts: [{ ...failed, code: "tier_quiesced" }],
    }],
    ["a request failed before anybody looked", {
      inflicted,
      transcripts: [{ ...failed, began: 19_000 }],
    }],
    ["a tier came up late", {
      inflicted,
      samples: [{ ...shut, ...at(20_000) }, { ...sample, ...at(21_000) }],
    }],
    ["before the gateway was gone", { samples: [sample, shut] }],
    ["nothing changed", { inflicted }],
    ["an operation that was under way restarted the router", {
      inflicted,
      samples: [sample, shut],
      lives: [life, { ...routerLife, began: 20_500 }],
    }],
  ]);
});

Deno.test("invariant: records are whole", () => {
  red(brokenRecord, [["an audit chain breaks", { broken: [{ host: HOST, what: "audit" }] }]]);
});
