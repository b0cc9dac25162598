/**
 * What the live set of the home says every host should serve.
 *
 * @module
 */

import type { Refusal } from "../../lib/core/refusal.ts";
import type { ServeExpected } from "../../lib/dispatch/capability.ts";
import { ownerOf, textOf } from "../../lib/home/check_set.ts";
import { openHome, readSetFile } from "../../lib/home/open_home.ts";
import { readManifest } from "../../lib/serves/manifest.ts";
import type { Fleet } from "../../lib/topology/shape.ts";
import type { Operator } from "./operator.ts";

/** Reads every `serves.toml` of the set. What cannot be read is refused, not left out. */
export async function expectedServes(
  { ports }: Operator,
  home: string,
  fleet: Fleet,
): Promise<readonly ServeExpected[] | Refusal> {
  const live = await openHome(ports, home);
  if (live.kind === "refused") return live;
  const hosts = Object.keys(fleet.hosts);
  const expected: ServeExpected[] = [];
  for (const { path } of live.receipt.files) {
    const owner = ownerOf(path, hosts);
    if (owner?.name !== "serves.toml" || !Object.hasOwn(fleet.hosts, owner.host)) continue;
    const bytes = await readSetFile(ports, home, live.receipt, path);
    if (bytes !== null && "kind" in bytes) return bytes;
    const text = bytes === null ? null : textOf(bytes);
    const read = text === null ? null : readManifest(text);
    if (read?.kind !== "ok") continue; // materialize refuses such a set
    for (const { name, capability, tier, model } of read.model.serve) {
      expected.push({
        ...{ host: owner.host, serve: name, capability, tier },
        ...{ model: model.id, revision: model.revision },
      });
    }
  }
  return expected;
}
