/**
 * What one host installs of a set: its own files under their own names, and its view of the topology.
 *
 * @module
 */

import type { Refusal } from "../core/refusal.ts";
import type { Fleet } from "../topology/shape.ts";
import { viewText } from "../topology/view.ts";
import type { Runtime } from "../topology/vocabulary.ts";
import { ownerOf, textOf, TOPOLOGY } from "./check_set.ts";
import type { ExportedFile } from "./export_commit.ts";

/** Derives the files of `host`, by name in ascending order. */
export function hostFiles(
  files: readonly ExportedFile[],
  fleet: Fleet,
  host: string,
  runtime: Runtime,
): { readonly kind: "ok"; readonly files: readonly ExportedFile[] } | Refusal {
  const canonical = files.find(({ path }) => path === TOPOLOGY);
  const text = canonical === undefined ? null : textOf(canonical.bytes);
  const view = viewText(text ?? "", fleet, host, runtime);
  if (view.kind === "refused") return view;
  const hosts = Object.keys(fleet.hosts);
  const own = files.flatMap(({ path, bytes }) => {
    const owner = ownerOf(path, hosts);
    return owner?.host === host ? [{ path: owner.name, bytes }] : [];
  });
  const topology = { path: TOPOLOGY, bytes: new TextEncoder().encode(view.text) };
  return {
    kind: "ok",
    files: [...own, topology].sort((left, right) => left.path < right.path ? -1 : 1),
  };
}
