/**
 * `config.install`: the forward arrow for the two files that are read anew whenever they matter, the
 * host's view of the topology and its serves. The router's file restarts the router, and has
 * `router.config-install`.
 *
 *     look ─> is it what was expected? ─> judge ─> [dry run ends] ─> lock ─> look again ─> copy aside
 *          ─> one replace ─> read back
 *
 * A crash leaves the old file or the new one, whole; asked again, what stands there already is done.
 *
 * @module
 */

import { z } from "zod";
import type { Clock } from "../../../lib/core/clock.ts";
import type { Directories } from "../../../lib/core/directories.ts";
import type { Files } from "../../../lib/core/files.ts";
import { hex } from "../../../lib/core/ids.ts";
import type { TryLock } from "../../../lib/core/lock.ts";
import type { Problem } from "../../../lib/core/problem.ts";
import { type Refusal, refuse } from "../../../lib/core/refusal.ts";
import { sha256 } from "../../../lib/host/digest.ts";
import { within } from "../../../lib/host/paths.ts";
import { defineMutation, type Operation, type Ran } from "../../../lib/operation/operation.ts";
import { keepCopy } from "../../../lib/serves/machines/dated_copy.ts";
import { findServeProblems } from "../../../lib/serves/manifest.ts";
import { fingerprintText } from "../../../lib/topology/fingerprint.ts";
import { readTopology } from "../../../lib/topology/read.ts";
import { findSecretPlaces } from "../../../lib/topology/secret_places.ts";
import { CONFIG_FILES, type ConfigPlaces, type ConfigSeen, lookAtConfig } from "../config_files.ts";
import type { Stillness } from "../stillness.ts";
import { busyWith } from "./change.ts";

/** What installing is done with. */
export interface InstallParts {
  readonly node: string;
  /** Fingerprint that agent.toml names; null when it names none. */
  readonly topology: string | null;
  readonly places: ConfigPlaces;
  /** Where agent.toml says these files are; undefined where it does not. */
  readonly named: { readonly topology?: string | undefined; readonly serves?: string | undefined };
  readonly clock: Clock;
  readonly files: Files;
  readonly directories: Directories;
  readonly tryLock: TryLock;
  /** The agent's state folder. */
  readonly state: string;
  /** The change that is worked on now; null when there is none. */
  readonly change: () => string | null;
  readonly stillness: Stillness;
}

const KINDS = ["serves", "topology"] as const;
type Kind = (typeof KINDS)[number];

const digest = z.string().regex(/^[0-9a-f]{64}$/, "expected a SHA-256 in lower-case hex");

type InstallPlan = {
  readonly kind: Kind;
  readonly from: string | null;
  readonly to: string;
  /** Octal permission bits that the file keeps. */
  readonly mode: string;
  readonly notes: string[];
  readonly text: string;
};

/** Problems that a refusal names. */
const MOST_NAMED = 5;

/** The one. */
export function configInstallOperation(parts: InstallParts): Operation {
  return defineMutation({
    name: "config.install",
    brief: "Install this host's view of the topology, or its serves: judge, copy aside, replace",
    effect: "mutate",
    destructive: true,
    roles: null,
    deadlineMs: 30_000,
    input: z.strictObject({
      kind: z.enum(KINDS),
      text: z.string().min(1).max(900_000).describe("The whole file."),
      expected: digest.nullable().describe(
        "SHA-256 of what must stand there now, null for nothing; refused otherwise.",
      ),
    }),
    output: z.strictObject({
      kind: z.enum(KINDS),
      from: digest.nullable(),
      to: digest,
      changed: z.boolean(),
      /** The dated copy of what stood there; null when nothing did. */
      backup: z.string().nullable(),
    }),
    plan: async ({ kind, text, expected }) => {
      const busy = parts.change();
      if (busy !== null) return busyWith(busy);
      const seen = await lookAtConfig(parts.places);
      const live = liveOf(parts, seen, kind);
      if (live.kind === "refused") return live;
      const to = hex(sha256(text));
      if (live.sha256 !== expected && live.sha256 !== to) return edited(live.sha256, expected);
      const notes = judged(parts, seen, kind, text);
      if (!Array.isArray(notes)) return notes;
      const measured = parts.stillness.inTheWay(null);
      if (live.sha256 === to) notes.push("it stands there already");
      else if (measured !== null) notes.push(`${measured} is being measured here and will end`);
      return { kind: "ok", value: { kind, from: live.sha256, to, mode: live.mode, notes, text } };
    },
    run: (plan, { step }) => install(parts, plan, step),
  });
}

async function install(
  parts: InstallParts,
  { kind, from, to, mode, text }: InstallPlan,
  step: (name: string, effect: "none" | "unknown" | "applied") => void,
): Promise<
  Ran<{ kind: Kind; from: string | null; to: string; changed: boolean; backup: string | null }>
> {
  const { files, state } = parts;
  const lock = await parts.tryLock(within(state, "config.lock"));
  if (lock.kind === "refused") return refuse(lock.code, lock.detail);
  if (lock.kind === "busy") return busyWith("another config.install");
  await using _held = lock;
  const busy = parts.change();
  if (busy !== null) return busyWith(busy);
  const live = liveOf(parts, await lookAtConfig(parts.places), kind);
  if (live.kind === "refused") return live;
  if (live.sha256 === to) {
    return { kind: "ok", value: { kind, from: to, to, changed: false, backup: null } };
  }
  // Between the plan and now somebody may have saved the file: theirs is not lost.
  if (live.sha256 !== from) return edited(live.sha256, from);
  // Evidence says what these files declare: half of it would be by the one, half by the other.
  const alone = await parts.stillness.disturb(`config.install ${kind}`);
  if (alone.kind === "refused") return alone;
  using _alone = alone;
  let backup: string | null = null;
  if (live.text !== null) {
    step("copy aside", "none");
    const kept = await keepCopy({ ...parts, root: within(state, "backups") }, live.name, live.text);
    if (kept.kind === "refused") return kept;
    backup = kept.name;
  }
  step("replace", "unknown");
  const replaced = await files.replaceFile(
    live.path,
    new TextEncoder().encode(text),
    Number.parseInt(mode, 8),
  );
  if (replaced.kind === "refused" && replaced.code !== "file_sync_unknown") {
    return refuse(replaced.code, replaced.detail, "nothing was replaced; see to that folder");
  }
  const now = liveOf(parts, await lookAtConfig(parts.places), kind);
  if (now.kind === "refused" || now.sha256 !== to) {
    return {
      kind: "failed",
      code: "config_not_as_written",
      detail: `${live.name} is not what was written a moment ago: somebody else writes it`,
      effect: "unknown",
    };
  }
  step("replaced", "applied");
  return { kind: "ok", value: { kind, from, to, changed: true, backup } };
}

interface Live {
  readonly kind: "live";
  readonly name: string;
  readonly path: string;
  /** Null when there is no such file. */
  readonly sha256: string | null;
  readonly text: string | null;
  readonly mode: string;
}

/** Where the file is read from, and what stands there. */
function liveOf(
  { places, named }: InstallParts,
  seen: readonly ConfigSeen[],
  kind: Kind,
): Live | Refusal {
  const { name } = CONFIG_FILES[kind];
  const roots = places.roots.filter((root) =>
    named[kind] === undefined || within(root, name) === named[kind]
  );
  const [first] = roots;
  if (first === undefined) {
    return refuse(
      "config_elsewhere",
      `agent.toml names another place for its ${name} than the folders of \`[config]\``,
      "add that folder to `config.roots`, or move the file",
    );
  }
  const rows = seen.filter(({ row }) => row.kind === kind && roots.includes(row.root));
  const there = rows.find(({ row }) => row.state !== "absent");
  if (there === undefined) {
    return {
      kind: "live",
      name,
      path: within(first, name),
      sha256: null,
      text: null,
      mode: "0644",
    };
  }
  const { row, bytes } = there;
  if (bytes === null || row.sha256 === null) {
    return refuse(
      "config_unreadable",
      `what stands there as ${name} is refused: ${row.code ?? "no reason"}`,
      "put a plain file in its place",
    );
  }
  return {
    kind: "live",
    name,
    path: within(row.root, name),
    sha256: row.sha256,
    text: new TextDecoder().decode(bytes),
    mode: row.mode ?? "0644",
  };
}

/** Notes on a text that may be installed; a refusal for one that may not. */
function judged(
  { node, topology }: InstallParts,
  seen: readonly ConfigSeen[],
  kind: Kind,
  text: string,
): string[] | Refusal {
  const places = findSecretPlaces(text);
  if (places.length > 0) {
    const named = places.slice(0, MOST_NAMED)
      .map(({ line, key, what }) => `line ${line ?? "?"}, ${key ?? "$"}: ${what}`);
    return refuse("config_holds_secret", named.join("; "), "secrets have files of their own");
  }
  const read = readTopology(kind === "topology" ? text : textOfKind(seen, "topology") ?? "");
  if (kind === "topology") {
    if (read.kind === "invalid") return invalid("topology.toml", read.problems);
    if (read.model.command_host !== node) {
      return refuse(
        "view_of_another",
        `that is ${
          read.model.command_host === undefined
            ? "the canonical topology"
            : `the view of ${read.model.command_host}`
        }; expected the view of ${node}`,
        "derive it with `topology view`, or install it from the home",
      );
    }
    const now = hex(sha256(fingerprintText(read.model)));
    const host = read.model.hosts[node];
    const serves = textOfKind(seen, "serves");
    const unfit = serves === null || host === undefined
      ? []
      : findServeProblems(serves, node, host);
    return [
      ...(topology === null || topology === now ? [] : [
        `agent.toml names the topology ${topology.slice(0, 12)}, this one is ${
          now.slice(0, 12)
        }: ` +
        "change it there and restart the agent",
      ]),
      ...(unfit.length === 0
        ? []
        : [`serves.toml does not fit it, ${unfit.length} problems: install that next`]),
    ];
  }
  const host = read.kind === "ok" ? read.model.hosts[node] : undefined;
  if (host === undefined) {
    return refuse(
      "topology_absent",
      "no valid topology that declares this host is installed: serves cannot be judged",
      "install topology.toml first",
    );
  }
  const problems = findServeProblems(text, node, host);
  return problems.length === 0 ? [] : invalid("serves.toml", problems);
}

function textOfKind(seen: readonly ConfigSeen[], kind: Kind): string | null {
  const there = seen.find(({ row, bytes }) => row.kind === kind && bytes !== null);
  const bytes = there?.bytes ?? null;
  return bytes === null ? null : new TextDecoder().decode(bytes);
}

function invalid(file: string, problems: readonly Problem[]): Refusal {
  const named = problems.slice(0, MOST_NAMED)
    .map(({ line, path, code }) => `${line === undefined ? "" : `line ${line}, `}${path}: ${code}`);
  return refuse(
    "config_invalid",
    `${file} has ${problems.length} problems: ${named.join("; ")}`,
    "check it with `anvil-operator topology validate`",
  );
}

function edited(observed: string | null, expected: string | null): Refusal {
  const word = (sha256: string | null) => sha256 === null ? "no file" : sha256.slice(0, 12);
  return refuse(
    "config_changed",
    `observed ${word(observed)}, expected ${word(expected)}: nothing was replaced`,
    "somebody else wrote it: `home adopt` brings it to review; then plan again",
  );
}
