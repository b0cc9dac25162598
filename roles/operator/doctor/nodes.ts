/**
 * What is asked of the network: agents, their clocks, versions and tokens, certificates, publishers.
 * Without a network nothing of it passes.
 *
 * @module
 */

import type { Json } from "../../../lib/core/canonical_json.ts";
import { parseOrigin } from "../../../lib/core/address.ts";
import { exchange } from "../../../lib/dispatch/exchange.ts";
import type { Outcome } from "../../../lib/dispatch/outcome.ts";
import { objectOf } from "../../../lib/dispatch/reply.ts";
import { findToken } from "../../../lib/dispatch/token_source.ts";
import { readToml } from "../../../lib/document/toml.ts";
import { ownerOf, textOf } from "../../../lib/home/check_set.ts";
import { type LiveSet, readSet } from "../../../lib/home/open_home.ts";
import type { ProgramContext } from "../../../lib/terminal/program.ts";
import type { Fleet } from "../../../lib/topology/shape.ts";
import { ageText } from "../age.ts";
import { skewText } from "../commands/node.ts";
import { type Ready, runDispatch } from "../dispatch.ts";
import type { DispatchFlags } from "../dispatch_flags.ts";
import { readAsk } from "../one_host.ts";
import type { Operator } from "../operator.ts";
import { hashOf } from "../token_store.ts";
import { type Check, fail, gathered, type Look, unknown, warning } from "./look.ts";

/** Clocks further apart make receipts, expiries and freshness lie. */
const MOST_SKEW_MS = 5000;
const DAY_MS = 86_400_000;
/** A token that ends sooner is told. */
const TOKEN_SOON_MS = 14 * DAY_MS;
/** A certificate that ends sooner is told. */
const CERTIFICATE_SOON_MS = 21 * DAY_MS;

/** Codes of outcomes that say more of this machine's network than of the host. */
const OF_THE_NETWORK = new Set(["no_route", "connect_timeout", "connect_impossible"]);

/** Checks that nothing can be said of without a plan. */
const OF_NODES: readonly Check[] = [
  "tokens",
  "agents",
  "clocks",
  "versions",
  "token_ends",
  "certificates",
  "publisher",
];

/** All of them unknown, for one reason. */
export function unasked(why: string, next: string): readonly Look[] {
  return OF_NODES.map((check) => unknown(check, "", why, next));
}

/** Asks every agent of the plan, and every publisher. */
export async function lookAtNodes(
  context: ProgramContext,
  operator: Operator,
  ready: Ready,
  flags: DispatchFlags,
): Promise<readonly Look[]> {
  const asked = await runDispatch(context, operator, ready, flags, { kind: "health" });
  const { outcomes } = asked;
  const reached = outcomes.filter(({ health }) => health !== null);
  return [
    ...await lookAtTokens(ready),
    ...lookAtAgents(outcomes, asked.silent),
    ...lookAtClocks(reached, outcomes.length),
    ...lookAtVersions(reached, outcomes.length),
    ...await lookAtTokenEnds(context, operator, ready, flags, reached),
    ...await lookAtCertificates(operator, ready),
  ];
}

async function lookAtTokens({ plan, tokens }: Ready): Promise<readonly Look[]> {
  const troubles: Look[] = [];
  for (const { host, token } of plan.hosts) {
    const found = await findToken(tokens, token);
    if (found.kind === "ok") continue;
    const next = found.nextStep ?? "have one made with `tokens issue`";
    troubles.push(fail("tokens", host, found.detail, next));
  }
  return gathered("tokens", troubles, `one for each of ${plan.hosts.length} agents`);
}

function lookAtAgents(outcomes: readonly Outcome[], silent: readonly string[]): readonly Look[] {
  const answers = outcomes.some(({ health, code }) =>
    health !== null || code === "connection_refused"
  );
  const troubles = outcomes.flatMap((one) => {
    // A token that is missing is told once, and nothing was asked.
    if (one.kind === "done" || one.code === "credential_missing") return [];
    const observed = `${one.kind}: ${one.code ?? ""}: ${one.detail}`;
    const next = one.nextStep ?? "see `node health`, and the runbook on that code";
    // Nobody at all answers: it may as well be this machine that is off the network.
    const ours = !answers && OF_THE_NETWORK.has(one.code ?? "");
    return [
      ours
        ? unknown("agents", one.host, observed, "look whether this machine has a network")
        : fail("agents", one.host, observed, next),
    ];
  });
  const unheard = [
    ...outcomes.filter(({ code }) => code === "credential_missing").map(({ host }) => host),
    ...silent,
  ].map((host) => unknown("agents", host, "it was not asked", "see the check `tokens`"));
  return gathered("agents", [...troubles, ...unheard], `${outcomes.length} answer`);
}

function lookAtClocks(reached: readonly Outcome[], all: number): readonly Look[] {
  const troubles = reached.flatMap(({ host, skewMs }) =>
    skewMs === null
      ? [unknown("clocks", host, "its answer has no date", "see `node facts`")]
      : Math.abs(skewMs) <= MOST_SKEW_MS
      ? []
      : [fail("clocks", host, skewText(skewMs), "set the clock there, or here; see to NTP")]
  );
  return heard("clocks", reached, all, gathered("clocks", troubles, `${reached.length} as ours`));
}

/** Versions of one protocol stand beside each other while a rollout goes on: that is no failure. */
function lookAtVersions(reached: readonly Outcome[], all: number): readonly Look[] {
  const versionOf = ({ health }: Outcome) => String(health?.["version"] ?? "?");
  const list = [...Map.groupBy(reached, versionOf)]
    .map(([version, of]) => `${version} on ${of.length}`).join(", ");
  const [others = [], ours = []] = [true, false].map((differs) =>
    reached.filter(({ code }) => (code === "protocol_differs") === differs)
  );
  const troubles = others.map((one) =>
    fail("versions", one.host, one.detail, one.nextStep ?? "bring both to one version")
  );
  if (new Set(ours.map(versionOf)).size > 1) {
    troubles.push(warning(
      "versions",
      "",
      `${list}; they speak one protocol`,
      "go on with the rollout: `fleet versions` names who is behind, and " +
        "`op call candidates.status --target host:ID` what keeps it",
    ));
  }
  return heard("versions", reached, all, gathered("versions", troubles, list));
}

/** A pass of some is no pass of all. */
function heard(
  check: Check,
  reached: readonly Outcome[],
  all: number,
  looks: readonly Look[],
): readonly Look[] {
  const missing = all - reached.length;
  if (missing === 0 && all > 0) return looks;
  const why = all === 0 ? "there is no agent to ask" : `${missing} of ${all} agents did not tell`;
  return [
    ...looks.filter(({ verdict }) => verdict !== "pass" || reached.length > 0),
    unknown(check, "", why, "see the check `agents`"),
  ];
}

async function lookAtTokenEnds(
  context: ProgramContext,
  operator: Operator,
  ready: Ready,
  flags: DispatchFlags,
  reached: readonly Outcome[],
): Promise<readonly Look[]> {
  const all = ready.plan.hosts.length;
  const fit = new Set(reached.filter(({ kind }) => kind === "done").map(({ host }) => host));
  const hosts = ready.plan.hosts.filter(({ host }) => fit.has(host));
  if (hosts.length === 0) return heard("token_ends", [], all, []);
  const some = { ...ready, plan: { ...ready.plan, hosts } };
  const ask = readAsk("tokens.list", {});
  const { outcomes } = await runDispatch(context, operator, some, flags, ask);
  const now = operator.ports.clock.now();
  const troubles: Look[] = [];
  for (const { host, token } of hosts) {
    const outcome = outcomes.find((one) => one.host === host);
    const listed = objectOf(outcome?.result)?.["tokens"];
    if (!Array.isArray(listed)) {
      const observed = `it does not list its tokens: ${outcome?.code ?? "no answer"}`;
      troubles.push(unknown("token_ends", host, observed, "a token with the scope tokens.list"));
      continue;
    }
    const found = await findToken(ready.tokens, token);
    const ours = found.kind === "ok" ? hashOf(operator, found.secret).id : null;
    for (const one of listed.map((row: Json) => objectOf(row) ?? {})) {
      const end = Date.parse(String(one["expires_at"] ?? ""));
      if (Number.isNaN(end) || end - now > TOKEN_SOON_MS) continue;
      const whose = one["id"] === ours ? "our own token" : `${one["client"]}, ${one["id"]}`;
      const observed = end <= now
        ? `${whose}: over since ${ageText(now - end)}`
        : `${whose}: ends in ${ageText(end - now)}`;
      const next = one["id"] === ours
        ? `tokens rotate --target host:${host}`
        : end <= now
        ? `tokens revoke --target host:${host} --id ${one["id"]}`
        : "whoever uses it needs another one: tokens issue";
      troubles.push(fail("token_ends", host, observed, next));
    }
  }
  const well = gathered("token_ends", troubles, `none within ${TOKEN_SOON_MS / DAY_MS} days`);
  return heard("token_ends", hosts.map(({ host }) => ({ host }) as Outcome), all, well);
}

async function lookAtCertificates(
  { ports, doctor }: Operator,
  { plan, authorities }: Ready,
): Promise<readonly Look[]> {
  const now = ports.clock.now();
  const troubles: Look[] = [];
  const judge = (subject: string, endsAt: number, next: string) => {
    if (endsAt - now > CERTIFICATE_SOON_MS) return;
    const observed = endsAt <= now
      ? `it is over since ${ageText(now - endsAt)}`
      : `it ends in ${ageText(endsAt - now)}`;
    troubles.push(fail("certificates", subject, observed, next));
  };
  let seen = 0;
  for (const end of authorities.flatMap((text) => doctor.endsOf(text))) {
    seen++;
    if (end === null) {
      const next = "write the file of --ca anew";
      troubles.push(unknown("certificates", "--ca", "a certificate cannot be read", next));
    } else judge("--ca", end, "have a new authority made, and give it to both sides");
  }
  const https = plan.hosts.filter(({ endpoint }) => endpoint.scheme === "https");
  const shown = await Promise.all(https.map(({ endpoint }) => doctor.endShownAt(endpoint, 3000)));
  https.forEach(({ host }, at) => {
    const end = shown[at];
    if (end?.kind === "seen") {
      seen++;
      judge(host, end.endsAt, "renew the certificate there");
    } else {
      const detail = end?.detail ?? "it was not asked";
      troubles.push(unknown("certificates", host, detail, "see the check `agents`"));
    }
  });
  const well = seen === 0 ? "no endpoint uses https" : `${seen}, none ends within 21 days`;
  return gathered("certificates", troubles, well);
}

/** The publishers that the hosts' adopter.toml name, and whether they answer. */
export async function lookAtPublishers(
  operator: Operator,
  flags: DispatchFlags,
  authorities: readonly string[],
  { home, live, fleet }: { readonly home: string; readonly live: LiveSet; readonly fleet: Fleet },
): Promise<readonly Look[]> {
  const { ports, dispatch } = operator;
  const set = await readSet(ports, home, live.receipt);
  if ("kind" in set) {
    return [unknown("publisher", "", set.detail, set.nextStep ?? "see `home verify`")];
  }
  const hosts = Object.keys(fleet.hosts);
  const named = new Map<string, string[]>();
  for (const { path, bytes } of set) {
    const owner = ownerOf(path, hosts);
    if (owner?.name !== "adopter.toml") continue;
    const table = readToml(textOf(bytes) ?? "\0");
    const publisher = table.kind === "ok" ? table.model["publisher"] : null;
    const url = typeof publisher === "object" && publisher !== null && "url" in publisher
      ? String(publisher.url)
      : "";
    named.set(url, [...named.get(url) ?? [], owner.host]);
  }
  const silent = hosts.filter((id) => {
    const policy = fleet.hosts[id]?.adoption?.policy ?? "none";
    return policy !== "none" && ![...named.values()].flat().includes(id);
  });
  const troubles: Look[] = silent.map((host) =>
    unknown(
      "publisher",
      host,
      "it adopts, and the set has no adopter.toml of it",
      `commit hosts/${host}/adopter.toml`,
    )
  );
  for (const [url, of] of named) {
    const look = await publisherAt(url, of.join(", "));
    if (look !== null) troubles.push(look);
  }
  return gathered(
    "publisher",
    troubles,
    named.size === 0 ? "no host adopts" : `${named.size} answer`,
  );

  async function publisherAt(url: string, of: string): Promise<Look | null> {
    const origin = parseOrigin(url);
    if (origin.kind === "refused") {
      return fail("publisher", of, `publisher.url: ${origin.detail}`, "correct their adopter.toml");
    }
    const upstream = dispatch.open(authorities)(origin.origin.scheme);
    try {
      const answer = await exchange(
        { upstream, clock: ports.clock },
        {
          ...{ endpoint: origin.origin, method: "GET", target: "/livez", headers: [] },
          body: { kind: "none" },
        },
        { connectMs: flags.connectTimeout * 1000, deadlineMs: 5000, mostBytes: 64 * 1024 },
        new AbortController().signal,
      );
      if (answer.kind === "answered") {
        return answer.status < 500
          ? null
          : fail("publisher", url, `status ${answer.status}; asked for by ${of}`, "see its log");
      }
      const observed = `${answer.code}; ${of} would stage nothing from it`;
      return answer.code === "connect_refused" || answer.code === "closed_before_head"
        ? fail("publisher", url, observed, "start the publisher there, or correct adopter.toml")
        : unknown("publisher", url, observed, "look at the network between here and there");
    } finally {
      upstream.close();
    }
  }
}

/** What the network checks say when nobody may be asked. */
export function offline(): readonly Look[] {
  return unasked("--offline: nobody was asked", "look again without --offline");
}
