/**
 * A host with a receiver on a disk in memory, and a supervisor that runs what `current` names.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { BootstrapCode } from "../../lib/bootstrap/codes.ts";
import { encodeFrame } from "../../lib/bootstrap/frames.ts";
import { type Answer, answerShape } from "../../lib/bootstrap/requests.ts";
import type { Json } from "../../lib/core/canonical_json.ts";
import type { OwnedFault } from "../../lib/core/owned_file.ts";
import { refuse } from "../../lib/core/refusal.ts";
import type { ReplaceProbed } from "../../lib/core/replace_probe.ts";
import { manifestDigest } from "../../lib/generation/manifest.ts";
import { readPointers } from "../../lib/generation/pointer.ts";
import { listGenerations, refuseDamaged, type Store } from "../../lib/generation/store.ts";
import { archiveLength } from "../../lib/generation/write_archive.ts";
import { sha256 } from "../../lib/host/digest.ts";
import { archiveOf, type Bundle, bundleOf, chunksOf } from "../../lib/testing/bundle_rig.ts";
import { FakeClock } from "../../lib/testing/fake_clock.ts";
import { fakeDirectories } from "../../lib/testing/fake_directories.ts";
import { FakeDisk } from "../../lib/testing/fake_disk.ts";
import { serveConnection } from "../../roles/receiver/connection.ts";
import type { ReceiverPorts } from "../../roles/receiver/ports.ts";

/** Two agents, of builds that are nothing but ones and twos. */
export const [ONE, TWO] = ["1", "2"].map((version) => {
  const plain = bundleOf({ "bin/anvil-agent!": `agent ${version}`, "lib/a.js": "same" }, version);
  const build = { digest: version.repeat(64), commit: null };
  return { ...plain, manifest: { ...plain.manifest, build } };
}) as [Bundle, Bundle];
/** Operation ids. */
export const ID = (number: number) => `boot-${`${number}`.padStart(24, "0")}`;

const ROOT = "/disk/opt";
const RUNNING = "/disk/running";

/** An empty disk. */
export function newDisk(): FakeDisk {
  const disk = new FakeDisk();
  disk.contents.set("/disk", { kind: "directory" });
  return disk;
}

/** One process of the receiver after another, on one disk. */
export class Host {
  readonly clock = new FakeClock();
  supervisor: "works" | "fails" | "hangs" = "works";
  /** Another connection has it. */
  journalBusy = false;
  /** What the store's file system shows. */
  replaces: ReplaceProbed["kind"] = "atomic";
  /** Why the configuration is not read. */
  configFault: OwnedFault | null = null;
  readonly remarks: string[] = [];
  readonly #disk: FakeDisk;
  readonly #ports: ReceiverPorts;
  readonly #store: Store;
  #config: Uint8Array<ArrayBuffer> = new Uint8Array(0);

  private constructor(disk: FakeDisk) {
    this.#disk = disk;
    this.#ports = {
      files: disk.files,
      directories: fakeDirectories(disk),
      sha256,
      tryLock: disk.tryLock,
      openJournal: (path, decode) =>
        Promise.resolve(
          this.journalBusy ? { kind: "busy" } : {
            kind: "open",
            journal: {
              ...disk.journal(path, decode),
              [Symbol.asyncDispose]: () => Promise.resolve(),
            },
          },
        ),
      readOwned: () =>
        Promise.resolve(
          this.configFault === null
            ? { kind: "ok", bytes: this.#config }
            : { ...refuse(this.configFault, "no"), cause: "fake" },
        ),
      run: ({ argv }) => this.#run(argv),
      clock: this.clock,
      build: {
        name: "anvil-receiver",
        version: "0",
        build_digest: null,
        deno: "0",
        platform: "linux-x86_64",
      },
      probeReplace: () => Promise.resolve({ kind: this.replaces, cause: "fake" }),
      uid: 1000,
      remark: (text) => this.remarks.push(text),
    };
    this.#store = { ports: this.#ports, root: ROOT, keepsModes: true };
    this.write({});
  }

  static on(disk: FakeDisk): Promise<Host> {
    return Promise.resolve(new Host(disk));
  }

  /** Replaces the target configuration; values are TOML. */
  write(more: Readonly<Record<string, string | boolean>>): void {
    const values = { node: '"n1"', bootstrap_authorized: true, ...more };
    const text = Object.entries(values).map(([key, value]) => `${key} = ${value}\n`).join("");
    this.#config = new TextEncoder().encode(
      `schema = 1\n${text}root = "${ROOT}"\nstate = "/disk/state"\n` +
        'supervisor = "systemd-user"\nunit = "anvil-agent.service"\n',
    );
  }

  digest({ manifest }: Bundle): string {
    return manifestDigest(sha256, manifest);
  }

  /** Every generation the supervisor started, oldest first, over all lives of the host. */
  get running(): readonly string[] {
    const found = this.#disk.contents.get(RUNNING);
    const text = found?.kind === "file" ? new TextDecoder().decode(found.bytes) : "";
    return text.split("\n").filter((line) => line !== "");
  }

  async #run(argv: readonly string[]): ReturnType<ReceiverPorts["run"]> {
    assert.deepEqual([argv[0], argv[1], argv.at(-1)], [
      "systemctl",
      "--user",
      "anvil-agent.service",
    ]);
    const output = { stdout: new Uint8Array(0), stderr: new Uint8Array(0) };
    if (this.supervisor === "hangs") return { kind: "timed_out", ...output };
    if (this.supervisor === "fails") return { kind: "exited", code: 1, ...output };
    if (argv[2] === "restart") {
      await this.#disk.effect(() => {
        const lines = [...this.running, this.pointer("current")?.trim() ?? ""];
        const bytes = new TextEncoder().encode(lines.map((line) => `${line}\n`).join(""));
        this.#disk.contents.set(RUNNING, { kind: "file", bytes, mode: 0o600 });
      });
    }
    return { kind: "exited", code: 0, ...output };
  }

  /** Serves one connection. */
  async serve(chunks: AsyncIterable<Uint8Array>): Promise<Answer & { code?: BootstrapCode }> {
    const written: Uint8Array[] = [];
    const write = (frame: Uint8Array) => Promise.resolve(void written.push(frame));
    const answer = await serveConnection(this.#ports, "/etc/anvil/receiver.toml", chunks, write);
    assert.equal(written.length, 1);
    const body = JSON.parse(new TextDecoder().decode(written[0]?.subarray(4)));
    assert.deepEqual(answerShape.parse(body), answer);
    assert.ok(!JSON.stringify(body).includes("/disk"), "a path went over the wire");
    return answer;
  }

  async send(request: Json, rest: AsyncIterable<Uint8Array>) {
    return await this.serve((async function* () {
      yield encodeFrame(request);
      yield* rest;
    })());
  }

  async ask(request: { readonly [key: string]: Json }) {
    return await this.send({ protocol: 1, ...request }, chunksOf(new Uint8Array(0)));
  }

  stageRequest(bundle: Bundle, id: string, more: { readonly [key: string]: Json } = {}): Json {
    return {
      protocol: 1,
      verb: "stage",
      expected_node: "n1",
      operation_id: id,
      plan_sha256: "d".repeat(64),
      config_digest: sha256(this.#config).toHex(),
      manifest_digest: this.digest(bundle),
      bundle_length: archiveLength(bundle.manifest),
      ...more,
    };
  }

  async stage(bundle: Bundle, id: string, more: { readonly [key: string]: Json } = {}) {
    return await this.send(
      this.stageRequest(bundle, id, more),
      chunksOf(await archiveOf(bundle)),
    );
  }

  async activate(bundle: Bundle, id: string, more: { readonly [key: string]: Json } = {}) {
    const config_digest = sha256(this.#config).toHex();
    const manifest_digest = this.digest(bundle);
    return await this.ask({
      verb: "activate",
      operation_id: id,
      manifest_digest,
      config_digest,
      ...more,
    });
  }

  async rollback(id: string, trigger: BootstrapCode = "acceptance_failed") {
    const config_digest = sha256(this.#config).toHex();
    return await this.ask({
      verb: "rollback",
      operation_id: id,
      config_digest,
      trigger_error_code: trigger,
    });
  }

  pointer(name: "current" | "previous"): string | null {
    const found = this.#disk.contents.get(`${ROOT}/${name}`);
    return found?.kind === "file" ? new TextDecoder().decode(found.bytes) : null;
  }

  point(name: "current" | "previous", digest: string): void {
    const bytes = new TextEncoder().encode(`${digest}\n`);
    this.#disk.contents.set(`${ROOT}/${name}`, { kind: "file", bytes, mode: 0o644 });
  }

  /** Generations that have a name, by their directories. */
  generations(): readonly string[] {
    const names = [...this.#disk.contents.keys()]
      .map((path) => /\/generations\/([0-9a-f]{64})\//.exec(path)?.[1])
      .filter((name) => name !== undefined);
    return [...new Set(names)];
  }

  /** Somebody removes a generation behind the receiver's back. */
  forget(bundle: Bundle): void {
    const folder = `${ROOT}/generations/${this.digest(bundle)}`;
    for (const path of [...this.#disk.contents.keys()]) {
      if (path === folder || path.startsWith(`${folder}/`)) this.#disk.contents.delete(path);
    }
  }

  /** Every generation with a name is whole, and the pointers name some of them or nothing. */
  async assertSound(): Promise<void> {
    const present = await listGenerations(this.#store);
    assert.ok(!("kind" in present));
    for (const digest of present) assert.equal(await refuseDamaged(this.#store, digest), null);
    const pointers = await readPointers(this.#store);
    assert.ok(!("kind" in pointers));
    for (const one of [pointers.current, pointers.previous]) {
      assert.ok(one === null || present.includes(one), "a pointer names nothing");
    }
  }
}
