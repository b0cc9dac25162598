/**
 * What the home declares for one name on one host, and the way back from a host's view of it.
 *
 * @module
 */

import { type Refusal, refuse } from "../core/refusal.ts";
import type { Fleet } from "../topology/shape.ts";
import { viewText } from "../topology/view.ts";
import type { Runtime } from "../topology/vocabulary.ts";
import { ownerOf, textOf, TOPOLOGY } from "./check_set.ts";
import type { ExportedFile } from "./export_commit.ts";

/** A file as the home has it. */
export interface Declared {
  readonly kind: "declared";
  /** Its path in the set. */
  readonly path: string;
  readonly text: string;
}

/** The file called `name` on `host`; the topology is every host's. */
export function declaredFile(
  set: readonly ExportedFile[],
  fleet: Fleet,
  host: string,
  name: string,
): Declared | Refusal {
  const hosts = Object.keys(fleet.hosts);
  const found = set.find(({ path }) => {
    if (path === TOPOLOGY) return name === TOPOLOGY;
    const owner = ownerOf(path, hosts);
    return owner?.host === host && owner.name === name;
  });
  if (found === undefined) {
    const own = set.flatMap(({ path }) => {
      const owner = ownerOf(path, hosts);
      return owner?.host === host ? [owner.name] : [];
    });
    return refuse(
      "file_not_declared",
      `the live set has no ${name} for ${host}; it has ${[...own, TOPOLOGY].join(", ")}`,
      `commit a first hosts/${host}/${name}, and materialize that; a file of another name is not ours`,
    );
  }
  const text = textOf(found.bytes);
  return text === null
    ? refuse("not_text", `${found.path} is not UTF-8 text`, "only texts cross in patches")
    : { kind: "declared", path: found.path, text };
}

/** What `host` installs of a declared file: of the topology its view, of any other the text itself. */
export function installedText(
  { path, text }: Declared,
  fleet: Fleet,
  host: string,
  runtime: Runtime,
): { readonly kind: "text"; readonly text: string } | Refusal {
  if (path !== TOPOLOGY) return { kind: "text", text };
  const view = viewText(text, fleet, host, runtime);
  return view.kind === "refused" ? view : { kind: "text", text: view.text };
}

/** The canonical text behind what stands on `host`: of a topology without the lines of the view. */
export function canonicalText(
  path: string,
  live: string,
  host: string,
): { readonly kind: "text"; readonly text: string } | Refusal {
  if (path !== TOPOLOGY) return { kind: "text", text: live };
  const lines = /^command_host = "([^"\n]*)"\r?\ncommand_runtime = "(?:docker|native)"\r?\n/m;
  const [, whose] = lines.exec(live) ?? [];
  return whose === host ? { kind: "text", text: live.replace(lines, "") } : refuse(
    "view_unknown",
    whose === undefined
      ? "the topology on the host has not the two lines of a view, as they are derived"
      : `the topology on the host is the view of ${whose}`,
    "install the derived one, then make the change again",
  );
}
