/**
 * The router's clients file, followed while it runs.
 *
 * @module
 */

import type { Checked } from "../../lib/core/problem.ts";
import {
  RosterFile as RosterFileOf,
  type RosterPorts as RosterPortsOf,
} from "../../lib/credential/roster_file.ts";
import { readClients, type Scope } from "./clients.ts";

/** What a roster file needs. */
export type RosterPorts = Omit<RosterPortsOf<Scope>, "read">;

/** A roster that follows its file. */
export type RosterFile = RosterFileOf<Scope>;

/** Reads the file; every problem, when it cannot be used. */
export function openRoster(path: string, ports: RosterPorts): Promise<Checked<RosterFile>> {
  return RosterFileOf.open(path, { ...ports, read: readClients });
}
