/**
 * What a supervisor grants a program between its stop signal and its kill: read from a systemd unit, a
 * compose file or a launchd property list, and held against the program's drain budget.
 *
 * @module
 */

import { type Refusal, refuse } from "../core/refusal.ts";

/** Who is stopped, and what of it may still run: for the refusal's words. */
export interface Drained {
  readonly program: "router" | "agent";
  readonly work: "requests" | "operations";
}

/** Seconds beyond the drain budget that a program needs to say its last and flush. */
export const MARGIN_SECONDS = 5;

/** What systemd, Docker and launchd grant when a file says nothing. */
const DEFAULTS = { systemd: 90, compose: 10, launchd: 20 } as const;

/** A kind of supervisor file. */
export type SupervisorKind = keyof typeof DEFAULTS;

/** What one supervisor file grants. */
export interface Grace {
  readonly kind: "grace";
  readonly supervisor: SupervisorKind;
  /** The setting's name in that file. */
  readonly setting: string;
  /** Infinity when it never kills. */
  readonly seconds: number;
  /** False when the file says nothing and the supervisor's default holds. */
  readonly stated: boolean;
}

/** What a supervisor file may be refused for. */
export type GraceRefusal = Refusal<"supervisor_unknown" | "grace_unreadable" | "grace_too_short">;

const SETTINGS: { readonly [kind in SupervisorKind]: string } = {
  systemd: "TimeoutStopSec",
  compose: "stop_grace_period",
  launchd: "ExitTimeOut",
};

/** Reads the text of a supervisor file; `name` tells by its ending which kind it is. */
export function readGrace(name: string, text: string): Grace | GraceRefusal {
  if (/\.(service|conf)$/.test(name)) return systemdGrace(text);
  if (/\.ya?ml$/.test(name)) return composeGrace(text);
  if (/\.plist$/.test(name)) return launchdGrace(text);
  return refuse(
    "supervisor_unknown",
    "the name ends in none of .service, .conf, .yaml, .yml and .plist",
    "name a systemd unit, a compose file or a launchd property list",
  );
}

/** Null when what is granted lasts for the drain; the refusal otherwise. */
export function graceProblem(
  grace: Grace,
  drainSeconds: number,
  { program, work }: Drained,
): GraceRefusal | null {
  const needed = drainSeconds + MARGIN_SECONDS;
  if (grace.seconds >= needed) return null;
  const said = grace.stated ? "is" : "is not stated, and is then";
  return refuse(
    "grace_too_short",
    `${grace.setting} ${said} ${grace.seconds} s; running ${work} may take ` +
      `limits.drain_seconds = ${drainSeconds} s and the ${program} ${MARGIN_SECONDS} s more to stop`,
    `set ${grace.setting} to ${needed} s or more, or lower limits.drain_seconds`,
  );
}

function found(
  supervisor: SupervisorKind,
  value: string | null,
  read: (value: string) => number | null,
): Grace | GraceRefusal {
  const setting = SETTINGS[supervisor];
  if (value === null) {
    return { kind: "grace", supervisor, setting, seconds: DEFAULTS[supervisor], stated: false };
  }
  const seconds = read(value);
  return seconds === null
    ? refuse(
      "grace_unreadable",
      `${setting} has a value that is not understood`,
      `write ${setting} in seconds`,
    )
    : { kind: "grace", supervisor, setting, seconds, stated: true };
}

function systemdGrace(text: string): Grace | GraceRefusal {
  let section = "";
  let value: string | null = null;
  for (const raw of text.split("\n")) {
    const line = raw.trim();
    if (line.startsWith("#") || line.startsWith(";")) continue;
    const head = /^\[(.+)\]$/.exec(line);
    if (head !== null) section = head[1] as string;
    // TimeoutSec sets the start's and the stop's. The last word counts; an empty one takes it back.
    const match = /^Timeout(?:Stop)?Sec\s*=\s*(.*)$/.exec(line);
    if (section === "Service" && match !== null) {
      value = match[1] === "" ? null : match[1] as string;
    }
  }
  return found("systemd", value, (text) => {
    if (text === "infinity" || text === "0") return Infinity;
    return span(text, SYSTEMD_UNITS, "s");
  });
}

const SYSTEMD_UNITS: Readonly<Record<string, number>> = {
  ms: 0.001,
  msec: 0.001,
  s: 1,
  sec: 1,
  second: 1,
  seconds: 1,
  m: 60,
  min: 60,
  minute: 60,
  minutes: 60,
  h: 3600,
  hr: 3600,
  hour: 3600,
  hours: 3600,
};

const COMPOSE_UNITS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3600 };

/** `2min 30s` in seconds; null when it is no such thing. `bare` is the unit of a number alone. */
function span(
  text: string,
  units: Readonly<Record<string, number>>,
  bare: string | null,
): number | null {
  const number = /^\d+(\.\d+)?$/.exec(text);
  if (number !== null) return bare === null ? null : Number(text) * (units[bare] ?? 1);
  if (!/^(\d+(\.\d+)?\s*[a-z]+\s*)+$/.test(text)) return null;
  let seconds = 0;
  for (const [, count, unit] of text.matchAll(/(\d+(?:\.\d+)?)\s*([a-z]+)/g)) {
    const worth = Object.hasOwn(units, unit ?? "") ? units[unit ?? ""] : undefined;
    if (worth === undefined) return null;
    seconds += Number(count) * worth;
  }
  return seconds;
}

/**
 * The shortest `stop_grace_period` in the file, at any depth: with several services the shortest is
 * the one that can cut a program off, and none of them stating it is the default.
 */
function composeGrace(text: string): Grace | GraceRefusal {
  const values = [...text.matchAll(/^\s+stop_grace_period:\s*["']?([^"'#\n]*?)["']?\s*(?:#.*)?$/gm)]
    .map((match) => match[1] as string);
  const read = values.map((value) =>
    found("compose", value, (text) => span(text, COMPOSE_UNITS, null))
  );
  const bad = read.find((one) => one.kind === "refused");
  if (bad !== undefined) return bad;
  const graces = read.filter((one) => one.kind === "grace");
  return graces.toSorted((a, b) => a.seconds - b.seconds)[0] ?? found("compose", null, () => null);
}

function launchdGrace(text: string): Grace | GraceRefusal {
  const bare = text.replace(/<!--[\s\S]*?-->/g, "");
  const match = /<key>\s*ExitTimeOut\s*<\/key>\s*<(\w+)>\s*([^<]*?)\s*<\/\w+>/.exec(bare);
  return found("launchd", match === null ? null : `${match[1]} ${match[2]}`, (value) => {
    const seconds = /^integer (\d+)$/.exec(value)?.[1];
    if (seconds === undefined) return null;
    return Number(seconds) === 0 ? Infinity : Number(seconds);
  });
}
