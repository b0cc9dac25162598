/**
 * The native drivers that an agent of a user has on an operating system.
 *
 * @module
 */

import type { RunProcess } from "../core/process.ts";
import type { Driver } from "./driver.ts";
import { launchd } from "./launchd.ts";
import { NativeDriver, type NativeParts } from "./native_driver.ts";
import type { SupervisorPort } from "./supervisor.ts";
import { systemd } from "./systemd.ts";
import { windowsTask } from "./windows_task.ts";

/** What is needed. */
export interface SupervisedParts extends Omit<NativeParts, "supervisor"> {
  readonly run: RunProcess;
  readonly os: string;
  /** Of the agent's user; null where there is none. */
  readonly uid: number | null;
}

/** Drivers of `os`, the nearest first. */
export function supervisedDrivers(parts: SupervisedParts): readonly Driver[] {
  return supervisors(parts).map((supervisor) => new NativeDriver({ ...parts, supervisor }));
}

function supervisors({ os, run, uid, facts, files }: SupervisedParts): readonly SupervisorPort[] {
  switch (os) {
    case "linux":
      return [
        ...(uid === null ? [] : [systemd({ run, manager: { kind: "user", uid } })]),
        systemd({ run, manager: { kind: "system" } }),
      ];
    case "darwin":
      return uid === null ? [] : [launchd({ run, files, uid })];
    case "windows":
      return [windowsTask({ run, facts })];
    default:
      return [];
  }
}
