/**
 * One life of the agent's machines over real files, a real router and a supervisor of real processes.
 * `moment` is called wherever a life may end: around each journal entry and each effect.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Json } from "../../lib/core/canonical_json.ts";
import { systemClock } from "../../lib/host/clock.ts";
import { tcpDial } from "../../lib/host/dial.ts";
import { systemDirectories } from "../../lib/host/directories.ts";
import { systemFiles } from "../../lib/host/files.ts";
import { openJournal } from "../../lib/host/journal.ts";
import { tryLock } from "../../lib/host/lock.ts";
import { runProcess } from "../../lib/host/process.ts";
import { http1Upstream } from "../../lib/relay/http1.ts";
import type { Driver } from "../../lib/serves/driver.ts";
import type { Lifecycle } from "../../lib/serves/lifecycle_outcome.ts";
import { Conductor } from "../../lib/serves/machines/conductor.ts";
import { serveHands } from "../../lib/serves/machines/hands.ts";
import type { RouterAdmin, RouterProgram } from "../../lib/serves/machines/ports.ts";
import { routerClient } from "../../lib/serves/machines/router_client.ts";
import { routerProgram } from "../../lib/serves/machines/router_program.ts";
import { type ChangeEntry, ChangeStore } from "../../lib/serves/machines/store.ts";
import type { HostFacts } from "../../lib/serves/machines/survey.ts";
import { readManifest } from "../../lib/serves/manifest.ts";
import { type Serve, servedModel } from "../../lib/serves/manifest_shape.ts";
import type { Probe } from "../../lib/serves/probe.ts";
import { digestOf } from "../../lib/testing/fake_router.ts";
import type { Told } from "./change_supervisor.ts";
import type { ChangePorts } from "./change_texts.ts";
import { manifestText } from "./change_texts.ts";
import { roleWords } from "./role_process.ts";

/** Where a life happens. */
export interface ChangePlace {
  /** The router's folder; the agent's state is below it. */
  readonly folder: string;
  readonly ports: ChangePorts;
  /** The supervisor. */
  readonly control: string;
}

/** The serves of the place. */
export function servesAt(ports: ChangePorts): readonly Serve[] {
  const read = readManifest(manifestText(ports));
  assert.ok(read.kind === "ok", JSON.stringify(read));
  return read.model.serve;
}

/** Begins a life. End it with `close`. */
export async function changeLife(
  { folder, ports, control }: ChangePlace,
  moment: (what: string) => void = () => {},
) {
  const serves = servesAt(ports);
  const say = async (path: string): Promise<Told> => {
    const answer = await fetch(`${control}/${path}`);
    assert.equal(answer.status, 200, `${path}: ${answer.status}`);
    return await answer.json();
  };
  const effect = async <T>(what: string, act: () => Promise<T>): Promise<T> => {
    const done = await act(); // the moment before is the one after its journal entry
    moment(`after ${what}`);
    return done;
  };
  const driver = supervisedDriver(say, effect);
  const store = new ChangeStore({
    root: `${folder}/agent/changes`,
    directories: systemDirectories,
    files: systemFiles,
    openJournal: async (path, decode) => {
      const opened = await openJournal<ChangeEntry>(path, decode);
      if (opened.kind !== "open") return opened;
      const { journal } = opened;
      return {
        kind: "open",
        journal: {
          read: () => journal.read(),
          append: async (entry) => {
            await journal.append(entry);
            moment(`journal ${entry.kind}`);
          },
          close: () => journal.close(),
          [Symbol.asyncDispose]: () => journal.close(),
        },
      };
    },
    routerConfig: `${folder}/router.toml`,
  });
  const upstream = http1Upstream(tcpDial, systemClock);
  const client = routerClient({
    upstream,
    files: systemFiles,
    clock: systemClock,
    admin: { hostname: "127.0.0.1", port: ports.admin },
    tokenFile: `${folder}/router.token`,
  });
  const admin: RouterAdmin = {
    status: (signal) => client.status(signal),
    transition: (ask, signal) =>
      ask.dryRun === true
        ? client.transition(ask, signal)
        : effect(`${ask.action} ${ask.tier}`, () => client.transition(ask, signal)),
  };
  const words = await roleWords("router", folder);
  const env: Record<string, string> = { DENO_NO_UPDATE_CHECK: "1" };
  for (const name of ["HOME", "DENO_DIR", "PATH"]) {
    const value = Deno.env.get(name);
    if (value !== undefined) env[name] = value;
  }
  const program: RouterProgram = {
    ...routerProgram({
      run: runProcess,
      files: systemFiles,
      config: `${folder}/router.toml`,
      program: [Deno.execPath(), ...words],
      supervisor: "systemd",
      unit: "not-used.service",
      env,
    }),
    restart: () =>
      effect("restart", async () => {
        await say("restart");
        return { kind: "restarted" };
      }),
  };
  const hands = serveHands({
    serves,
    driverFor: () => driver,
    lifecycle: lifecycleOver(driver),
    probe,
    fits: () => Promise.resolve(null),
    onProgress: () => {},
  });
  const router = {
    admin,
    program,
    config: {
      live: () => store.live(),
      write: (text: string) => store.write(text),
    },
  };
  const said: string[] = [];
  const remark = (text: string, more: object) => void said.push(`${text} ${Deno.inspect(more)}`);
  const conductor = new Conductor({
    clock: systemClock,
    remarks: { info: remark, warn: remark, error: remark },
    tryLock,
    lockPath: `${folder}/agent/host.lock`,
    store,
    router,
    handsFor: () => Promise.resolve(hands),
    disturb: () => Promise.resolve({ kind: "alone", [Symbol.dispose]: () => {} }),
    patience: { unreachableMs: 5000, restartMs: 20_000, readmitMs: 5000, lookMs: 20 },
  });
  const facts: HostFacts = {
    node: "gpu-a",
    axes: { runtime: "native", availability: "continuous" },
    topology: null,
    serves,
    manifest: digestOf(manifestText(ports)),
  };
  return {
    conductor,
    store,
    survey: { facts, hands, router },
    said,
    close: () => upstream.close(),
  };
}

type Effect = <T>(what: string, act: () => Promise<T>) => Promise<T>;

function supervisedDriver(say: (path: string) => Promise<Told>, effect: Effect): Driver {
  return {
    kind: "simulated",
    resolve: () => Promise.resolve({ kind: "ready" }),
    status: async ({ name }) => {
      const { instance } = await say(`status/${name}`);
      return instance === null ? { kind: "stopped", exit: null } : { kind: "running", instance };
    },
    start: async ({ name }) => {
      const before = await say(`status/${name}`);
      if (before.instance !== null) return { kind: "already", instance: before.instance };
      const { instance } = await effect(`start ${name}`, () => say(`start/${name}`));
      return instance === null ? { kind: "died", exit: null } : { kind: "started", instance };
    },
    stop: async ({ name }) => {
      const before = await say(`status/${name}`);
      if (before.instance !== null) await effect(`stop ${name}`, () => say(`stop/${name}`));
      const was = before.instance === null ? "stopped" : "running";
      const proof = { processes: 0, portFree: true, returnedMib: null, tookMs: 0 } as const;
      return { kind: "stopped", was, proof };
    },
    logs: () => Promise.resolve({ kind: "logs", lines: [], truncated: false }),
    identity: async ({ name, port }) => {
      const { instance } = await say(`status/${name}`);
      return instance === null ? { kind: "absent" } : { kind: "proven", instance, port };
    },
    occupants: () => Promise.resolve({ kind: "seen", occupants: [] }),
  };
}

function lifecycleOver(driver: Driver): Lifecycle {
  return {
    up: async (serve, _on, signal) => {
      const began = await driver.start(serve, signal);
      if (began.kind === "died") return { ...began, lines: [], tookMs: 0 };
      if (began.kind === "refused" || began.kind === "unknown") return began;
      const { instance } = began;
      const said = await probe(serve, signal);
      if (said.kind === "ready") {
        return { kind: "up", instance, already: began.kind === "already", tookMs: 0 };
      }
      const expected = said.kind === "mismatch" ? said.expected : "ready";
      const code = "identity_mismatch";
      return { kind: "unfit", code, expected, observed: said.observed, instance, lines: [] };
    },
    down: async (serve, order, _on, signal) => {
      const ended = await driver.stop(serve, order, signal);
      return ended.kind === "stopped" ? { ...ended, kind: "down" } : ended;
    },
  };
}

/** What the engine says of itself at /v1/models. */
const probe: Probe = async (serve, signal) => {
  try {
    const answer = await fetch(`http://127.0.0.1:${serve.port}/v1/models`, { signal });
    const body = await answer.json() as { readonly data: readonly { readonly id: string }[] };
    const observed = body.data.map(({ id }) => id).join(", ");
    const expected = servedModel(serve);
    return observed === expected ? { kind: "ready" } : { kind: "mismatch", expected, observed };
  } catch (error) {
    return { kind: "not_ready", observed: String(error) };
  }
};

/** A place as the arguments of a child. */
export function placeOf(text: string): ChangePlace {
  return JSON.parse(text) as Json & ChangePlace;
}
