/**
 * What the engine's `inspect` says of a container, as far as a serve is concerned.
 *
 * @module
 */

import type { Json } from "../core/canonical_json.ts";
import type { Exit } from "./driver.ts";
import { SERVE_LABEL } from "./docker_create.ts";
import { listAt, tableAt, tableOf, textAt, wholeAt } from "./written.ts";

/** A container. */
export interface ContainerFact {
  readonly id: string;
  readonly name: string;
  /** The serve its label names; null without one. */
  readonly serve: string | null;
  /** The compose project's file and service; null when compose did not make it. */
  readonly compose: { readonly files: string; readonly service: string } | null;
  /** `sha256:…` */
  readonly image: string;
  /** As it was asked for when the container was made. */
  readonly imageReference: string;
  /** Arguments it was made with, the image's own when there were none. */
  readonly args: readonly string[];
  readonly running: boolean;
  readonly pid: number | null;
  readonly startedAt: number | null;
  readonly exit: Exit | null;
  readonly stopSignal: string;
  readonly tty: boolean;
  readonly commandLine: string;
  readonly declaration: string | null;
  /** True on the host's own network. */
  readonly onHostNetwork: boolean;
  /** Ports of the host that lead into it. */
  readonly publishedPorts: readonly number[];
  /** It can reach accelerators. */
  readonly usesDevices: boolean;
  /** Identities of the devices it was given; empty: all, or none. */
  readonly deviceIds: readonly string[];
}

/** Reads `GET /containers/{id}/json`; null when it is something else. */
export function readContainer(value: Json): ContainerFact | null {
  const top = tableOf(value);
  const id = textAt(top, "Id");
  const image = textAt(top, "Image");
  const state = tableAt(top, "State");
  const config = tableAt(top, "Config");
  const host = tableAt(top, "HostConfig");
  if (id === null || image === null || state === null || config === null || host === null) {
    return null;
  }
  const running = state["Running"];
  if (typeof running !== "boolean") return null;
  const labels = tableAt(config, "Labels") ?? {};
  const label = (name: string) => textAt(labels, name);
  const files = label("com.docker.compose.project.config_files");
  const service = label("com.docker.compose.service");
  const args = listAt(top, "Args").map(String);
  return {
    id,
    name: (textAt(top, "Name") ?? "").replace(/^\//, ""),
    serve: label(SERVE_LABEL),
    compose: files === null || service === null ? null : { files, service },
    image,
    imageReference: textAt(config, "Image") ?? "",
    args: listAt(config, "Cmd").map(String),
    running,
    pid: wholeAt(state, "Pid") === 0 ? null : wholeAt(state, "Pid"),
    startedAt: timeAt(textAt(state, "StartedAt")),
    exit: running || timeAt(textAt(state, "FinishedAt")) === null ? null : {
      code: wholeAt(state, "ExitCode"),
      signal: null,
      at: timeAt(textAt(state, "FinishedAt")),
      outOfMemory: state["OOMKilled"] === true,
    },
    stopSignal: textAt(config, "StopSignal") ?? "SIGTERM",
    tty: config["Tty"] === true,
    commandLine: [textAt(top, "Path") ?? "", ...args].join(" "),
    declaration: label("anvil-fleet.declaration"),
    onHostNetwork: textAt(host, "NetworkMode") === "host",
    publishedPorts: publishedPorts(tableAt(tableAt(top, "NetworkSettings") ?? {}, "Ports") ?? {}),
    ...devicesOf(host),
  };
}

/** `0001-01-01T00:00:00Z` stands for never. */
function timeAt(text: string | null): number | null {
  const ms = text === null ? NaN : Date.parse(text.replace(/(\.\d{3})\d*Z$/, "$1Z"));
  return Number.isNaN(ms) || ms < 0 ? null : ms;
}

function publishedPorts(ports: { readonly [key: string]: unknown }): number[] {
  return Object.keys(ports).flatMap((key) =>
    listAt(ports, key).map((one) => Number(textAt(tableOf(one), "HostPort")))
  ).filter((port) => port > 0);
}

/** Device nodes by which an accelerator is reached. */
const ACCELERATOR = /^\/dev\/(nvidia|kfd|dri|accel|davinci|neuron)/;

function devicesOf(
  host: { readonly [key: string]: unknown },
): Pick<ContainerFact, "usesDevices" | "deviceIds"> {
  const requests = listAt(host, "DeviceRequests").map(tableOf);
  const nodes = listAt(host, "Devices").map(tableOf).flatMap((one) => [
    textAt(one, "PathOnHost") ?? "",
    textAt(one, "PathInContainer") ?? "",
  ]);
  return {
    usesDevices: requests.length > 0 || host["Privileged"] === true ||
      textAt(host, "Runtime") === "nvidia" || nodes.some((path) => ACCELERATOR.test(path)),
    deviceIds: requests.flatMap((one) => listAt(one, "DeviceIDs").map(String)),
  };
}
