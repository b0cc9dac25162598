/**
 * Is a closure whole in the binary cache that hosts fetch from? Every path by its signed narinfo, and
 * the bytes behind it by a HEAD. Nothing is downloaded and nothing is evaluated.
 *
 * @module
 */

import type { Download } from "../../lib/core/download.ts";
import {
  hashPartOf,
  isSigned,
  MOST_NARINFO_BYTES,
  type NarInfo,
  readNarInfo,
  sriOf,
} from "./narinfo.ts";
import { no, type PublisherRefusal } from "./ports.ts";

/** The cache, as the configuration has it. */
export interface CacheAsk {
  readonly cache: string;
  readonly cache_keys: readonly string[];
  readonly most_paths: number;
}

/** A closure that is in the cache. */
export interface CachedClosure {
  readonly kind: "cached";
  /** Of the top path, in the spelling of subresource integrity. */
  readonly narHash: string;
  readonly paths: number;
  /** Bytes. */
  readonly download: number;
  /** Bytes. */
  readonly unpacked: number;
}

/** Requests at once. */
const AT_ONCE = 8;
/** Milliseconds for one of them. */
const DEADLINE_MS = 30_000;

/** Walks the closure of `storePath` through the cache. */
export async function findClosure(
  download: Download,
  ask: CacheAsk,
  storePath: string,
  progress: (line: string) => void,
): Promise<CachedClosure | PublisherRefusal> {
  const base = ask.cache.replace(/\/$/, "");
  const seen = new Set([storePath]);
  const waiting = [storePath];
  const sums = { download: 0, unpacked: 0 };
  let top: NarInfo | null = null;
  let looked = 0;
  while (waiting.length > 0) {
    const batch = waiting.splice(0, AT_ONCE);
    const found = await Promise.all(batch.map((path) => findPath(download, base, ask, path)));
    for (const info of found) {
      if ("kind" in info) return info;
      if (info.storePath === storePath) top = info;
      sums.download += info.fileSize ?? info.narSize;
      sums.unpacked += info.narSize;
      for (const reference of info.references) {
        if (seen.has(reference)) continue;
        if (seen.size >= ask.most_paths) {
          return no("closure_too_large", `observed more than ${ask.most_paths} paths`);
        }
        seen.add(reference);
        waiting.push(reference);
      }
    }
    looked += batch.length;
    if (looked % (AT_ONCE * 32) === 0) progress(`cache: ${looked} paths are there`);
  }
  if (top === null) throw new Error("a walk without its first path");
  return { kind: "cached", narHash: sriOf(top.narHash), paths: seen.size, ...sums };
}

async function findPath(
  download: Download,
  base: string,
  { cache_keys }: CacheAsk,
  storePath: string,
): Promise<NarInfo | PublisherRefusal> {
  const name = storePath.slice("/nix/store/".length);
  const answer = await download.document({
    url: `${base}/${hashPartOf(storePath)}.narinfo`,
    maxBytes: MOST_NARINFO_BYTES,
    deadlineMs: DEADLINE_MS,
  });
  if (answer.kind === "refused") {
    return answer.code === "no-candidate" ? missing(name) : cacheDown(answer.detail);
  }
  const info = answer.kind === "ok" ? readNarInfo(answer.bytes) : null;
  if (info === null || info.storePath !== storePath) {
    return no("cache_malformed", `${name}: the cache answers with no narinfo of it`);
  }
  if (!await isSigned(info, cache_keys)) {
    return no(
      "cache_unsigned",
      `${name}: no key in nix.cache_keys signed it, so no host would take it`,
      "sign it: `nix store sign`, or let the cache do so",
    );
  }
  const bytes = await download.head({ url: `${base}/${info.url}`, deadlineMs: DEADLINE_MS });
  if (bytes.kind === "refused") {
    return bytes.code === "no-candidate" ? missing(name) : cacheDown(bytes.detail);
  }
  return info.fileSize === null || bytes.size === null || bytes.size === info.fileSize
    ? info
    : no("cache_malformed", `${name}: ${bytes.size} bytes, its narinfo says ${info.fileSize}`);
}

function missing(name: string): PublisherRefusal {
  return no(
    "cache_missing_path",
    `${name} is not in the cache`,
    "copy the closure there first: `nix copy --to`",
  );
}

function cacheDown(detail: string): PublisherRefusal {
  return no("cache_unreachable", `the cache: ${detail}`, "see whether it runs; then publish again");
}
