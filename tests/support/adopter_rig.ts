/**
 * A bundle host in a folder of a test: a publisher that serves it, an adopter with the real store,
 * journal, download and processes. `systemctl` alone is a stand-in: it restarts by reading `current`.
 *
 * @module
 */

import assert from "node:assert/strict";
import { readTrust } from "../../lib/adoption/keys.ts";
import type { Slots } from "../../lib/adoption/slots.ts";
import type { Summary } from "../../lib/adoption/status.ts";
import type { Clock } from "../../lib/core/clock.ts";
import type { RunProcess } from "../../lib/core/process.ts";
import { readManifest } from "../../lib/generation/manifest.ts";
import { switchTo } from "../../lib/generation/pointer.ts";
import { stageFiles } from "../../lib/generation/store.ts";
import { systemClock } from "../../lib/host/clock.ts";
import { sha256 } from "../../lib/host/digest.ts";
import { systemDirectories } from "../../lib/host/directories.ts";
import { systemDownload } from "../../lib/host/download.ts";
import { removeFile, systemFiles } from "../../lib/host/files.ts";
import { openJournal } from "../../lib/host/journal.ts";
import { tryLock } from "../../lib/host/lock.ts";
import { runProcess } from "../../lib/host/process.ts";
import { systemRandom } from "../../lib/host/random.ts";
import { serve } from "../../lib/host/serve.ts";
import { http1Upstream } from "../../lib/relay/http1.ts";
import { tcpDial } from "../../lib/host/dial.ts";
import { type Adopter, openAdopter } from "../../roles/adopter/adopter.ts";
import { type AdopterConfig, readConfig } from "../../roles/adopter/config.ts";
import type { AdopterPorts } from "../../roles/adopter/ports.ts";
import type { Outcome } from "../../roles/adopter/outcome.ts";
import { adopt } from "../../roles/adopter/verbs/adopt.ts";
import { offer } from "../../roles/adopter/verbs/offer.ts";
import { stage } from "../../roles/adopter/verbs/stage.ts";
import { loadKeyring, trustOf } from "../../roles/publisher/keyring.ts";
import { publish } from "../../roles/publisher/publish.ts";
import { blobPath, publicPath } from "../../roles/publisher/layout.ts";
import { publishAsk, publisherRig, treeFiles, writeTree } from "../fixtures/publisher_rig.ts";

/** `adopter.toml` of a host below `folder`. The probe fails where the running tree holds `bad`. */
export function adopterToml(folder: string, url: string, host = "gpu-a", more = ""): string {
  return `schema = 1
host = "${host}"
backend = "bundle"
state = "${folder}/state"
summary = "${folder}/status.json"
failures = "${folder}/failures"
[publisher]
url = "${url}"
trust = "${folder}/trust.json"
timeout_seconds = 5
[policy]
adopt = "rolling"
[verdict]
samples = 2
every_seconds = 1
window_seconds = 0
deadline_seconds = 3
[bundle]
store = "${folder}/store"
units = ["thing.service"]
[[gates]]
name = "load"
deadline_seconds = 120
kind = "exec"
argv = ["/bin/sh", "-c", "test ! -e ${folder}/busy"]
[[probes]]
name = "health"
deadline_seconds = 120
kind = "command"
argv = ["/bin/sh", "-c", "! grep -q bad ${folder}/running"]
${more}`;
}

/** The processes of the host: `systemctl restart` makes what `current` names the running one. */
export function hostProcesses(folder: string): RunProcess {
  return async (ask) => {
    const [program, verb] = ask.argv;
    const stdout = (text: string) => ({
      kind: "exited" as const,
      code: 0,
      stdout: new TextEncoder().encode(text),
      stderr: new Uint8Array(0),
    });
    if (program === "cat") return stdout("00000000-0000-4000-8000-000000000000\n");
    if (program !== "systemctl") return await runProcess(ask);
    if (verb === "restart") {
      const digest = (await Deno.readTextFile(`${folder}/store/current`)).trim();
      await Deno.copyFile(`${folder}/store/generations/${digest}/bin/run`, `${folder}/running.new`);
      await Deno.rename(`${folder}/running.new`, `${folder}/running`);
      await Deno.writeTextFile(`${folder}/restarts`, `${digest}\n`, { append: true });
    }
    return stdout("");
  };
}

/** Ten times as fast as the machine's: nobody waits ten seconds for a verdict. */
const HURRY = 10;
const began = systemClock.now();
const hurriedClock: Clock = {
  now: () => began + (systemClock.now() - began) * HURRY,
  monotonic: () => systemClock.monotonic() * HURRY,
  sleep: (ms, signal) => systemClock.sleep(ms / HURRY, signal),
};

/** The ports of a host below `folder`. */
export function hostPorts(folder: string, more: Partial<AdopterPorts> = {}): AdopterPorts {
  return {
    files: systemFiles,
    directories: systemDirectories,
    removeFile,
    tryLock,
    openJournal,
    run: hostProcesses(folder),
    clock: hurriedClock,
    random: systemRandom,
    sha256,
    download: more.download ?? systemDownload(systemClock),
    upstream: http1Upstream(tcpDial, systemClock),
    canConnect: () => Promise.resolve(true),
    remarks: { info: () => {}, warn: () => {}, error: () => {} },
    uid: 4321,
    os: "linux",
    builtAt: 0,
    ...more,
  };
}

/** A config text as the adopter reads it. */
export function adopterConfig(text: string): AdopterConfig {
  const read = readConfig(text);
  if (read.kind === "invalid") throw new Error(JSON.stringify(read.problems));
  return read.model;
}

/** A publisher that serves, and as many hosts as are asked for. */
export async function adopterRig() {
  const rig = await publisherRig();
  // Any web server can serve what is published: this one knows files and nothing else.
  const handler = async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url);
    const bytes = await Deno.readFile(`${publicPath(rig.config.root)}${pathname}`)
      .catch(() => null);
    return bytes === null ? new Response(null, { status: 404 }) : new Response(bytes);
  };
  const server = serve({ hostname: "127.0.0.1", port: 0, handler, onError: () => {} });
  if (server.kind === "refused") throw new Error(server.detail);
  const url = `http://127.0.0.1:${server.port}`;
  let down = false;
  const stop = async () => {
    if (!down) await server.shutdown();
    down = true;
  };
  let commits = 0;
  return {
    ...rig,
    url,
    /** The publisher goes, and the network to it. */
    stop,
    /** Publishes a tree of `rev` for a host. */
    publish: async (
      rev: string,
      host = "gpu-a",
      more: { readonly [path: string]: string } = {},
    ) => {
      const path = rig.dir.at(`tree-${rev}-${host}`);
      await writeTree(path, { ...treeFiles(rev, ++commits), ...more });
      const done = await publish(rig.ports, rig.config, publishAsk(path, rev, { host }));
      assert.equal(done.kind, "published", JSON.stringify(done));
      return done.kind === "published" ? done.payload.target : null;
    },
    /**
     * What the receiver leaves: the bytes of `path` in the host's store, `current` naming them, and
     * its unit running them. No adopter had a part in it.
     */
    bootstrap: async (host: HostRig, path: string) => {
      const digest = path.replace("sha256:", "");
      const store = {
        ports: { files: systemFiles, directories: systemDirectories, sha256 },
        root: `${host.folder}/store`,
        keepsModes: true,
      };
      const blob = (name: string) => Deno.readFile(blobPath(rig.config.root, name));
      const manifest = readManifest(await blob(digest));
      if (manifest.kind !== "ok") throw new Error(manifest.detail);
      const sums = new Map(manifest.manifest.files.map((one) => [one.path, one.sha256]));
      const stored = await stageFiles(
        store,
        manifest.manifest,
        async (file) => await blob(sums.get(file) ?? ""),
      );
      assert.equal(stored.kind, "stored", JSON.stringify(stored));
      const pointers = await switchTo(store, digest);
      assert.ok(!("kind" in pointers), JSON.stringify(pointers));
      const run = `${host.folder}/store/generations/${digest}/bin/run`;
      await Deno.copyFile(run, `${host.folder}/running`);
      await Deno.chmod(`${host.folder}/running`, 0o644);
    },
    host: async (name = "gpu-a", more = "") => await hostRig(rig, name, url, more),
    [Symbol.asyncDispose]: async () => {
      await stop();
      await rig[Symbol.asyncDispose]();
    },
  };
}

/** A host with its folders and trust. */
async function hostRig(
  rig: Awaited<ReturnType<typeof publisherRig>>,
  name: string,
  url: string,
  more: string,
) {
  const folder = rig.dir.at(`host-${name}`);
  for (const one of ["store", "failures"]) {
    await Deno.mkdir(`${folder}/${one}`, { recursive: true });
  }
  await writeTrust(rig, `${folder}/trust.json`);
  const text = adopterToml(folder, url, name, more);
  await Deno.writeTextFile(`${folder}/adopter.toml`, text);
  return new HostRig(folder, adopterConfig(text));
}

/** What `keys list --trust` prints, as a file. */
export async function writeTrust(
  rig: Pick<Awaited<ReturnType<typeof publisherRig>>, "ports" | "config">,
  path: string,
): Promise<void> {
  const keyring = await loadKeyring(rig.ports, rig.config.keys);
  if (keyring.kind !== "keyring") throw new Error("no keys");
  const text = trustOf(keyring.facts.filter(({ state }) => state === "signing"));
  const read = await readTrust(new TextEncoder().encode(text));
  assert.equal(read.kind, "ok");
  await Deno.writeTextFile(path, text);
}

/** One host: each verb is a process's life of its own. */
export class HostRig {
  readonly folder: string;
  config: AdopterConfig;
  more: Partial<AdopterPorts> = {};

  constructor(folder: string, config: AdopterConfig) {
    this.folder = folder;
    this.config = config;
  }

  /** Opens, acts, closes. */
  async verb(
    act: (adopter: Adopter) => Promise<Outcome>,
    kind: "timer" | "person" = "timer",
  ): Promise<Outcome> {
    const ports = hostPorts(this.folder, this.more);
    try {
      const opened = await openAdopter(this.config, ports, { who: "test", kind }, "test");
      if (opened.kind !== "open") throw new Error(JSON.stringify(opened));
      await using adopter = opened;
      return await act(adopter);
    } finally {
      ports.download.close();
      ports.upstream.close();
    }
  }

  offer(): Promise<Outcome> {
    return this.verb(offer);
  }

  stage(): Promise<Outcome> {
    return this.verb((adopter) => stage(adopter, () => {}));
  }

  adopt(kind: "timer" | "person" = "timer"): Promise<Outcome> {
    return this.verb((adopter) => adopt(adopter, { rules: [], why: "" }), kind);
  }

  /** Offer, stage, adopt; the outcome of the last. */
  async all(): Promise<Outcome> {
    const offered = await this.offer();
    assert.equal(offered.exit, 0, JSON.stringify(offered));
    const staged = await this.stage();
    assert.equal(staged.exit, 0, JSON.stringify(staged));
    return await this.adopt();
  }

  /** What the fake unit runs: the revision in its script. */
  async running(): Promise<string | null> {
    const text = await Deno.readTextFile(`${this.folder}/running`).catch(() => null);
    return text === null ? null : /echo (.*)/.exec(text)?.[1] ?? "";
  }

  async summary(): Promise<Summary> {
    return JSON.parse(await Deno.readTextFile(`${this.folder}/status.json`)) as Summary;
  }

  /** The marker of a unit; null when there is none. */
  async marker(unit = "anvil-adopter-activate"): Promise<string | null> {
    return await Deno.readTextFile(`${this.folder}/failures/${unit}.failure`).catch(() => null);
  }

  async slots(): Promise<Slots> {
    let slots: Slots | null = null;
    await this.verb(async (adopter) => {
      slots = await adopter.adoption.slots();
      return { exit: 0, code: "", detail: "", data: null };
    });
    if (slots === null) throw new Error("no slots");
    return slots;
  }

  async set(name: string): Promise<void> {
    await Deno.writeTextFile(`${this.folder}/${name}`, "");
  }

  async unset(name: string): Promise<void> {
    await Deno.remove(`${this.folder}/${name}`);
  }
}
