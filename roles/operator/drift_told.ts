/**
 * What hosts are asked about drift, and how their answers are read. An agent that is older than
 * `config.digests` is asked for its inventory instead: less is known of it, and the rest is unknown.
 *
 * @module
 */

import { z } from "zod";
import type { Outcome } from "../../lib/dispatch/outcome.ts";
import { objectOf } from "../../lib/dispatch/reply.ts";
import type { CallAsk, FollowUp, Looked } from "../../lib/dispatch/visit.ts";
import { differingKeys } from "../../lib/home/drift.ts";
import type { DriftItem, DriftTold, HostDigests } from "../../lib/home/host_drift.ts";
import type { HostExpected } from "../../lib/home/host_expected.ts";
import { readAsk } from "./one_host.ts";
import { short } from "./told.ts";

/** What is asked of a host first. */
export function driftAsks({ units }: Pick<HostExpected, "units">): readonly CallAsk[] {
  return [
    readAsk("config.digests", { units: [...units.keys()].slice(0, 64) }),
    readAsk("router.status", {}),
    readAsk("node.identity", {}),
    readAsk("candidates.status", {}),
  ];
}

/** Files whose text an agent may tell, so that the keys that differ can be named. */
const TOLD_KINDS: Readonly<Record<string, string>> = {
  "agent.toml": "agent",
  "router.toml": "router",
  "serves.toml": "serves",
  "topology.toml": "topology",
};

/** The inventory of an older agent; the texts of files that differ. */
export function driftFollowUp({ files }: HostExpected): FollowUp {
  return (answers) => {
    const digests = answers.get("config.digests");
    if (digests?.code === "operation_absent") {
      return [["config.inventory", readAsk("config.inventory", {})]];
    }
    const told = filesOf(digests);
    const kinds = told.kind !== "told" ? [] : told.value.files.flatMap(({ name, sha256 }) => {
      const kind = TOLD_KINDS[name];
      const wanted = files.get(name);
      return kind === undefined || wanted === undefined || sha256 === null ||
          wanted.includes(sha256)
        ? []
        : [kind];
    });
    return kinds.length === 0
      ? []
      : [["config.export", readAsk("config.export", { kinds: [...new Set(kinds)] })]];
  };
}

const MOST_ROWS = 512;
const word = z.string().transform((text) => short(text, 200));
const digest = z.string().regex(/^[0-9a-f]{64}$/).nullable().catch(null);
const code = word.nullable().catch(null);

const filesShape = z.looseObject({
  files: z.array(z.looseObject({
    name: word,
    own: z.boolean().default(false),
    state: z.string(),
    sha256: digest,
    code,
  })).max(MOST_ROWS * 2),
  left_out: z.number().default(0),
});
const build = z.looseObject({ build_digest: digest }).nullable();
const restShape = z.looseObject({
  units: z.array(z.looseObject({
    unit: word,
    state: z.enum(["installed", "absent", "unknown"]).catch("unknown"),
    sha256: digest,
    drop_ins: z.array(z.looseObject({ name: word, sha256: z.string() })).max(64),
    reload_due: z.boolean().nullable().catch(null),
    code,
  })).max(MOST_ROWS),
  programs: z.array(z.looseObject({ name: word, running: build, installed: build, code })).max(32),
});

/** Reads what one host told. */
export function hostDigests(looked: Looked | null): HostDigests {
  const answers = looked?.answers ?? new Map<string, Outcome>();
  const missing = looked === null ? "interrupted" : codeOf(looked.proof);
  const of = (name: string) => answers.get(name);
  const read = <Value>(
    name: string,
    take: (outcome: Outcome) => Value | null,
  ): DriftTold<Value> => {
    const outcome = of(name);
    if (outcome?.kind !== "done") {
      return { kind: "unknown", code: outcome === undefined ? missing : codeOf(outcome) };
    }
    const value = take(outcome);
    return value === null
      ? { kind: "unknown", code: "answer_unreadable" }
      : { kind: "told", value };
  };
  const rest = read("config.digests", ({ result }) => restShape.safeParse(result).data ?? null);
  const digests = of("config.digests");
  return {
    files: digests === undefined
      ? { kind: "unknown", code: missing }
      : digests.code === "operation_absent"
      ? inventoryOf(of("config.inventory"))
      : filesOf(digests),
    units: rest.kind !== "told" ? rest : {
      kind: "told",
      value: rest.value.units.map(({ drop_ins, reload_due, ...unit }) => ({
        ...unit,
        dropIns: new Map(drop_ins.map(({ name, sha256 }) => [name, sha256])),
        reloadDue: reload_due === true,
      })),
    },
    programs: rest.kind !== "told" ? rest : {
      kind: "told",
      value: rest.value.programs.map(({ name, running, installed, code }) => ({
        name,
        running: running === null ? undefined : running.build_digest,
        installed: installed === null ? undefined : installed.build_digest,
        code,
      })),
    },
    router: read("router.status", ({ result }) => {
      const status = objectOf(objectOf(result)?.["status"]);
      const read = digest.safeParse(status?.["config_digest"]).data ?? null;
      return read;
    }),
    generation: of("candidates.status")?.code === "operation_absent"
      ? { kind: "none" }
      : read("candidates.status", ({ result }) => {
        const { current, proven } = objectOf(result) ?? {};
        const path = objectOf(proven)?.["path"];
        const text = (value: unknown) => typeof value === "string" ? short(value, 300) : null;
        return { current: text(current), proven: text(path) };
      }),
    topology: topologyOf(of("node.identity"), missing),
  };
}

/** An agent that names no topology says so: null, which is not the same as not telling. */
function topologyOf(outcome: Outcome | undefined, missing: string): HostDigests["topology"] {
  if (outcome?.kind !== "done") {
    return { kind: "unknown", code: outcome === undefined ? missing : codeOf(outcome) };
  }
  const topology = objectOf(outcome.result)?.["topology"];
  return topology === null || typeof topology === "string"
    ? { kind: "told", value: topology }
    : { kind: "unknown", code: "answer_unreadable" };
}

function filesOf(outcome: Outcome | undefined): HostDigests["files"] {
  if (outcome?.kind !== "done") {
    return { kind: "unknown", code: outcome === undefined ? "interrupted" : codeOf(outcome) };
  }
  const { data } = filesShape.safeParse(outcome.result);
  if (data === undefined) return { kind: "unknown", code: "answer_unreadable" };
  const { files, left_out } = data;
  return { kind: "told", value: { files, whole: left_out === 0, absent: [] } };
}

/** Only files of known kinds: what is not among them may be there all the same. */
function inventoryOf(outcome: Outcome | undefined): HostDigests["files"] {
  const read = filesOf(outcome);
  if (read.kind !== "told" || outcome?.kind !== "done") return read;
  const rows = objectOf(outcome.result)?.["files"];
  const absent = (Array.isArray(rows) ? rows : []).flatMap((row) => {
    const { name, state } = objectOf(row) ?? {};
    return state === "absent" && typeof name === "string" ? [name] : [];
  });
  const files = read.value.files.filter(({ name }) => !absent.includes(name))
    .map((one) => ({ ...one, own: one.name === "clients.toml" }));
  return { kind: "told", value: { files, whole: false, absent } };
}

function codeOf({ code, kind }: Outcome): string {
  return short(code ?? kind, 80);
}

/** Adds the keys that differ, where the host told the text. */
export function withKeys(
  items: readonly DriftItem[],
  { bytesOf }: Pick<HostExpected, "bytesOf">,
  looked: Looked | null,
): readonly DriftItem[] {
  const outcome = looked?.answers.get("config.export");
  const rows = outcome?.kind === "done" ? objectOf(outcome.result)?.["files"] : undefined;
  const texts = new Map(
    (Array.isArray(rows) ? rows : []).flatMap((row) => {
      const { name, text } = objectOf(row) ?? {};
      return typeof name === "string" && typeof text === "string" ? [[name, text] as const] : [];
    }),
  );
  return items.map((item) => {
    const text = item.kind === "file" && item.state === "differs"
      ? texts.get(item.name)
      : undefined;
    const want = text === undefined ? null : bytesOf(item.name);
    if (text === undefined || want === null) return item;
    const keys = differingKeys(want, new TextEncoder().encode(text));
    return { ...item, keys: keys.map((key) => short(key, 80)) };
  });
}
