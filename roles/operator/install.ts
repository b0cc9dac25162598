/**
 * The forward arrow: what is to be installed on one host, what stands there now, and the receipt.
 *
 *     home's text, or a file ─> the host's view of it ─> no secret in it? ─> what stands there now
 *                            ─> patch ─> receipt `sent` ─> the agent ─> receipt with the outcome
 *
 * @module
 */

import { timestamp } from "../../lib/core/clock.ts";
import { hex } from "../../lib/core/ids.ts";
import { type Refusal, refuse } from "../../lib/core/refusal.ts";
import type { Outcome } from "../../lib/dispatch/outcome.ts";
import { objectOf } from "../../lib/dispatch/reply.ts";
import { type Arrow, keepArrow } from "../../lib/home/arrow.ts";
import { declaredFile, installedText } from "../../lib/home/declared.ts";
import { liveTopology, openHome, readSet } from "../../lib/home/open_home.ts";
import type { InvalidSet } from "../../lib/home/ports.ts";
import { unifiedPatch } from "../../lib/home/unified_patch.ts";
import { within } from "../../lib/host/paths.ts";
import { findSecretPlaces } from "../../lib/topology/secret_places.ts";
import type { Runtime } from "../../lib/topology/vocabulary.ts";
import type { Change } from "./change_run.ts";
import { noHome } from "./fleet_source.ts";
import { knownTokens, LIVE_KINDS, type LiveFile, secretProblems } from "./live_file.ts";
import { readText } from "./operation_input.ts";
import type { Operator } from "./operator.ts";

/** What is to be installed. */
export interface Wanted {
  readonly kind: "wanted";
  /** Its name on the host. */
  readonly name: "router.toml" | "serves.toml" | "topology.toml";
  readonly text: string;
  /** Where it is from; null for a file that no commit is known to hold. */
  readonly from: {
    readonly path: string;
    readonly generation: string;
    readonly commit: string;
  } | null;
}

/** True for what names a file here, and not one of the live set. */
export function isPath(file: string): boolean {
  return /[/\\]/.test(file);
}

/** A bare name is one of the live set; anything with a separator in it is a path here. */
export async function wantedText(
  operator: Operator,
  { home, host, file, runtime }: {
    readonly home: string | undefined;
    readonly host: string;
    readonly file: string;
    readonly runtime: Runtime | undefined;
  },
): Promise<Wanted | Refusal> {
  if (isPath(file)) {
    const base = file.split(/[/\\]/).at(-1);
    const read = await readText(operator, "FILE", file);
    if (read.kind === "refused") return read;
    const name = base === "serves.toml" || base === "topology.toml" ? base : "router.toml";
    return { kind: "wanted", name, text: read.text, from: null };
  }
  if (file !== "router.toml" && file !== "serves.toml" && file !== "topology.toml") {
    return refuse(
      "not_installable",
      `observed ${file}, expected router.toml, serves.toml or topology.toml`,
      LIVE_KINDS[file] === undefined
        ? `a file of another name here is written as a path: ./${file}`
        : "that one is read at a start only: put it there by hand, and restart the agent",
    );
  }
  const { ports } = operator;
  const place = home ?? operator.home;
  if (place === null) return noHome();
  const live = await openHome(ports, place);
  if (live.kind === "refused") {
    return live.code !== "home_empty" ? live : refuse(
      live.code,
      `${file} is looked for in the home, and ${live.detail}`,
      `materialize a commit; or install a file of this folder: ./${file}`,
    );
  }
  const set = await readSet(ports, place, live.receipt);
  if ("kind" in set) return set;
  const topology = await liveTopology(ports, place, live);
  if ("kind" in topology) return topology;
  const { fleet } = topology;
  const declared = declaredFile(set, fleet, host, file);
  if (declared.kind === "refused") return declared;
  const made = runtime ?? fleet.hosts[host]?.runtime ?? "native";
  const text = installedText(declared, fleet, host, made);
  if (text.kind === "refused") return text;
  const { path } = live.receipt;
  return {
    kind: "wanted",
    name: file,
    text: text.text,
    from: {
      path: path === "" ? declared.path : `${path}/${declared.path}`,
      generation: live.current.digest,
      commit: live.receipt.commit,
    },
  };
}

/** Null when no secret is in a text that is to travel. */
export async function secretIn(
  operator: Operator,
  store: string | null,
  { name, text, from }: Wanted,
): Promise<InvalidSet | null> {
  const known = await knownTokens(operator, store);
  const places = findSecretPlaces(text, (value) => known.has(hex(operator.ports.sha256(value))));
  return places.length === 0 ? null : secretProblems(from?.path ?? name, places);
}

/** What changes on the host; null when its text may not be shown. */
export function patchOver(
  host: string,
  { name, text }: Pick<Wanted, "name" | "text">,
  live: Standing,
): string | null {
  const before = live.kind === "live" ? live.text : live.kind === "absent" ? "" : null;
  return before === null || before === text ? null : unifiedPatch(`${host}/${name}`, before, text);
}

/** What stands on the host; `unread` where nobody could be asked for it, and it was done all the same. */
export type Standing = LiveFile | { readonly kind: "unread"; readonly code: string };

/** Keeps the receipt around the run, in the home when one is live; says aloud when it cannot. */
export async function receiptOf(
  operator: Operator,
  { home, host, by, arrow, wanted, live, patch, say }: {
    readonly home: string | undefined;
    readonly host: string;
    readonly by: string;
    readonly arrow: "install" | "restore";
    /** A text of null: it is known to the host alone. */
    readonly wanted: Omit<Wanted, "text"> & { readonly text: string | null };
    readonly live: Standing;
    readonly patch: string | null;
    readonly say: (text: string) => void;
  },
): Promise<Change["record"] & object> {
  const { ports } = operator;
  const place = home ?? operator.home;
  const opened = place === null ? null : await openHome(ports, place);
  if (place === null || opened?.kind !== "live") {
    const before = () => {
      say("no home is live: no receipt of this is kept\n");
      return Promise.resolve(null);
    };
    return { before, after: (outcome) => Promise.resolve(outcome) };
  }
  const at = timestamp(ports.clock.now());
  const { name, text, from } = wanted;
  const told: Omit<Arrow, "schema" | "patch_sha256" | "outcome" | "code" | "change" | "backup"> = {
    ...{ arrow, host, file: name, path: from?.path ?? null },
    live_sha256: live.kind === "live" || live.kind === "withheld" ? live.sha256 : null,
    home_sha256: text === null ? null : hex(ports.sha256(text)),
    ...{ generation: from?.generation ?? null, commit: from?.commit ?? null },
    withheld: live.kind === "withheld" || live.kind === "unread" ? live.code : null,
    ...{ at, by },
  };
  const none = { code: null, change: null, backup: null };
  return {
    // Without a receipt nothing is sent: the record is opened before the act.
    before: async () => {
      const kept = await keepArrow(ports, place, { ...told, ...none, outcome: "sent" }, patch);
      return kept.kind === "refused" ? kept : null;
    },
    after: async (outcome) => {
      const result = objectOf(outcome.result);
      const text = (key: string) => typeof result?.[key] === "string" ? String(result[key]) : null;
      const ended = { outcome: outcome.kind, code: outcome.code };
      const kept = await keepArrow(
        ports,
        place,
        { ...told, ...ended, change: text("change"), backup: text("backup") },
        patch,
      );
      if (kept.kind === "refused") {
        say(`${kept.code}: the receipt of this still says \`sent\`: ${kept.detail}\n`);
        return outcome;
      }
      const receipt = within(kept.folder, "receipt.json");
      return result === null ? outcome : { ...outcome, result: { ...result, receipt } } as Outcome;
    },
  };
}
