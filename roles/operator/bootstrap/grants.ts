/**
 * What this operator may do to hosts without an agent: `grants.toml` in the home, its owner's alone. An
 * agent knows the scopes of its tokens; a host without one has nobody to ask, so the gateway's owner
 * says it here, apart from keys and topology. It is one of two: the host's own `bootstrap_authorized`
 * is the other.
 *
 * @module
 */

import * as z from "zod";
import { ID_PATTERN } from "../../../lib/core/ids.ts";
import { type Refusal, refuse } from "../../../lib/core/refusal.ts";
import { checkShape } from "../../../lib/document/shape.ts";
import { readToml } from "../../../lib/document/toml.ts";
import type { Operator } from "../operator.ts";

/** What `bootstrap plan|apply|status|rollback` needs. */
export const BOOTSTRAP_SCOPE = "node-admin:bootstrap";

const MOST_BYTES = 64 * 1024;

/** `grants.toml`. */
const grantsShape = z.strictObject({
  schema: z.literal(1),
  grants: z.array(z.strictObject({
    scope: z.literal(BOOTSTRAP_SCOPE),
    /** Ids of hosts, or `*` alone for every declared one. */
    hosts: z.union([
      z.tuple([z.literal("*")]),
      z.array(z.string().regex(ID_PATTERN, "expected the id of a host")).min(1),
    ]),
  })),
});

/** Null when the file at `path` gives {@link BOOTSTRAP_SCOPE} for `host`. */
export async function refuseScope(
  { files }: Pick<Operator["ports"], "files">,
  path: string,
  host: string,
): Promise<Refusal | null> {
  const privacy = await files.checkPrivate(path);
  if (privacy.kind === "refused") return unusable(privacy.detail, privacy.nextStep);
  // `unknown` is a platform that cannot tell; there the home stands under the user's own folder.
  const read = privacy.kind === "absent" ? privacy : await files.readBounded(path, MOST_BYTES);
  if (read.kind === "refused") return unusable(read.detail);
  if (read.kind === "absent") return missing(host, "there is no grants.toml in the home");
  const table = readToml(new TextDecoder().decode(read.bytes));
  const checked = table.kind === "invalid" ? table : checkShape(grantsShape, table.model);
  if (checked.kind === "invalid") {
    const [first] = checked.problems;
    return unusable(first === undefined ? "it is not valid" : `${first.path}: ${first.message}`);
  }
  const isGranted = checked.model.grants.some(({ hosts }) =>
    hosts.some((one) => one === "*" || one === host)
  );
  return isGranted ? null : missing(host, "grants.toml does not name it");
}

function missing(host: string, why: string): Refusal {
  return refuse(
    "scope_missing",
    `this operator has no ${BOOTSTRAP_SCOPE} for ${host}: ${why}`,
    "whoever owns this gateway writes the grant into grants.toml in the home, mode 0600",
  );
}

function unusable(detail: string, nextStep?: string): Refusal {
  return refuse("grants_unusable", `grants.toml: ${detail}`, nextStep);
}
