/**
 * What the engine is told to make of a serve: a container without privileges, without a restart
 * policy, with the devices of its claim and no other.
 *
 * @module
 */

import type { Json } from "../core/canonical_json.ts";
import { claimOf, type DockerServe } from "./manifest_shape.ts";

/** Names the serve a container belongs to. */
export const SERVE_LABEL = "anvil-fleet.serve";
/** Digest of the declaration it was made from, variables' values apart. */
export const DECLARATION_LABEL = "anvil-fleet.declaration";

/** What is needed besides the manifest. */
export interface CreateParts {
  /** NAME=VALUE. */
  readonly env: readonly string[];
  /** The vendor's identity of each device of the host, by its id. */
  readonly uuidOf: ReadonlyMap<string, string>;
  readonly declaration: string;
}

/** The body of `POST /containers/create`. */
export function createBody(serve: DockerServe, parts: CreateParts): Json {
  const { run } = serve;
  if (run === undefined) throw new TypeError("a container of compose is not made here");
  const published = run.container_port === undefined ? null : `${run.container_port}/tcp`;
  const body: { [key: string]: Json } = {
    Image: serve.image,
    Cmd: [...run.args],
    Env: [...parts.env],
    Labels: { [SERVE_LABEL]: serve.name, [DECLARATION_LABEL]: parts.declaration },
    HostConfig: {
      NetworkMode: run.network,
      RestartPolicy: { Name: "no" },
      AutoRemove: false,
      Privileged: false,
      SecurityOpt: ["no-new-privileges"],
      ReadonlyRootfs: run.read_only,
      ShmSize: run.shm_mib * 1024 * 1024,
      LogConfig: { Type: "json-file", Config: { "max-size": "10m", "max-file": "2" } },
      Mounts: run.mounts.map(({ source, target, read_only }) => ({
        Type: "bind",
        Source: source,
        Target: target,
        ReadOnly: read_only,
      })),
      Devices: run.devices.map((path) => ({
        PathOnHost: path,
        PathInContainer: path,
        CgroupPermissions: "rwm",
      })),
      DeviceRequests: deviceRequests(serve, parts.uuidOf),
      ...(published === null ? {} : {
        PortBindings: { [published]: [{ HostIp: "127.0.0.1", HostPort: String(serve.port) }] },
      }),
    },
    ...(published === null ? {} : { ExposedPorts: { [published]: {} } }),
  };
  if (run.entrypoint !== undefined) body["Entrypoint"] = [...run.entrypoint];
  if (run.user !== undefined) body["User"] = run.user;
  return body;
}

/** The devices of its claim by identity; on unified memory, all there are. */
function deviceRequests(serve: DockerServe, uuidOf: ReadonlyMap<string, string>): Json {
  if (serve.run?.gpus !== "nvidia") return [];
  const claim = claimOf(serve);
  const request = { Driver: "nvidia", Capabilities: [["gpu"]] };
  if (claim.kind === "unified") return [{ ...request, Count: -1 }];
  const ids = claim.devices.map(({ device }) => uuidOf.get(device) ?? device);
  return [{ ...request, DeviceIDs: ids }];
}
