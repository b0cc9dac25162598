/**
 * `builds.toml` beside the topology: which build of our programs a fleet is meant to run. A build
 * digest names all programs of a bundle on every platform, so there is one per host, and mostly one
 * for all.
 *
 *     schema = 1
 *     build = "0123…"        # every host that is not named below
 *     [hosts]
 *     gpu-a = "4567…"
 *
 * @module
 */

import { z } from "zod";
import { ID_PATTERN } from "../core/ids.ts";
import type { Checked } from "../core/problem.ts";
import { checkShape } from "../document/shape.ts";
import { readToml } from "../document/toml.ts";
import { digestShape } from "./receipt.ts";

/** The file's name in a set. */
export const BUILDS = "builds.toml";

/** The whole file. */
export const buildsShape = z.strictObject({
  schema: z.literal(1),
  build: digestShape.optional().describe("The build of every host that is not named."),
  hosts: z.record(z.string().regex(ID_PATTERN, "expected the id of a host"), digestShape)
    .default({}).describe("The builds of other hosts, by id."),
});

/** Which build each host is meant to run. */
export type Builds = z.infer<typeof buildsShape>;

/** Reads the file; with `hosts` given, a host that is not among them is a problem. */
export function readBuilds(text: string, hosts?: readonly string[]): Checked<Builds> {
  const table = readToml(text);
  if (table.kind === "invalid") return table;
  const shaped = checkShape(buildsShape, table.model);
  if (shaped.kind === "invalid" || hosts === undefined) return shaped;
  const strangers = Object.keys(shaped.model.hosts).filter((id) => !hosts.includes(id));
  return strangers.length === 0 ? shaped : {
    kind: "invalid",
    problems: strangers.map((id) => ({
      path: `hosts.${id}`,
      code: "host_unknown",
      message: "the topology declares no host of that name",
    })),
  };
}

/** The build that `host` is meant to run; null when nothing says so. */
export function buildOf({ build, hosts }: Builds, host: string): string | null {
  return (Object.hasOwn(hosts, host) ? hosts[host] : build) ?? null;
}
