/**
 * `router.toml`: text -> shape -> model, all problems at once.
 *
 * @module
 */

import { type Checked, pathOf, type Problem } from "../../lib/core/problem.ts";
import { nearest } from "../../lib/document/nearest.ts";
import { checkShape, masked } from "../../lib/document/shape.ts";
import { readToml, type Table } from "../../lib/document/toml.ts";
import { AGENT_KIND } from "../../lib/identity/agent_proof.ts";
import { provesNothing } from "../../lib/identity/kinds.ts";
import { hostOf, isLoopback, literalIp } from "./address.ts";
import { configShape, type RouterConfig, type TierConfig, tierShape } from "./config_shape.ts";

/** Reads a config text. Paths in it are still as written: the caller knows where the file stands. */
export function readConfig(text: string): Checked<RouterConfig> {
  const table = readToml(text);
  if (table.kind === "invalid") return table;
  const shaped = checkShape(configShape, table.model);
  const problems = [
    ...(shaped.kind === "invalid" ? shaped.problems.map(declaredOnce) : []),
    ...brokenRules(table.model).map(masked),
  ];
  if (shaped.kind === "invalid" || problems.length > 0) return { kind: "invalid", problems };
  return shaped;
}

const RESTATED =
  /^tiers\[\d+\]\.members\[\d+\]\.(served_model|revision|engine|engine_version|image_digest|config_digest|dialects|context_tokens|max_output_tokens|tools|media|identity|admission|timeouts|host|address)$/;

/** A member that states what its tier declares: a second place could only say something else. */
function declaredOnce(problem: Problem): Problem {
  const key = problem.code === "unknown_key" ? RESTATED.exec(problem.path)?.[1] : undefined;
  return key === undefined ? problem : {
    ...problem,
    code: "declared_on_member",
    message: `\`${key}\` is declared once, on the tier; remove it from the member`,
  };
}

/**
 * What a shape cannot say. Looks at every part that has its shape, also when others do not, so
 * that a person sees all there is to mend in one run.
 */
function brokenRules(table: Table): Problem[] {
  const listen = part(configShape.shape.listen, table["listen"]);
  const auth = part(configShape.shape.auth, table["auth"]);
  const written = Array.isArray(table["tiers"]) ? table["tiers"] as unknown[] : [];
  const tiers = written.map((tier) => part(tierShape, tier));
  const ids = written.map((tier) => textAt(tier, "id"));
  return [
    ...duplicates(ids, (index) => ["tiers", index, "id"], "tier"),
    ...written.flatMap((tier, index) => memberDuplicates(tier, index)),
    ...tiers.flatMap((tier, index) =>
      tier === null ? [] : [...memberHosts(tier, index, listen), ...identityRules(tier, index)]
    ),
    ...(written.length === 0 ? [] : aliasRules(table["aliases"], ids)),
    ...(auth === null ? [] : authRules(auth, listen)),
    ...(listen === null ? [] : listenRules(listen)),
  ];
}

function part<Model>(
  schema: Parameters<typeof checkShape<Model>>[0],
  value: unknown,
): Model | null {
  const checked = checkShape(schema, value);
  return checked.kind === "ok" ? checked.model : null;
}

function duplicates(
  ids: readonly (string | null)[],
  keysOf: (index: number) => PropertyKey[],
  noun: string,
): Problem[] {
  return ids.flatMap((id, index) =>
    id !== null && ids.indexOf(id) < index
      ? [{
        path: pathOf(keysOf(index)),
        code: "duplicate_id",
        message: `another ${noun} is called ${JSON.stringify(id)} already; ids are unique`,
      }]
      : []
  );
}

function memberDuplicates(tier: unknown, index: number): Problem[] {
  const members = valueAt(tier, "members");
  if (!Array.isArray(members)) return [];
  const keysOf = (key: string) => (at: number) => ["tiers", index, "members", at, key];
  return [
    ...duplicates(members.map((member) => textAt(member, "id")), keysOf("id"), "member"),
    ...duplicates(
      members.map((member) => textAt(member, "endpoint")?.replace(/\/$/, "") ?? null),
      keysOf("endpoint"),
      "member",
    ).map((problem) => ({
      ...problem,
      code: "duplicate_endpoint",
      message: "another member of this tier has the same endpoint",
    })),
  ];
}

function memberHosts(
  tier: TierConfig,
  index: number,
  listen: RouterConfig["listen"] | null,
): Problem[] {
  const problems: Problem[] = [];
  const report = (keys: PropertyKey[], code: string, message: string) =>
    problems.push({ path: pathOf(["tiers", index, ...keys]), code, message });
  const hosts = new Set(tier.members.map((member) => hostOf(member.endpoint.hostname)));
  if (hosts.size > 1) {
    report(["members"], "members_on_two_hosts", "the members of a tier are all on one host");
  }
  if ((tier.host === undefined) !== (tier.address === undefined)) {
    report(
      [tier.host === undefined ? "host" : "address"],
      "missing",
      "`host` and `address` are declared together: which other host serves this tier, and where",
    );
  }
  if (tier.address !== undefined) {
    const address = literalIp(tier.address);
    if (address === null) {
      report(["address"], "address_malformed", "expected a literal IP, as 192.0.2.20");
    } else if (hosts.size === 1 && !hosts.has(hostOf(address))) {
      report(
        ["members"],
        "member_off_host",
        "the members' endpoints are not on the tier's `address`",
      );
    }
  } else if (hosts.size === 1 && listen !== null) {
    const own = [hostOf(listen.data.hostname), hostOf(listen.admin.hostname), "loopback"];
    const [host] = hosts;
    const listensEverywhere = own.includes("0.0.0.0") || own.includes("::");
    if (host !== undefined && !own.includes(host) && !listensEverywhere) {
      report(
        ["members"],
        "member_off_host",
        "the members are not on this router's own host; a tier served elsewhere names `host` and `address`",
      );
    }
  }
  return problems;
}

function identityRules(tier: TierConfig, index: number): Problem[] {
  const { kind, agent } = tier.identity;
  if (kind === AGENT_KIND) return agentRules(tier, index);
  if (agent !== undefined || tier.identity.token_file !== undefined) {
    const key = agent === undefined ? "token_file" : "agent";
    const path = pathOf(["tiers", index, "identity", key]);
    const message = `only the kind \`agent\` asks an agent; \`${kind}\` asks the member itself`;
    return [{ path, code: "agent_unasked", message }];
  }
  if (tier.engine === undefined || !provesNothing(kind, tier.engine)) return [];
  return [{
    path: pathOf(["tiers", index, "identity", "kind"]),
    code: "identity_proves_nothing",
    message: `\`${kind}\` lists what ${tier.engine} has installed, not what it serves; ` +
      "choose the kind that asks this engine what is loaded",
  }];
}

function agentRules({ identity, members }: TierConfig, index: number): Problem[] {
  const path = pathOf(["tiers", index, "identity", "agent"]);
  if (identity.agent === undefined) {
    const message = "name the agent of the members' host, as http://127.0.0.1:8765";
    return [{ path, code: "missing", message }];
  }
  const host = hostOf(identity.agent.hostname);
  return members.some((member) => hostOf(member.endpoint.hostname) !== host)
    ? [{
      path,
      code: "agent_off_host",
      message: "an agent proves ports of its own host only: the members' endpoints are on another",
    }]
    : [];
}

function aliasRules(aliases: unknown, ids: readonly (string | null)[]): Problem[] {
  if (typeof aliases !== "object" || aliases === null || Array.isArray(aliases)) return [];
  return Object.entries(aliases).flatMap(([alias, tier]) => {
    if (typeof tier !== "string" || ids.includes(tier)) return [];
    const meant = nearest(tier, ids.filter((id) => id !== null));
    const next = meant === null
      ? "an alias names exactly one tier"
      : `did you mean ${JSON.stringify(meant)}?`;
    return [{
      path: pathOf(["aliases", alias]),
      code: "alias_to_nowhere",
      message: `no tier is called ${JSON.stringify(tier)}; ${next}`,
    }];
  });
}

function authRules(
  auth: RouterConfig["auth"],
  listen: RouterConfig["listen"] | null,
): Problem[] {
  const path = "auth.allow_unauthenticated_loopback";
  if (!auth.allow_unauthenticated_loopback) {
    return auth.clients === undefined
      ? [{
        path: "auth.clients",
        code: "missing",
        message: "name the file of client tokens; make one with `anvil-router tokens add`",
      }]
      : [];
  }
  if (auth.clients !== undefined) {
    const message = "stands instead of `clients`, not beside it: remove one of the two";
    return [{ path, code: "auth_ambiguous", message }];
  }
  if (listen !== null && !(isLoopback(listen.data.hostname) && isLoopback(listen.admin.hostname))) {
    const message = "refused unless both listeners are on loopback (127.0.0.1 or [::1])";
    return [{ path, code: "unauthenticated_off_loopback", message }];
  }
  return [];
}

function listenRules({ data, admin }: RouterConfig["listen"]): Problem[] {
  return data.port !== 0 && data.port === admin.port &&
      hostOf(data.hostname) === hostOf(admin.hostname)
    ? [{
      path: "listen.admin",
      code: "listeners_collide",
      message: "the admin listener needs an address of its own: it answers while data is saturated",
    }]
    : [];
}

function valueAt(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? (value as Table)[key] : undefined;
}

function textAt(value: unknown, key: string): string | null {
  const text = valueAt(value, key);
  return typeof text === "string" ? text : null;
}
