/**
 * What switching to a system would do: units, as its own dry run says, and the parts that only a boot
 * brings in, compared with what was *booted*.
 *
 * @module
 */

import type { Files } from "../../core/files.ts";
import type { RunProcess } from "../../core/process.ts";
import { type Refusal, refuse } from "../../core/refusal.ts";
import type { Impact } from "../backend.ts";
import { endOf, PLAIN_ENV } from "./supervisor.ts";

/** Links of a system whose targets a boot brings in. */
const LINKS = ["kernel", "initrd", "kernel-modules"] as const;
/** Files of a system whose text does. An absent one is an empty one. */
const TEXTS = ["kernel-params"] as const;
const MOST_TEXT = 64 * 1024;

/** Systems are compared by these; a part that cannot be read is told, never taken for equal. */
export interface BootParts {
  readonly [part: string]: string;
}

/** The boot parts of the system at `path`. */
export async function bootParts(
  run: RunProcess,
  files: Files,
  path: string,
): Promise<BootParts | Refusal> {
  const resolved = await resolveLinks(run, LINKS.map((link) => `${path}/${link}`));
  if ("kind" in resolved) return resolved;
  const parts: { [part: string]: string } = {};
  LINKS.forEach((link, index) => parts[link] = resolved.paths[index] ?? "");
  for (const text of TEXTS) {
    const read = await files.readBounded(`${path}/${text}`, MOST_TEXT);
    if (read.kind === "refused") return refuse("impact_unknown", `${text}: ${read.detail}`);
    parts[text] = read.kind === "absent" ? "" : new TextDecoder().decode(read.bytes).trim();
  }
  return parts;
}

/** Parts that differ. */
export function differing(one: BootParts, other: BootParts): readonly string[] {
  return [...LINKS, ...TEXTS].filter((part) => one[part] !== other[part]);
}

/** What inhibits switching from one system to the other: differing reasons mean a boot. */
export async function inhibitorsDiffer(
  files: Files,
  from: string,
  to: string,
): Promise<boolean | Refusal> {
  const texts: string[] = [];
  for (const path of [from, to]) {
    const read = await files.readBounded(`${path}/switch-inhibitors`, MOST_TEXT);
    if (read.kind === "refused") return refuse("impact_unknown", read.detail);
    texts.push(read.kind === "absent" ? "" : new TextDecoder().decode(read.bytes).trim());
  }
  // Nothing on either side is an older system: nothing inhibits then.
  return texts[0] !== "" && texts[1] !== "" && texts[0] !== texts[1];
}

/** Every link followed to its end. */
export async function resolveLinks(
  run: RunProcess,
  paths: readonly string[],
): Promise<{ readonly paths: readonly string[] } | Refusal> {
  const ended = await run({
    argv: ["readlink", "-m", "--", ...paths],
    env: PLAIN_ENV,
    deadlineMs: 10_000,
    maxOutputBytes: 64 * 1024,
  });
  const lines = ended.kind === "exited" && ended.code === 0
    ? new TextDecoder().decode(ended.stdout).trimEnd().split("\n")
    : [];
  return lines.length === paths.length
    ? { paths: lines }
    : refuse("facts_unknown", `readlink: ${endOf(ended)}`);
}

/** Units of a dry run's lines: `would restart the following units: a.service, b.service`. */
export function readDryRun(
  text: string,
): Pick<Impact, "stop" | "restart" | "reload" | "start" | "skipped"> {
  const units = (pattern: RegExp) =>
    [...text.matchAll(pattern)].flatMap(([, list = ""]) =>
      list.split(",").map((unit) => unit.trim()).filter((unit) => unit !== "")
    );
  return {
    stop: units(/would stop the following units: (.*)/g),
    restart: units(/would restart the following units: (.*)/g),
    reload: units(/would reload the following units: (.*)/g),
    start: units(/would start the following units: (.*)/g),
    skipped: units(/would NOT (?:restart|stop) the following changed units(?: \(.*?\))?: (.*)/g),
  };
}
