/**
 * What a topology never holds: secrets, runtime observations, and a declaration of what is derived.
 *
 * Looks at every key and text of the parsed file, whatever its shape. No message and no path quotes
 * what looks like a secret.
 *
 * @module
 */

import { pathOf, type Problem } from "../core/problem.ts";
import { folded } from "./look_alike.ts";

interface KeyClass {
  readonly code: string;
  /** Found anywhere in the name, separators and case apart. */
  readonly parts: readonly string[];
  /** Found as a word of the name, or as the whole of it. */
  readonly words: readonly string[];
  readonly message: (reading: string) => string;
}

const KEY_CLASSES: readonly KeyClass[] = [
  {
    code: "secret_key",
    parts: [
      ...["password", "passwd", "passphrase", "passcode", "secret", "token", "credential"],
      ...["apikey", "privatekey", "accesskey", "signingkey", "encryptionkey", "sshkey", "hostkey"],
      ...["authorization", "bearer", "cookie", "keyfile", "masterkey"],
    ],
    words: ["pwd", "pass", "auth", "jwt", "pat", "pin", "otp", "psk"],
    message: (reading) =>
      `reads as \`${reading}\`: a topology holds no secrets; name an entry of the token store ` +
      "in a transport's `token`",
  },
  {
    code: "eligibility_declared",
    parts: ["eligib", "promotable", "canpromote", "promotionallowed", "allowpromotion"],
    words: [],
    message: (reading) =>
      `reads as \`${reading}\`: promotion eligibility is derived from runtime and availability, ` +
      "never declared; remove it",
  },
  {
    code: "runtime_observation",
    parts: [
      ...["health", "reachab", "lastseen", "containerid", "uptime", "online", "latency"],
      ...["liveness", "readiness", "heartbeat", "observed", "running", "temperature"],
      ...["utilization", "usedmib", "freemib", "inflight", "startedat", "checkedat"],
    ],
    words: [
      ...["status", "state", "alive", "ready", "pid", "pids", "up", "down", "load"],
      ...["container", "containers", "offline", "pressure"],
    ],
    message: (reading) =>
      `reads as \`${reading}\`: what is observed at run time is asked for, never declared; remove it`,
  },
];

/** Keys of the file that a class would find, where they are meant. */
function isMeant(keys: readonly PropertyKey[]): boolean {
  return keys.length === 3 && keys[0] === "transports" && keys[2] === "token";
}

interface ValueShape {
  readonly what: string;
  readonly pattern: RegExp;
}

const SECRET_SHAPES: readonly ValueShape[] = [
  { what: "a token of this software", pattern: /anvil_[A-Za-z0-9_-]{16,}/ },
  {
    what: "a private key",
    pattern: /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY|AGE-SECRET-KEY-1|PuTTY-User-Key/,
  },
  { what: "an authorization header", pattern: /\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}/i },
  {
    what: "a URL with a password",
    pattern: /\b[a-z][a-z0-9+.-]{0,31}:\/\/[^\s/?#@:]{0,256}:[^\s/?#@]{0,256}@/i,
  },
  { what: "a signed web token", pattern: /\beyJ[A-Za-z0-9_-]{8,1024}\.[A-Za-z0-9_-]{4}/ },
  {
    what: "a provider's key",
    pattern: new RegExp(
      [
        ...[String.raw`\bsk-[A-Za-z0-9_-]{16,}`, String.raw`\bgh[opsur]_[A-Za-z0-9]{16,}`],
        ...[String.raw`\bgithub_pat_[A-Za-z0-9_]{16,}`, String.raw`\bglpat-[A-Za-z0-9_-]{16,}`],
        ...[String.raw`\bhf_[A-Za-z0-9]{16,}`, String.raw`\bxox[a-z]-[A-Za-z0-9-]{10,}`],
        ...[String.raw`\b(AKIA|ASIA)[A-Z0-9]{16}\b`, String.raw`\bAIza[A-Za-z0-9_-]{30,}`],
        ...[String.raw`\btskey-[A-Za-z0-9-]{10,}`, String.raw`\bnpm_[A-Za-z0-9]{20,}`],
        ...[
          String.raw`\b[rs]k_(live|test)_[A-Za-z0-9]{10,}`,
          String.raw`\bnvapi-[A-Za-z0-9_-]{16,}`,
        ],
      ].join("|"),
    ),
  },
];

/** Inside a value; in the text of a file it is how a key is written. */
const ASSIGNMENT: ValueShape = {
  what: "a password as an argument or assignment",
  pattern: /\b(pass(word|wd|phrase)?|pwd|secret|token|api[-_ ]?key)\s*[=:]\s*\S/i,
};

/** Long, and of upper case, lower case and digits: nobody wrote that by hand. */
const LONG_RUN = /[A-Za-z0-9+/_=-]{32,}/g;
/** Identities of devices, public host keys and evidence names are long and no secrets. */
const RANDOM_BUT_PUBLIC = new Set<PropertyKey>(["uuid", "known_host", "evidence"]);

const CONTAINER_ID = /^(sha256:)?[0-9a-f]{64}$/i;

/** Nothing in a topology is longer, and nothing longer is looked through. */
const LONGEST_TEXT = 8192;

/** What the walk found, and below which paths nothing more may be said. */
export interface Forbidden {
  readonly problems: readonly Problem[];
  /** True when a problem at `path` would repeat or quote what is reported already. */
  readonly covers: (path: string) => boolean;
}

/** Every forbidden key and value of `table`. */
export function findForbidden(table: unknown): Forbidden {
  const problems: Problem[] = [];
  const covered = new Set<string>();
  // A thousand hosts have the same dozen keys: each name is judged once.
  const judged = new Map<string, ReturnType<typeof judgeKey>>();
  const judge = (key: string) => {
    const known = judged.get(key) ?? judgeKey(key);
    judged.set(key, known);
    return known;
  };
  const report = (keys: readonly PropertyKey[], code: string, message: string) => {
    const path = pathOf(keys);
    covered.add(path);
    problems.push({ path, code, message });
  };
  const visit = (value: unknown, keys: readonly PropertyKey[]) => {
    if (typeof value === "string") {
      if (value.length > LONGEST_TEXT) {
        report(keys, "out_of_range", `at most ${LONGEST_TEXT} characters`);
        return;
      }
      const found = faultOfText(value, keys.at(-1));
      if (found !== null) report(keys, ...found);
      return;
    }
    if (typeof value !== "object" || value === null || value instanceof Date) return;
    const isList = Array.isArray(value);
    for (const [key, item] of Object.entries(value)) {
      if (isList) {
        visit(item, [...keys, Number(key)]);
        continue;
      }
      const here = [...keys, key];
      const { secret, fault } = judge(key);
      if (secret !== null) {
        // The name itself is the secret: point at what holds it, and say nothing else of it.
        covered.add(pathOf(here));
        const message = `a key here looks like ${secret}; remove it and replace the secret`;
        problems.push({ path: pathOf(keys), code: "secret_value", message });
        continue;
      }
      if (key === "__proto__") report(here, "unknown_key", "this key is not known here; remove it");
      else if (fault !== null && !isMeant(here) && !isName(keys, item)) {
        report(here, ...fault);
        continue;
      }
      visit(item, here);
    }
  };
  visit(table, []);
  return { problems, covers: (path) => isBelow(path, covered) };
}

/** Hosts and capabilities are named by people: a host may be called `token-server`. */
function isName(parent: readonly PropertyKey[], item: unknown): boolean {
  return parent.length === 1 && (parent[0] === "hosts" || parent[0] === "capabilities") &&
    typeof item === "object" && item !== null;
}

/** What a key is by its name, wherever it stands. */
function judgeKey(key: string): {
  readonly secret: string | null;
  readonly fault: [code: string, message: string] | null;
} {
  const name = key.slice(0, LONGEST_TEXT);
  return { secret: secretIn(name), fault: faultOfName(name) };
}

function faultOfName(name: string): [string, string] | null {
  const reading = folded(name);
  const words = reading.split(/[^A-Za-z]+|(?<=[a-z])(?=[A-Z])/).map((word) => word.toLowerCase());
  const whole = words.join("");
  for (const { code, parts, words: single, message } of KEY_CLASSES) {
    const found = parts.some((part) => whole.includes(part)) ||
      single.some((word) => word === whole || words.includes(word));
    if (found) return [code, message(words.filter((word) => word !== "").join("_"))];
  }
  return null;
}

function faultOfText(text: string, key: PropertyKey | undefined): [string, string] | null {
  const secret = secretIn(text) ??
    (key !== undefined && RANDOM_BUT_PUBLIC.has(key) ? null : randomIn(text));
  if (secret !== null) {
    return [
      "secret_value",
      `looks like ${secret}; a topology holds no secrets: remove it, and replace it where it is used`,
    ];
  }
  return CONTAINER_ID.test(text)
    ? [
      "runtime_observation",
      "looks like the id of a container or image: which one runs is asked for, never declared",
    ]
    : null;
}

/** What a text looks like that may not be shown; null when it does not. */
export function secretIn(text: string): string | null {
  if (text.length < 8) return null;
  const reading = folded(text);
  return [...SECRET_SHAPES, ASSIGNMENT].find(({ pattern }) => pattern.test(reading))?.what ?? null;
}

/** The same for a line of a file, in which a key and its value stand side by side. */
export function shapeIn(line: string): string | null {
  const reading = folded(line);
  return SECRET_SHAPES.find(({ pattern }) => pattern.test(reading))?.what ?? null;
}

/** `text` with a mask in place of everything that has the shape of a secret. */
export function maskSecretShapes(text: string): string {
  return SECRET_SHAPES.reduce(
    (masked, { pattern }) =>
      masked.replaceAll(new RegExp(pattern, `${pattern.flags}g`), "[secret]"),
    text,
  );
}

/** Lines of any text that hold something with the shape of a secret. */
export function findSecretLines(text: string): readonly Problem[] {
  return text.split("\n").flatMap((line, index) => {
    const what = shapeIn(line.slice(0, LONGEST_TEXT));
    return what === null ? [] : [{
      path: "$",
      code: "secret_value",
      message: `holds what looks like ${what}; remove it, and replace it where it is used`,
      line: index + 1,
    }];
  });
}

function randomIn(text: string): string | null {
  if (text.length < 32) return null;
  const runs = folded(text).match(LONG_RUN) ?? [];
  const random = runs.some((run) => /[a-z]/.test(run) && /[A-Z]/.test(run) && /[0-9]/.test(run));
  return random ? "a random token" : null;
}

/** True when `path`, or what it is in, is among `covered`. */
function isBelow(path: string, covered: ReadonlySet<string>): boolean {
  if (covered.size === 0) return false;
  if (covered.has(path)) return true;
  for (const { index } of path.matchAll(/[.[]/g)) {
    if (covered.has(path.slice(0, index))) return true;
  }
  return false;
}
