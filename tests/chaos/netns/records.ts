/**
 * Reads what the programs of the namespace world wrote, after the walk.
 *
 * @module
 */

import { DatabaseSync } from "node:sqlite";
import { parse } from "smol-toml";
import { findCanaries } from "../invariants/secrets.ts";
import type { AuditFact, DecisionFact, DiaryLine, Leak, LedgerRow, ProbeRun } from "../facts.ts";
import { roleCommand } from "../../support/role_process.ts";
import { sinceBegin } from "../time.ts";
import type { Canary, Records } from "../world.ts";
import type { Host } from "./host.ts";
import type { Publisher } from "./publisher.ts";

/** Everything. */
export async function readRecords(
  folder: string,
  hosts: readonly Host[],
  publisher: Publisher,
  canaries: readonly Canary[],
): Promise<Records> {
  const broken: { host: string; what: string }[] = [];
  const all = async <T>(of: (host: Host) => Promise<readonly T[]>): Promise<T[]> => {
    const found: T[] = [];
    for (const host of hosts) {
      try {
        found.push(...await of(host));
      } catch (error) {
        broken.push({ host: host.name, what: String(error) });
      }
    }
    return found;
  };
  const records = {
    diary: await all(diaryOf),
    decisions: await all(decisionsOf),
    lives: hosts.flatMap(({ supervisor }) => supervisor.lives),
    ledger: await all(ledgerOf),
    audit: await all(auditOf),
    orders: hosts.flatMap(({ supervisor }) => supervisor.orders),
    probes: await all(probesOf),
    published: publisher.published,
    tokens: await all(tokensOf),
    leaks: await leaksBelow(folder, canaries),
  };
  for (const host of hosts) {
    const words = ["audit", "verify", "disk/agent/audit.jsonl", "--json"];
    const verified = await (await roleCommand("agent", host.folder, words)).output();
    if (verified.code !== 0) {
      const said = new TextDecoder().decode(verified.stdout);
      broken.push({ host: host.name, what: `audit, exit ${verified.code}: ${said}` });
    }
  }
  return { ...records, broken };
}

/** Lines of JSON; a torn last one is nobody's fault here, and others are told. */
async function linesOf<T>(path: string): Promise<readonly T[]> {
  const text = await Deno.readTextFile(path).catch((error) => {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  });
  const lines = text.split("\n");
  lines.pop(); // empty, or torn
  return lines.flatMap((line) => {
    try {
      return [JSON.parse(line) as T];
    } catch {
      return []; // what a kill tore, and the next start went on behind
    }
  });
}

async function filesLike(folder: string, like: RegExp): Promise<readonly string[]> {
  const names = (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name);
  return names.filter((name) => like.test(name)).map((name) => `${folder}/${name}`);
}

async function diaryOf({ name: host, folder }: Host): Promise<readonly DiaryLine[]> {
  const found: DiaryLine[] = [];
  for (const path of await filesLike(folder, /^diary-/)) {
    const program = /diary-(.*)\.jsonl$/.exec(path)?.[1] ?? "";
    type Written = Omit<DiaryLine, "host" | "program">;
    for (const line of await linesOf<Written>(path)) {
      found.push({ ...line, host, program, at: sinceBegin(line.at) });
    }
  }
  return found;
}

async function decisionsOf({ name: host, folder }: Host): Promise<readonly DecisionFact[]> {
  const paths = await filesLike(`${folder}/disk/router`, /^decisions.*\.jsonl/);
  const found = await Promise.all(paths.map((path) => linesOf<DecisionFact>(path)));
  return found.flat().map(({ request_id, outcome, code, status, dispatched, tier }) => (
    { host, request_id, outcome, code, status, dispatched, tier }
  ));
}

function ledgerOf({ name: host, folder }: Host): Promise<readonly LedgerRow[]> {
  const database = new DatabaseSync(`${folder}/disk/agent/ledger.sqlite`, { readOnly: true });
  try {
    const rows = database.prepare("SELECT id, key, operation, state, effect FROM runs").all();
    return Promise.resolve(rows.map((row) => ({ host, ...row }) as unknown as LedgerRow));
  } finally {
    database.close();
  }
}

async function auditOf({ name: host, folder }: Host): Promise<readonly AuditFact[]> {
  const paths = await filesLike(`${folder}/disk/agent`, /^audit.*\.jsonl$/);
  const found = await Promise.all(paths.map((path) => linesOf<AuditFact>(path)));
  return found.flat().map(({ phase, operation, key, action, outcome }) => (
    { host, phase, operation, key, action, outcome }
  ));
}

async function probesOf({ name: host, folder }: Host): Promise<readonly ProbeRun[]> {
  const text = await Deno.readTextFile(`${folder}/probes.log`).catch(() => "");
  return text.split("\n").flatMap((line) => {
    const [digest, exit, up] = line.split(" ");
    return digest === undefined || exit === undefined || up === undefined
      ? []
      : [{ host, digest, pass: exit === "0", upMs: Number(up) * 1000 }];
  });
}

async function tokensOf({ name: host, folder }: Host) {
  const text = await Deno.readTextFile(`${folder}/disk/agent-clients.toml`);
  const { clients } = parse(text) as unknown as {
    readonly clients: readonly { readonly tokens: readonly { readonly sha256: string }[] }[];
  };
  return clients.flatMap(({ tokens }) => tokens.map(({ sha256 }) => ({ host, hash: sha256 })));
}

/** Where secrets belong: nothing else may hold one. */
const KEPT = /\/(router\.token|gateway\/tokens\/[^/]+|publisher\/keys\/[^/]+)$/;

async function leaksBelow(folder: string, canaries: readonly Canary[]): Promise<readonly Leak[]> {
  const leaks: Leak[] = [];
  for await (const { name, isDirectory, isFile } of Deno.readDir(folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) leaks.push(...await leaksBelow(path, canaries));
    else if (isFile && !KEPT.test(path) && name !== "ballast") {
      const text = new TextDecoder("latin1").decode(await Deno.readFile(path));
      leaks.push(...findCanaries(path, text, canaries));
    }
  }
  return leaks;
}
