/**
 * `make soak MINUTES=60`: the world of a walk without faults, for an hour, and how much memory its
 * programs hold.
 *
 *     soak.ts [--minutes N] [--seed TEXT] [--out FILE.json]
 *
 * Exit 0: all flat and no invariant violated. 1: not so. 2: usage. 3: it cannot be run here.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { ActKind } from "./act.ts";
import { AgentAsks } from "./agent_asks.ts";
import { BOUND, type Flatness, flatnessOf, type Point } from "./flatness.ts";
import { obstacle, runInside } from "./netns/enter.ts";
import { NetnsWorld } from "./netns/world.ts";
import { plan } from "./plan.ts";
import { reportOf } from "./report.ts";
import { elapsed, pause } from "./time.ts";
import { walk, type Walked } from "./walk.ts";
import type { World } from "./world.ts";

const HERE = fileURLToPath(import.meta.url);
const CONFIG = fileURLToPath(new URL("../../deno.json", import.meta.url));
const EVERY_MS = 10_000;
/** Between two looks of a gateway that watches, and what one look asks of a host. */
const LOOK_MS = 2_000;
const LOOK = ["node.identity", "node.facts", "serves.list", "mode.status", "operations.list"];
/** One act in so many of a walk's: an hour of a house, not of a storm. */
const ONE_ACT_IN = 8;

/** Acts that restart neither router nor agent: their memory is one life's. */
const MILD: ReadonlySet<ActKind> = new Set<ActKind>([
  ...["drain", "restart_serve", "rotate_token", "adopt", "publish_good", "look"] as const,
]);

/** Memory of one life of a program. */
interface Series {
  readonly host: string;
  readonly program: string;
  readonly pid: number;
  readonly points: Point[];
}

async function sample(world: World, series: Map<string, Series>, signal: AbortSignal) {
  while (!signal.aborted) {
    for (const { host, program, pid, bytes } of await world.memory()) {
      const key = `${host} ${program} ${pid}`;
      const one = series.get(key) ?? { host, program, pid, points: [] };
      series.set(key, one);
      one.points.push({ at: elapsed(), bytes });
    }
    await pause(EVERY_MS, signal);
  }
}

/** Looks at every agent all along, as an open dashboard does: their heaps are used, not only held. */
async function look(world: World, signal: AbortSignal): Promise<number> {
  const asks = new AgentAsks(world);
  let answered = 0;
  await Promise.all(world.hosts.map(async (host) => {
    while (!signal.aborted) {
      for (const operation of LOOK) {
        if ((await asks.read(host, operation))?.status === 200) answered += 1;
      }
      await pause(LOOK_MS, signal);
    }
  }));
  return answered;
}

async function soak(minutes: number, seed: string, out: string | undefined): Promise<number> {
  const folder = await Deno.makeTempDir({ prefix: "anvil-soak-" });
  const series = new Map<string, Series>();
  const began = new Date().toISOString();
  const whole = plan(seed, minutes, ["gpu-a", "gpu-b"]);
  const acts = whole.acts.filter(({ kind }, index) => index % ONE_ACT_IN === 0 && MILD.has(kind));
  let answered = 0;
  const walked = await (async () => {
    await using world = await NetnsWorld.start({
      folder,
      hosts: whole.hosts,
      diskMib: 256,
      skew: false,
    });
    const stop = new AbortController();
    const sampling = sample(world, series, stop.signal);
    const looking = look(world, stop.signal);
    const done = await walk(world, { ...whole, faults: [], acts }, {
      clientsPerHost: 2,
      pauseMs: [300, 1500],
      timerMs: 45_000,
      say: (text) => console.log(`${(elapsed() / 1000).toFixed(0)} s  ${text}`),
      // Settling restarts nothing, and is no part of the hour.
      beforeSettling: async () => {
        stop.abort();
        await sampling;
        answered = await looking;
      },
    });
    return done;
  })();
  await Deno.remove(folder, { recursive: true }).catch(() => {});
  return await tell({ minutes, seed, began, series: [...series.values()], answered, walked, out });
}

interface Told {
  readonly minutes: number;
  readonly seed: string;
  readonly began: string;
  readonly series: readonly Series[];
  /** Reads that agents answered. */
  readonly answered: number;
  readonly walked: Walked;
  readonly out: string | undefined;
}

async function tell(
  { minutes, seed, began, series, answered, walked, out }: Told,
): Promise<number> {
  const rows = series.flatMap(({ host, program, pid, points }) => {
    const flatness = flatnessOf(points);
    return flatness === null ? [] : [{ host, program, pid, ...flatness }];
  });
  const { facts, violations } = walked;
  console.log(reportOf(seed, minutes, facts.hosts.length, walked));
  console.log(soakTable(rows));
  const lives = facts.lives.filter(({ program }) => /^(router|agent)$/.test(program)).length;
  const flat = rows.every((row) => row.flat) && rows.length > 0;
  console.log(
    `soak of ${minutes} min: ${facts.transcripts.length} requests, ${facts.asks.length} asks, ${answered} reads, ` +
      `${lives} lives of routers and agents; bound ${BOUND / 1024 / 1024} MiB/h: ` +
      (flat ? "flat" : "NOT FLAT"),
  );
  if (out !== undefined) {
    const requests = facts.transcripts.length;
    const told = { began, minutes, seed, requests, answered, violations, rows, series };
    await Deno.writeTextFile(out, `${JSON.stringify(told)}\n`);
  }
  return flat && violations.length === 0 ? 0 : 1;
}

type Row = Flatness & { readonly host: string; readonly program: string };

/** A Markdown table. */
export function soakTable(rows: readonly Row[]): string {
  const cell = (value: number) => value.toFixed(1);
  return [
    "| host | program | first MiB | last MiB | most MiB | slope MiB/h, second half | flat |",
    "| --- | --- | --- | --- | --- | --- | --- |",
    ...rows.map((row) =>
      `| ${row.host} | ${row.program} | ${cell(row.firstMib)} | ${cell(row.lastMib)} | ` +
      `${cell(row.mostMib)} | ${cell(row.slope)} ± ${cell(2 * row.error)} | ${
        row.flat ? "yes" : "NO"
      } |`
    ),
  ].join("\n");
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    args: [...Deno.args],
    options: {
      minutes: { type: "string", default: "60" },
      seed: { type: "string", default: "soak" },
      out: { type: "string" },
      inside: { type: "boolean", default: false },
    },
  });
  const minutes = Number(values.minutes);
  if (!(minutes > 0)) {
    console.error("soak.ts [--minutes N] [--seed TEXT] [--out FILE.json]");
    return 2;
  }
  if (values.inside) return await soak(minutes, values.seed, values.out);
  const why = obstacle();
  if (why !== null) {
    console.log(`soak: not run: ${why}`);
    return 3;
  }
  return await runInside(Deno.execPath(), [
    ...["run", "-A", "--config", CONFIG, "--frozen", "--cached-only", "--quiet", HERE, "--inside"],
    ...Deno.args,
  ]);
}

if (import.meta.main) Deno.exit(await main());
