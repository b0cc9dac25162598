/**
 * Serves in containers, over the Engine API of this host. Every answer is read from the engine when
 * it is asked for; labels say which container is which serve.
 *
 * @module
 */

import { canonicalJson } from "../core/canonical_json.ts";
import type { Clock } from "../core/clock.ts";
import type { Files } from "../core/files.ts";
import { maskText } from "../core/mask.ts";
import { hex } from "../core/ids.ts";
import { type Refusal, refuse } from "../core/refusal.ts";
import { sha256 } from "../host/digest.ts";
import { type ContainerFact, readContainer } from "./container_facts.ts";
import { createBody, DECLARATION_LABEL, SERVE_LABEL } from "./docker_create.ts";
import type { DockerEngine, EngineJson } from "./docker_engine.ts";
import { firstFrame, linesOfFrames } from "./docker_frames.ts";
import { dockerOccupants, pidsOf, residentOf } from "./docker_memory.ts";
import { stopContainer } from "./docker_stop.ts";
import type {
  Driver,
  Instance,
  LogBounds,
  Logs,
  Proof,
  Resolved,
  ServeState,
  Started,
  StopOrder,
  Stopped,
  Unknown,
} from "./driver.ts";
import { readEnv } from "./env_file.ts";
import { lastLines } from "./log_lines.ts";
import type { DockerServe, Serve } from "./manifest_shape.ts";
import { notUnderstood, type OsFacts } from "./os_facts.ts";
import { portNow } from "./port_proof.ts";
import { tableOf, textAt } from "./written.ts";

/** What the driver needs. */
export interface DockerParts {
  readonly engine: DockerEngine;
  readonly facts: OsFacts;
  readonly files: Files;
  readonly clock: Clock;
  /** The vendor's identity of each device of this host, by its id in the topology. */
  readonly uuidOf: ReadonlyMap<string, string>;
  /** True where memory is one: it is looked at whether it comes back. */
  readonly unified: boolean;
}

/** A container under the name a serve wants. */
export type Found = { readonly kind: "found"; readonly container: ContainerFact } | {
  readonly kind: "none";
} | Unknown;

/** The driver. */
export class DockerDriver implements Driver {
  readonly kind = "docker" as const;
  readonly #parts: DockerParts;

  constructor(parts: DockerParts) {
    this.#parts = parts;
  }

  async resolve(serve: Serve, signal: AbortSignal): Promise<Resolved> {
    const docker = dockerOnly(serve);
    const { engine, files } = this.#parts;
    const image = await engine.json(`/images/${docker.image}/json`, signal);
    if (image.kind === "unknown") return image;
    if (image.status === 404) {
      const next = `pull it on this host by its digest`;
      return refuse("image_absent", `the image of ${serve.name} is not on this host`, next);
    }
    if (image.status !== 200) return unexpected(image);
    const env = await readEnv(files, serve);
    if (env.kind === "refused") return env;
    const found = await this.#find(docker, signal);
    if (found.kind === "unknown") return found;
    if (docker.compose !== undefined && found.kind === "none") {
      return refuse(
        "container_absent",
        `compose has not made the container of ${serve.name}`,
        "make it on this host with `docker compose up --no-start`",
      );
    }
    const foreign = found.kind === "found" ? whyForeign(docker, found.container) : null;
    if (foreign !== null) return refuse("container_foreign", foreign, FOREIGN_NEXT);
    const lacking = await this.#lackingPath(docker, signal);
    if (lacking !== null) return lacking;
    const network = docker.run?.network ?? "host";
    if (docker.run === undefined || network === "host") return { kind: "ready" };
    const there = await engine.json(`/networks/${encodeURIComponent(network)}`, signal);
    if (there.kind === "unknown") return there;
    if (there.status === 200) return { kind: "ready" };
    return there.status === 404
      ? refuse("network_absent", `the network ${network} is not there`, "make it, or use `host`")
      : unexpected(there);
  }

  async start(serve: Serve, signal: AbortSignal): Promise<Started> {
    const docker = dockerOnly(serve);
    const resolved = await this.resolve(serve, signal);
    if (resolved.kind !== "ready") return resolved;
    const found = await this.#find(docker, signal);
    if (found.kind === "unknown") return found;
    if (found.kind === "found" && found.container.running) {
      return { kind: "already", instance: await this.#instance(found.container, signal) };
    }
    let id = found.kind === "found" ? found.container.id : null;
    if (docker.run !== undefined) {
      const made = await this.#make(docker, found.kind === "found", signal);
      if (made.kind !== "made") return made;
      id = made.id;
    }
    const started = await this.#parts.engine.json(`/containers/${id}/start`, signal, {
      method: "POST",
    });
    if (started.kind === "unknown") return started;
    if (started.status !== 204 && started.status !== 304) return said("start_refused", started);
    const now = await this.#find(docker, signal);
    if (now.kind === "unknown") return now;
    if (now.kind === "none" || !now.container.running) {
      return { kind: "died", exit: now.kind === "none" ? null : now.container.exit };
    }
    return { kind: "started", instance: await this.#instance(now.container, signal) };
  }

  async stop(serve: Serve, order: StopOrder, signal: AbortSignal): Promise<Stopped> {
    const docker = dockerOnly(serve);
    const found = await this.#find(docker, signal);
    if (found.kind === "unknown") return found;
    const container = found.kind === "found" ? found.container : null;
    const foreign = container === null ? null : whyForeign(docker, container);
    if (foreign !== null) return refuse("serve_foreign", foreign, FOREIGN_NEXT);
    const find = (again: AbortSignal) => this.#find(docker, again);
    return await stopContainer(this.#parts, docker, container, order, find, signal);
  }

  async status(serve: Serve, signal: AbortSignal): Promise<ServeState> {
    const docker = dockerOnly(serve);
    const found = await this.#find(docker, signal);
    if (found.kind === "unknown") return found;
    if (found.kind === "none") return { kind: "stopped", exit: null };
    const { container } = found;
    const foreign = whyForeign(docker, container);
    if (foreign !== null) {
      const instance = container.running ? await this.#instance(container, signal) : null;
      return { kind: "foreign", detail: foreign, instance };
    }
    return container.running
      ? { kind: "running", instance: await this.#instance(container, signal) }
      : { kind: "stopped", exit: container.exit };
  }

  async logs(serve: Serve, bounds: LogBounds, signal: AbortSignal): Promise<Logs> {
    const docker = dockerOnly(serve);
    const found = await this.#find(docker, signal);
    if (found.kind === "unknown") return found;
    if (found.kind === "none") return { kind: "logs", lines: [], truncated: false };
    const { id, tty } = found.container;
    const answer = await this.#parts.engine.raw(
      `/containers/${id}/logs?stdout=true&stderr=true&tail=${bounds.lines}`,
      signal,
      { mostBytes: Math.max(bounds.bytes * 2, 64 * 1024) },
    );
    if (answer.kind === "unknown") return answer;
    if (answer.status !== 200) return notUnderstood(`the engine answered with ${answer.status}`);
    if (tty) return lastLines(new TextDecoder().decode(answer.bytes), bounds, answer.cut);
    const from = answer.cut ? firstFrame(answer.bytes) : 0;
    if (from === null) return notUnderstood("the engine's log stream has no frames");
    const { text, whole } = linesOfFrames(answer.bytes.subarray(from));
    return lastLines(text, bounds, answer.cut || !whole);
  }

  async identity(serve: Serve, signal: AbortSignal): Promise<Proof> {
    const docker = dockerOnly(serve);
    const { engine, facts } = this.#parts;
    const found = await this.#find(docker, signal);
    if (found.kind === "unknown") return found;
    if (found.kind === "none" || !found.container.running) return { kind: "absent" };
    const { container } = found;
    const foreign = whyForeign(docker, container);
    if (foreign !== null) return { kind: "differs", expected: docker.container, observed: foreign };
    const image = await engine.json(`/images/${container.image}/json`, signal);
    if (image.kind === "unknown") return image;
    const digest = docker.image.slice(docker.image.indexOf("sha256:"));
    const names = tableOf(image.value)["RepoDigests"];
    const isIt = container.image === digest ||
      (Array.isArray(names) && names.some((name) => String(name).endsWith(`@${digest}`)));
    if (!isIt) return { kind: "differs", expected: digest, observed: container.image };
    const isOurs = docker.run !== undefined && container.declaration !== null;
    if (isOurs && container.declaration !== declarationOf(docker)) {
      const observed = "the container was made from another declaration";
      return { kind: "differs", expected: "the declaration in serves.toml", observed };
    }
    const instance = await this.#instance(container, signal);
    const proven = { kind: "proven", instance, port: serve.port } as const;
    if (!container.onHostNetwork) {
      return container.publishedPorts.includes(serve.port)
        ? proven
        : { kind: "differs", expected: `port ${serve.port}`, observed: "it is not published" };
    }
    const port = await portNow(facts, serve.port, signal);
    if (port.kind === "unknown") return port;
    if (port.kind === "free") return { kind: "absent" };
    if (port.pids.length === 0) {
      return notUnderstood("the system does not tell this agent who listens on the port");
    }
    const pids = await pidsOf(engine, container.id, signal);
    if (pids.kind === "unknown") return pids;
    const stranger = port.pids.find((pid) => !pids.value.includes(pid));
    return stranger === undefined ? proven : {
      kind: "differs",
      expected: `a process of ${docker.container} on port ${serve.port}`,
      observed: `process ${stranger}, which is not in it`,
    };
  }

  occupants(serves: readonly Serve[], signal: AbortSignal) {
    return dockerOccupants(this.#parts, serves, signal);
  }

  async #find(serve: DockerServe, signal: AbortSignal): Promise<Found> {
    const path = `/containers/${encodeURIComponent(serve.container)}/json`;
    const answer = await this.#parts.engine.json(path, signal);
    if (answer.kind === "unknown") return answer;
    if (answer.status === 404) return { kind: "none" };
    const container = answer.status === 200 ? readContainer(answer.value) : null;
    // The engine also finds a container by a part of its id.
    if (container !== null && container.name !== serve.container) return { kind: "none" };
    return container === null ? unexpected(answer) : { kind: "found", container };
  }

  /** A mount, a device node or a compose file that is not on this host; null: all are. */
  async #lackingPath(
    { name, run, compose }: DockerServe,
    signal: AbortSignal,
  ): Promise<Refusal<"path_absent"> | Unknown | null> {
    const mounts = run?.mounts.map(({ source }) => source) ?? [];
    const paths = [
      ...mounts,
      ...(run?.devices ?? []),
      ...(compose === undefined ? [] : [compose.file]),
    ];
    if (paths.length === 0) return null;
    const seen = await this.#parts.facts.paths(paths, signal);
    if (seen.kind === "unknown") return seen;
    const lacking = paths.findIndex((path) => seen.value.get(path) === "absent");
    if (lacking === -1) return null;
    const what = lacking < mounts.length ? `mount ${lacking}` : "a device node or the compose file";
    return refuse("path_absent", `${what} of ${name} is not on this host`, "make it, or mend it");
  }

  /** Makes the container anew: what an earlier one was made from may have changed. */
  async #make(
    serve: DockerServe,
    isThere: boolean,
    signal: AbortSignal,
  ): Promise<{ readonly kind: "made"; readonly id: string } | Refusal<never> | Started> {
    const { engine, files, uuidOf } = this.#parts;
    const env = await readEnv(files, serve);
    if (env.kind === "refused") return env;
    if (isThere) {
      // Only what has stopped and has our label is removed by this; a running one stays.
      const filters = JSON.stringify({ label: [`${SERVE_LABEL}=${serve.name}`] });
      const path = `/containers/prune?filters=${encodeURIComponent(filters)}`;
      const gone = await engine.json(path, signal, { method: "POST" });
      if (gone.kind === "unknown") return gone;
      if (gone.status !== 200) return said("start_refused", gone);
    }
    const body = createBody(serve, {
      env: env.values.map(([name, value]) => `${name}=${value.reveal()}`),
      uuidOf,
      declaration: declarationOf(serve),
    });
    const path = `/containers/create?name=${encodeURIComponent(serve.container)}`;
    const made = await engine.json(path, signal, { method: "POST", body });
    if (made.kind === "unknown") return made;
    const id = textAt(tableOf(made.value), "Id");
    if (made.status === 201 && id !== null) return { kind: "made", id };
    if (made.status === 404) {
      return refuse("image_absent", `the image of ${serve.name} went away`, "pull it again");
    }
    const message = messageOf(made);
    return /bind source path does not exist/.test(message)
      ? refuse("path_absent", `a mount of ${serve.name} is not on this host`, "make the folder")
      : said("start_refused", made);
  }

  async #instance(container: ContainerFact, signal: AbortSignal): Promise<Instance> {
    return {
      id: `${container.id.slice(0, 12)}@${container.startedAt ?? 0}`,
      pid: container.pid,
      startedAt: container.startedAt,
      residentMib: await residentOf(this.#parts.engine, container.id, signal),
      commandLine: container.commandLine,
      imageDigest: container.image,
    };
  }
}

const FOREIGN_NEXT = "stop and remove that container yourself, or give the serve another name";

/** Why `container` is not the one of `serve`; null when it is. */
export function whyForeign(serve: DockerServe, container: ContainerFact): string | null {
  if (serve.compose !== undefined) {
    const { compose } = container;
    if (compose === null) return "a container of this name was not made by compose";
    const isIt = compose.service === serve.compose.service &&
      compose.files.split(",").includes(serve.compose.file);
    return isIt ? null : "a container of this name belongs to another compose file or service";
  }
  if (container.serve === serve.name || isTheSame(serve, container)) return null;
  return "a container of this name was not made for this serve, and is not what it declares";
}

/** A container that somebody else made just so: it is the serve, whoever typed it. */
function isTheSame({ image, run }: DockerServe, container: ContainerFact): boolean {
  return container.serve === null && container.imageReference === image &&
    container.args.length === (run?.args.length ?? 0) &&
    container.args.every((arg, index) => arg === run?.args[index]) &&
    container.onHostNetwork === ((run?.network ?? "host") === "host");
}

/** Digest of what a container is made from; the values of its variables are not in it. */
export function declarationOf(serve: DockerServe): string {
  const made = { image: serve.image, run: serve.run ?? null, port: serve.port, env: serve.env };
  return hex(sha256(canonicalJson(JSON.parse(JSON.stringify({ ...made, memory: serve.memory })))));
}

/** The names of the labels that this driver sets. */
export const LABELS = [SERVE_LABEL, DECLARATION_LABEL] as const;

function dockerOnly(serve: Serve): DockerServe {
  if (serve.runtime !== "docker") throw new TypeError(`${serve.name} is not a docker serve`);
  return serve;
}

function unexpected({ status }: EngineJson): Unknown {
  return notUnderstood(`the engine answered with status ${status}`);
}

function messageOf({ value }: EngineJson): string {
  return maskText(textAt(tableOf(value), "message") ?? "").slice(0, 300);
}

function said(code: "start_refused", answer: EngineJson): Refusal<"start_refused"> {
  return refuse(code, `the engine refused with ${answer.status}: ${messageOf(answer)}`);
}
