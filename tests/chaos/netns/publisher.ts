/**
 * The publisher of the namespace world: a real server, and what it serves is published by the
 * publisher's own code, in this process: candidates come often, and a process each would take the
 * machine from those that are walked through.
 *
 * @module
 */

import { systemClock } from "../../../lib/host/clock.ts";
import { sha256 } from "../../../lib/host/digest.ts";
import { systemDirectories } from "../../../lib/host/directories.ts";
import { systemFiles } from "../../../lib/host/files.ts";
import { tryLock } from "../../../lib/host/lock.ts";
import { runProcess } from "../../../lib/host/process.ts";
import { FakeDownload } from "../../../lib/testing/fake_download.ts";
import { type PublisherConfig, readConfig } from "../../../roles/publisher/config.ts";
import type { PublisherPorts } from "../../../roles/publisher/ports.ts";
import { publish } from "../../../roles/publisher/publish.ts";
import { publishAsk, treeFiles, writeTree } from "../../fixtures/publisher_rig.ts";
import { roleCommand, roleWords } from "../../support/role_process.ts";
import type { Published } from "../facts.ts";
import type { Candidate } from "../world.ts";
import { plainEnv } from "./host.ts";
import type { Address } from "./network.ts";
import { killNow } from "./run.ts";
import { publisherText } from "./texts.ts";

const PORTS: PublisherPorts = {
  files: systemFiles,
  directories: systemDirectories,
  tryLock,
  clock: systemClock,
  sha256,
  download: new FakeDownload(), // for Nix alone
  run: runProcess,
  progress: () => {},
};

/** A host that has no machine: what is signed for it is offered to others. */
const DECOY = "decoy";

/** One. */
export class Publisher {
  readonly published: Published[] = [];
  readonly #folder: string;
  readonly #address: Address;
  readonly #config: PublisherConfig;
  #server: Deno.ChildProcess | null = null;
  #wanted = false;
  #commits = 0;
  #turn: Promise<unknown> = Promise.resolve();
  /** Pointers that somebody without the key replaced, and what was there. */
  readonly #spoiled = new Map<string, Uint8Array | null>();

  private constructor(folder: string, address: Address, config: PublisherConfig) {
    this.#folder = folder;
    this.#address = address;
    this.#config = config;
  }

  /** A folder with keys. */
  static async make(folder: string, address: Address, hosts: readonly Address[]) {
    await Deno.mkdir(folder, { recursive: true });
    const text = publisherText([...hosts.map(({ name }) => name), DECOY], address);
    await Deno.writeTextFile(`${folder}/publisher.toml`, text);
    const read = readConfig(text);
    if (read.kind === "invalid") throw new Error(JSON.stringify(read.problems));
    const { root, keys } = read.model;
    const publisher = new Publisher(folder, address, {
      ...read.model,
      root: `${folder}/${root}`,
      keys: `${folder}/${keys}`,
    });
    const made = await publisher.#command("keys", "init");
    if (made.code !== 0) throw new Error(`keys init: ${made.said}`);
    return publisher;
  }

  get pid(): number | null {
    return this.#server?.pid ?? null;
  }

  /** The trust file of its hosts. */
  async trust(): Promise<string> {
    return (await this.#command("keys", "list", "--trust")).said;
  }

  /** Private keys, as texts that must be nowhere else. */
  async secrets(): Promise<readonly string[]> {
    const found: string[] = [];
    for await (const { name } of Deno.readDir(`${this.#folder}/keys`)) {
      if (!name.endsWith(".json")) continue;
      const key = JSON.parse(await Deno.readTextFile(`${this.#folder}/keys/${name}`));
      if (typeof key.private === "string") found.push(key.private);
    }
    return found;
  }

  /** Serves, in its namespace. */
  async serve(): Promise<void> {
    this.#wanted = true;
    if (this.#server !== null) return;
    const words = await roleWords("publisher", this.#folder);
    const child = new Deno.Command("/bin/sh", {
      args: [
        ...["-c", 'log=$1; shift; exec >>"$log" 2>&1; exec ip netns exec "$@"', "sh"],
        ...[
          `${this.#folder}/publisher.log`,
          this.#address.name,
          Deno.execPath(),
          ...words,
          "serve",
        ],
      ],
      cwd: this.#folder,
      clearEnv: true,
      env: plainEnv(),
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    this.#server = child;
    void child.status.then(() => {
      if (this.#server === child) this.#server = null;
    });
  }

  /** kill -9. */
  async kill(): Promise<void> {
    const server = this.#server;
    this.#wanted = false;
    if (server === null) return;
    killNow(server);
    await server.status;
  }

  /** Serves again when it should. */
  async mend(): Promise<void> {
    if (this.#wanted) await this.serve();
  }

  /** Publishes a tree of `rev`, one at a time; what came of it in a word. */
  publish(host: string, rev: string, candidate: Candidate): Promise<string> {
    const done = this.#turn.then(() => this.#publish(host, rev, candidate));
    this.#turn = done.catch(() => {});
    return done;
  }

  async #publish(host: string, rev: string, candidate: Candidate): Promise<string> {
    const true_ = this.#spoiled.get(host);
    if (true_ !== undefined) await this.#write(host, true_);
    this.#spoiled.delete(host);
    const isForeign = candidate === "tampered" || candidate === "other_host";
    const before = await Deno.readFile(this.#pointer(host)).catch(() => null);
    const tree = await this.#tree(rev, candidate);
    const whose = isForeign ? DECOY : host;
    const made = await publish(PORTS, this.#config, publishAsk(tree, rev, { host: whose }));
    await Deno.remove(tree, { recursive: true });
    if (made.kind !== "published") return JSON.stringify(made).slice(0, 300);
    const envelope = JSON.parse(await Deno.readTextFile(this.#pointer(whose))) as Envelope;
    const payload = atob(envelope.payload);
    const { target } = JSON.parse(payload) as { readonly target: { readonly digest: string } };
    const digest = target.digest.replace(/^sha256:/, "");
    this.published.push({ host, digest, good: candidate === "good" });
    if (!isForeign) return "published";
    // Its bytes are here to be had, so that nothing but the envelope keeps them out.
    this.#spoiled.set(host, before);
    const false_ = candidate === "other_host" ? payload : payload.replaceAll(DECOY, host);
    const text = JSON.stringify({ ...envelope, payload: btoa(false_) });
    await this.#write(host, new TextEncoder().encode(text));
    return candidate;
  }

  #pointer(host: string): string {
    return `${this.#folder}/published/public/candidates/${host}.json`;
  }

  async #write(host: string, bytes: Uint8Array | null): Promise<void> {
    const pointer = this.#pointer(host);
    if (bytes === null) return await Deno.remove(pointer).catch(() => {});
    await Deno.writeFile(`${pointer}.new`, bytes);
    await Deno.rename(`${pointer}.new`, pointer);
  }

  async #tree(rev: string, candidate: Candidate): Promise<string> {
    const tree = `${this.#folder}/tree-${rev}`;
    const files = treeFiles(rev, 0);
    const committed_at = new Date(Date.UTC(2026, 0, 1) + ++this.#commits * 1000)
      .toISOString().replace(".000", "");
    await writeTree(tree, {
      ...files,
      "anvil-revision.json": JSON.stringify({ rev, dirty: false, committed_at }),
      "bin/run": `${files["bin/run"]}${candidate === "bad" ? "# bad\n" : ""}`,
    });
    return tree;
  }

  async #command(...args: readonly string[]): Promise<{ code: number; said: string }> {
    const command = await roleCommand("publisher", this.#folder, args);
    const { code, stdout, stderr } = await command.output();
    const text = new TextDecoder();
    return { code, said: text.decode(stdout) + (code === 0 ? "" : text.decode(stderr)) };
  }
}

interface Envelope {
  readonly payload: string;
}
