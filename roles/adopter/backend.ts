/**
 * The backend of the configuration, wired to this machine.
 *
 * @module
 */

import type { Backend } from "../../lib/adoption/backend.ts";
import { readBootId } from "../../lib/adoption/backends/boot_id.ts";
import { bundleBackend } from "../../lib/adoption/backends/bundle.ts";
import { nixosBackend } from "../../lib/adoption/backends/nixos.ts";
import { launchdSupervisor, systemdSupervisor } from "../../lib/adoption/backends/supervisor.ts";
import { within } from "../../lib/host/paths.ts";
import type { AdopterConfig } from "./config.ts";
import type { AdopterPorts } from "./ports.ts";

/** Makes it. */
export function backendOf(config: AdopterConfig, ports: AdopterPorts): Backend {
  const { run, files, directories, clock, sha256, download, os } = ports;
  const bootId = () => readBootId(run, os);
  if (config.backend === "bundle" && config.bundle !== undefined) {
    return bundleBackend({
      store: {
        ports: { files, directories, sha256 },
        root: config.bundle.store,
        keepsModes: os !== "windows",
      },
      source: {
        download,
        files,
        directories,
        url: config.publisher.url,
        parts: within(config.state, "parts"),
        idleMs: config.publisher.idle_seconds * 1000,
      },
      supervisor: os === "darwin" ? launchdSupervisor(run) : systemdSupervisor(run),
      units: config.bundle.units,
      bootId,
    });
  }
  const { nixos } = config;
  return nixosBackend({
    nix: {
      run,
      substituters: nixos.substituters,
      trustedKeys: nixos.trusted_keys,
      nixConfig: nixos.nix_config,
      home: config.state,
    },
    files,
    directories,
    clock,
    bootId,
    profile: nixos.profile,
    currentLink: nixos.current_link,
    bootedLink: nixos.booted_link,
    roots: within(config.state, "roots"),
    verifyMs: config.limits.verify_minutes * 60_000,
  });
}
