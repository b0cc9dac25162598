/**
 * What the agent costs: `deno run -A tests/bench/agent.ts [--only NAME[,NAME]] [--rounds N]`.
 *
 *     claims   claims a second, beside what the disk allows
 *     calls    whole live mutations a second: audit, claim, steps, end
 *     read     what a read operation adds to plain Deno.serve, over loopback
 *     rows     start and claims with 100,000 rows in the ledger
 *
 * Asserts nothing: prints figures, and bars as met or missed. Sides take turns within a round, so that
 * a busy machine is busy for both.
 *
 * @module
 */

import { systemClock } from "../../lib/host/clock.ts";
import { openDatabase } from "../../lib/host/sqlite.ts";
import { Ledger, LEDGER_BOUNDS } from "../../lib/operation/ledger.ts";
import { LEDGER_MIGRATIONS } from "../../lib/operation/ledger_schema.ts";
import { OperationRig, put } from "../../lib/testing/operation_rig.ts";
import { type TempDir, tempDir } from "../../lib/testing/temp_dir.ts";
import { startAgentRig, TOKENS } from "../support/agent.ts";

const SCENARIOS = { claims, calls, read, rows } as const;
const SUBJECT = {
  principal: "ops",
  operation: "box.put",
  input: { text: "a" },
  node: "gpu-a",
  topology: null,
};

/** A row of the ledger with its three indexes dirties about so many bytes of the log. */
const CLAIM_BYTES = 24 * 1024;

const middle = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN;
const at = (values: readonly number[], share: number) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? NaN;

async function perSecond(times: number, act: (n: number) => unknown): Promise<number> {
  const start = performance.now();
  for (let n = 0; n < times; n++) await act(n);
  return times / (performance.now() - start) * 1000;
}

function bar(met: boolean, text: string): void {
  console.log(`  ${met ? "met   " : "missed"}  ${text}`);
}

async function claims(dir: TempDir, rounds: number): Promise<void> {
  using rig = await OperationRig.open({ folder: dir.path });
  using file = Deno.openSync(dir.at("limit"), { create: true, write: true });
  const bytes = new Uint8Array(CLAIM_BYTES);
  // Over bytes that are there already, as the log of a ledger is written: a growing file costs more.
  for (let n = 0; n < 500; n++) file.writeSync(bytes);
  file.syncSync();
  const rates: [number, number][] = [];
  for (let round = 0; round < rounds; round++) {
    file.seekSync(0, Deno.SeekMode.Start);
    const disk = await perSecond(500, () => {
      file.writeSync(bytes);
      file.syncDataSync();
    });
    const claimed = await perSecond(500, (n) => {
      rig.ledger.claim(`r-${round}-${n}`, `key-${round}-${n}`, SUBJECT);
    });
    rates.push([claimed, disk]);
  }
  const [rate, disk] = [middle(rates.map(([one]) => one)), middle(rates.map(([, two]) => two))];
  const ratio = middle(rates.map(([one, two]) => one / two));
  console.log(
    `claims: ${rate.toFixed(0)}/s; write and flush of ${CLAIM_BYTES} bytes: ${
      disk.toFixed(0)
    }/s; ` +
      `ratio within a round ${ratio.toFixed(2)}`,
  );
  bar(
    rate >= 2000 || ratio >= 0.9,
    "2,000 claims/s with synchronous FULL, or what the disk allows",
  );
}

async function calls(dir: TempDir, rounds: number): Promise<void> {
  using rig = await OperationRig.open({ folder: dir.path });
  const rates: number[] = [];
  for (let round = 0; round < rounds; round++) {
    rates.push(
      await perSecond(200, (n) => rig.runner.call(put("a", { key: `key-${round}-${n}` }))),
    );
  }
  console.log(`calls: ${middle(rates).toFixed(0)} whole mutations/s, one after the other`);
}

async function read(dir: TempDir, rounds: number): Promise<void> {
  await using rig = await startAgentRig(dir.path);
  const headers = {
    authorization: `Bearer ${TOKENS.all}`,
    "x-anvil-node": "gpu-a",
    "content-type": "application/json",
  };
  const ask = (url: string) => async () => {
    const start = performance.now();
    const response = await fetch(url, { method: "POST", headers, body: '{"input":{}}' });
    await response.arrayBuffer();
    return performance.now() - start;
  };
  const operation = ask(`${rig.url}/v1/operations/node.identity`);
  const answer = await (await fetch(`${rig.url}/v1/operations/node.identity`, {
    method: "POST",
    headers,
    body: '{"input":{}}',
  })).text();
  await using plain = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    async (request) => {
      await request.arrayBuffer();
      return new Response(answer, { headers: { "content-type": "application/json" } });
    },
  );
  const bare = ask(`http://127.0.0.1:${plain.addr.port}/`);
  const times: Record<"agent" | "bare", number[]> = { agent: [], bare: [] };
  for (let n = 0; n < 300; n++) await Promise.all([operation(), bare()]); // warm
  for (let n = 0; n < rounds * 200; n++) {
    times.agent.push(await operation());
    times.bare.push(await bare());
  }
  const added = middle(times.agent) - middle(times.bare);
  console.log(
    `read: node.identity p50 ${middle(times.agent).toFixed(3)} ms, p99 ${
      at(times.agent, 0.99).toFixed(3)
    } ms; plain Deno.serve p50 ${middle(times.bare).toFixed(3)} ms; added p50 ${
      added.toFixed(3)
    } ms`,
  );
  bar(added <= 1, "a read over loopback adds at most 1 ms to plain Deno.serve, p50");
}

async function rows(dir: TempDir): Promise<void> {
  const path = dir.at("ledger.sqlite");
  const open = (checked: boolean) => {
    const quickCheckBytes = checked ? Infinity : -1;
    const opened = openDatabase(path, { migrations: LEDGER_MIGRATIONS, quickCheckBytes });
    if (opened.kind !== "open") throw new Error(opened.code);
    return opened.database;
  };
  {
    using database = open(false);
    database.transaction(() => {
      const sql =
        `INSERT INTO runs (id, key, fingerprint, principal, operation, epoch, state, effect,
        result, started_at, ended_at) VALUES (?, ?, ?, 'ops', 'box.put', 'e', 'done', 'applied', ?, 1, 2)`;
      const result = JSON.stringify({ text: "x".repeat(400) });
      const digest = "0".repeat(64);
      for (let n = 0; n < 100_000; n++) {
        database.run(sql, `run-${n}`, `key-${n}`, digest, n < 90_000 ? null : result);
      }
      database.run("UPDATE runs SET forgotten = 1 WHERE result IS NULL");
      return null;
    });
  }
  const took = (act: () => void) => {
    const start = performance.now();
    act();
    return performance.now() - start;
  };
  const starts = [false, true].map((checked) => took(() => open(checked).close()));
  using database = open(false);
  const ledger = new Ledger(database, { clock: systemClock, epoch: "f" }, LEDGER_BOUNDS);
  const settling = took(() => ledger.settleOthers());
  const times = Array.from(
    { length: 500 },
    (_, n) => took(() => ledger.claim(`new-${n}`, `new-key-${n}`, SUBJECT)),
  );
  console.log(
    `rows: 100,000 rows, ${((await Deno.stat(path)).size / 1e6).toFixed(0)} MB; open ${
      starts[0]?.toFixed(1)
    } ms, with quick_check ${starts[1]?.toFixed(1)} ms; settling ${
      settling.toFixed(1)
    } ms; claim p50 ${middle(times).toFixed(2)} ms, p99 ${at(times, 0.99).toFixed(2)} ms`,
  );
}

const options = { only: Object.keys(SCENARIOS), rounds: 7 };
for (let n = 0; n < Deno.args.length; n += 2) {
  const value = Deno.args[n + 1] ?? "";
  if (Deno.args[n] === "--only") options.only = value.split(",");
  else if (Deno.args[n] === "--rounds") options.rounds = Number(value);
}
for (const [name, run] of Object.entries(SCENARIOS)) {
  if (!options.only.includes(name)) continue;
  await using dir = await tempDir();
  await run(dir, options.rounds);
}
