/**
 * Which hosts a command is for. Never a guess among remote ones.
 *
 *     --target host:<id> ── declared? ──────────────────────────> that host
 *     --target role:<role>, or the command's own role ── owners:
 *         none ──> refused        one ──> it
 *         several ── the command host among them? ──> it, else refused with their names
 *     --target all ─────────────────────────────────────────────> every host, in ascending order
 *
 * @module
 */

import { ID_PATTERN } from "../core/ids.ts";
import { type Refusal, refuse } from "../core/refusal.ts";
import type { FleetIndex } from "./fleet_index.ts";
import type { Fleet } from "./shape.ts";
import { RESOURCE_ROLES, type ResourceRole, type Runtime } from "./vocabulary.ts";

/** Where a command is given: the one thing in which the views of hosts differ. */
export interface CommandIdentity {
  readonly host: string;
  readonly runtime: Runtime;
}

/** What `--target` says. */
export type Target =
  | { readonly kind: "host"; readonly id: string }
  | { readonly kind: "role"; readonly role: ResourceRole }
  | { readonly kind: "all" };

/** Hosts a command is for, at least one. */
export interface Resolved {
  readonly kind: "resolved";
  readonly hosts: readonly string[];
  /** One sentence: which rule chose them. */
  readonly because: string;
}

/** Why no host was chosen. */
export interface TargetRefusal
  extends Refusal<"target_unknown" | "role_unowned" | "target_ambiguous"> {
  /** Hosts a person may choose from. */
  readonly candidates: readonly string[];
}

/** The identity a view declares; null in the canonical topology. */
export function identityOf(fleet: Fleet): CommandIdentity | null {
  const { command_host: host, command_runtime: runtime } = fleet;
  return host === undefined || runtime === undefined ? null : { host, runtime };
}

/** Reads `host:<id>`, `role:<role>` or `all`. */
export function parseTarget(text: string): Target | Refusal<"target_malformed"> {
  if (text === "all") return { kind: "all" };
  const [, kind, name = ""] = /^(host|role):(.*)$/s.exec(text) ?? [];
  if (kind === "host" && ID_PATTERN.test(name)) return { kind, id: name };
  const role = RESOURCE_ROLES.find((one) => one === name);
  if (kind === "role" && role !== undefined) return { kind, role };
  return refuse(
    "target_malformed",
    kind === "role"
      ? `no resource role is called ${JSON.stringify(name)}: ${RESOURCE_ROLES.join(", ")}`
      : "expected host:<id>, role:<role> or all",
  );
}

/** Resolves what `target` says; without one, the owner of the command's resource role. */
export function resolve(
  { hosts, owners }: FleetIndex,
  identity: CommandIdentity | null,
  target: Target,
): Resolved | TargetRefusal {
  switch (target.kind) {
    case "all":
      return resolved([...hosts.keys()].sort(), "every host was asked for");
    case "host":
      return hosts.has(target.id)
        ? resolved([target.id], `the target names ${target.id}`)
        : refused("target_unknown", `no host is called ${target.id}`, [...hosts.keys()].sort());
    case "role":
      return ownerOf(target.role, owners.get(target.role) ?? [], identity);
  }
}

function ownerOf(
  role: ResourceRole,
  owners: readonly string[],
  identity: CommandIdentity | null,
): Resolved | TargetRefusal {
  const [only] = owners;
  if (only === undefined) return refused("role_unowned", `no host owns the role ${role}`, []);
  if (owners.length === 1) return resolved([only], `${only} alone owns the role ${role}`);
  if (identity !== null && owners.includes(identity.host)) {
    const because =
      `of the ${owners.length} owners of ${role}, ${identity.host} is the command host`;
    return resolved([identity.host], because);
  }
  const here = identity === null ? "no command host is known" : `${identity.host} is none of them`;
  const detail = `${owners.length} hosts own the role ${role} and ${here}: ${owners.join(", ")}`;
  return refused("target_ambiguous", detail, owners);
}

function resolved(hosts: readonly string[], because: string): Resolved {
  return { kind: "resolved", hosts, because };
}

function refused(
  code: TargetRefusal["code"],
  detail: string,
  candidates: readonly string[],
): TargetRefusal {
  const nextStep = candidates.length === 0
    ? "declare the role on the host that owns it"
    : `name one with --target host:<id>, as --target host:${candidates[0]}`;
  return { ...refuse(code, detail, nextStep), candidates };
}
