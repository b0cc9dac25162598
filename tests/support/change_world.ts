/**
 * A host for the machines of mode, promotion and config install: a disk, engines, a router, and one
 * life after the other of the agent that steers them. Everything but the agent outlives its death.
 *
 * @module
 */

import assert from "node:assert/strict";
import { refuse } from "../../lib/core/refusal.ts";
import { Conductor, type ConductorPorts } from "../../lib/serves/machines/conductor.ts";
import { serveHands } from "../../lib/serves/machines/hands.ts";
import type { ServeHands } from "../../lib/serves/machines/ports.ts";
import { ChangeStore } from "../../lib/serves/machines/store.ts";
import {
  type HostFacts,
  type RouterPorts,
  type SurveyPorts,
} from "../../lib/serves/machines/survey.ts";
import type { Lifecycle } from "../../lib/serves/lifecycle_outcome.ts";
import { readManifest } from "../../lib/serves/manifest.ts";
import { claimOf, type Serve } from "../../lib/serves/manifest_shape.ts";
import { fakeDirectories } from "../../lib/testing/fake_directories.ts";
import type { FakeDisk } from "../../lib/testing/fake_disk.ts";
import { digestOf, FakeRouter } from "../../lib/testing/fake_router.ts";
import { InstantClock } from "../../lib/testing/instant_clock.ts";
import { SimulatedHost } from "../../lib/testing/simulated_driver.ts";
import type { HostServes } from "../../roles/agent/changes.ts";
import { FAKE_PORTS, manifestText, routerText } from "./change_texts.ts";

const MANIFEST = manifestText(FAKE_PORTS);
/** The router's file, before. */
export const ROUTER = routerText(FAKE_PORTS, "chat");
/** The router's file in which `llm.primary` means the next model. */
export const ROUTER_NEXT = routerText(FAKE_PORTS, "next");

const DEVICE_MIB = 96_000;
const CONFIG = "/disk/etc/router.toml";
const ROOT = "/disk/state/changes";

/** Nothing on this host needs it still. */
const aloneAlready = () => Promise.resolve({ kind: "alone" as const, [Symbol.dispose]: () => {} });

/** All that outlives the agent. */
export class ChangeWorld {
  readonly clock = new InstantClock();
  readonly host = new SimulatedHost(this.clock);
  readonly serves: readonly Serve[];
  readonly router: FakeRouter;
  readonly disk: FakeDisk;
  axes: HostFacts["axes"] = { runtime: "native", availability: "continuous" };
  manifest = digestOf(MANIFEST);
  topology = "c".repeat(64);
  /** Names of serves that are too much for the host, for whatever reason. */
  readonly tooLarge = new Set<string>();
  readonly said: string[] = [];

  constructor(disk: FakeDisk) {
    this.disk = disk;
    const read = readManifest(MANIFEST);
    assert.ok(read.kind === "ok", JSON.stringify(read));
    this.serves = read.model.serve;
    if (!disk.contents.has(CONFIG)) this.edit(ROUTER);
    this.router = new FakeRouter({
      installed: () => this.installed(),
      servedOn: (port) => this.#servedOn(port),
    });
    for (const name of ["chat", "embed"]) this.host.run(this.serve(name));
  }

  serve(name: string): Serve {
    const found = this.serves.find((one) => one.name === name);
    assert.ok(found !== undefined);
    return found;
  }

  /** What stands on the disk where the router reads its configuration. */
  installed(): string {
    const found = this.disk.contents.get(CONFIG);
    assert.ok(found?.kind === "file");
    return new TextDecoder().decode(found.bytes);
  }

  /** Writes it as somebody by hand would. */
  edit(text: string): void {
    this.disk.contents.set(CONFIG, {
      kind: "file",
      bytes: new TextEncoder().encode(text),
      mode: 0o644,
    });
  }

  /** What is so now, for comparison. */
  get now() {
    return {
      running: this.host.running,
      admitting: this.router.admitting,
      quiesced: [...this.router.quiesced].toSorted(),
      installed: digestOf(this.installed()) === digestOf(ROUTER) ? "old" : "new",
      runs: this.router.digest === digestOf(ROUTER) ? "old" : "new",
    };
  }

  get facts(): HostFacts {
    const { axes, topology, manifest, serves } = this;
    return { node: "gpu-a", axes, topology, serves, manifest };
  }

  /** Hands, a router and a conductor of one life of the agent. */
  life(disturb: ConductorPorts["disturb"] = aloneAlready) {
    const { disk, clock } = this;
    const effect = <T>(act: () => T | Promise<T>) => disk.effect(act);
    const alive = () => {
      if (disk.dead) disk.moment();
    };
    const store = new ChangeStore({
      root: ROOT,
      directories: fakeDirectories(disk),
      files: disk.files,
      openJournal: (path, decode) => {
        const journal = disk.journal(path, decode);
        const close = () => Promise.resolve();
        return Promise.resolve({
          kind: "open",
          journal: { ...journal, close, [Symbol.asyncDispose]: close },
        });
      },
      routerConfig: CONFIG,
    });
    const hands = this.#hands(effect, alive);
    const router: RouterPorts = {
      admin: this.router.admin(effect, alive),
      program: this.router.program(effect, alive),
      config: { live: () => store.live(), write: (text) => store.write(text) },
    };
    const say = (text: string, more: object) =>
      void this.said.push(`${text} ${Deno.inspect(more)}`);
    const conductor = new Conductor({
      clock,
      remarks: { info: say, warn: say, error: say },
      tryLock: disk.tryLock,
      lockPath: "/disk/state/host.lock",
      store,
      router,
      handsFor: () => Promise.resolve(hands),
      disturb,
      patience: { unreachableMs: 1000, restartMs: 1000, readmitMs: 1000, lookMs: 250 },
    });
    const survey: SurveyPorts = { facts: this.facts, hands, router };
    return { store, hands, router, conductor, survey };
  }

  #hands(effect: <T>(act: () => T | Promise<T>) => Promise<T>, alive: () => void): ServeHands {
    const driver = this.host.driver(effect);
    const lifecycle: Lifecycle = {
      up: async (one, _on, signal) => {
        const began = await driver.start(one, signal);
        if (began.kind === "died") return { ...began, lines: [], tookMs: 0 };
        if (began.kind === "refused" || began.kind === "unknown") return began;
        const said = await this.host.probe(one, signal);
        const { instance } = began;
        if (said.kind === "ready") {
          return { kind: "up", instance, already: began.kind === "already", tookMs: 0 };
        }
        const code = said.kind === "mismatch" ? "identity_mismatch" : "serve_never_healthy";
        const expected = said.kind === "mismatch" ? said.expected : "health";
        return { kind: "unfit", code, expected, observed: said.observed, instance, lines: [] };
      },
      down: async (one, order, _on, signal) => {
        const ended = await driver.stop(one, order, signal);
        return ended.kind === "stopped" ? { ...ended, kind: "down" } : ended;
      },
    };
    const hands = serveHands({
      serves: this.serves,
      driverFor: () => driver,
      lifecycle,
      probe: this.host.probe,
      fits: (start, stop) => Promise.resolve(this.#fits(start, stop)),
      onProgress: () => {},
    });
    // A dead agent looks at nothing.
    return {
      ...hands,
      state: (name, signal) => (alive(), hands.state(name, signal)),
      prove: (name, signal) => (alive(), hands.prove(name, signal)),
    };
  }

  #fits(start: readonly string[], stop: readonly string[]) {
    const large = start.find((name) => this.tooLarge.has(name));
    if (large !== undefined) return refuse("over_budget", `${large} is too large`);
    const names = new Set([...this.host.running.filter((one) => !stop.includes(one)), ...start]);
    const taken = new Map<string, number>();
    for (const name of names) {
      const claim = claimOf(this.serve(name));
      if (claim.kind !== "discrete") continue;
      for (const { device, mib } of claim.devices) {
        taken.set(device, (taken.get(device) ?? 0) + mib);
      }
    }
    const over = [...taken].find(([, mib]) => mib > DEVICE_MIB);
    return over === undefined ? null : refuse("over_budget", `${over[0]}: ${over[1]} MiB`);
  }

  #servedOn(port: number): string | null {
    const found = this.serves.find((one) =>
      one.port === port && this.host.running.includes(one.name)
    );
    if (found === undefined) return null;
    const course = this.host.courses.get(found.name);
    return course?.serves ?? found.model.id;
  }
}

/** The serves of a world, for an agent without a router; `hold` keeps a start waiting. */
export function servesOf(
  world: ChangeWorld,
  hold: () => Promise<void> = async () => {},
): HostServes {
  return {
    facts: () => Promise.resolve(world.facts),
    handsFor: () => {
      const { hands } = world.life();
      const held: ServeHands = {
        ...hands,
        up: async (name, signal) => {
          await Promise.race([
            hold(),
            new Promise((_, no) => signal.addEventListener("abort", () => no(signal.reason))),
          ]);
          return await hands.up(name, signal);
        },
      };
      return Promise.resolve(held);
    },
  };
}
