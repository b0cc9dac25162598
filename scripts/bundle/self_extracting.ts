/**
 * One file per role for Linux and macOS: a few lines of sh, and behind them the role's archive.
 *
 * The first run unpacks it beside its place in a cache, has it checked file by file and flushed by
 * `publish.ts`, and gives it its name in one rename: two first runs at once, or one that is killed,
 * leave a whole tree or none. Later runs only look whether it is there.
 *
 * @module
 */

import { VERSION } from "../../lib/core/version.ts";
import { type Manifest, manifestDigest } from "../../lib/generation/manifest.ts";
import { writeArchive } from "../../lib/generation/write_archive.ts";
import { sha256 } from "../../lib/host/digest.ts";
import { type Contents, joined } from "./contents.ts";
import type { Target } from "./runtimes.ts";

/** Where the program that checks and names an unpacked tree lies in it. */
export const PUBLISHER = "lib/publish.js";

/** The whole file. `zipped` remembers what was compressed before: the runtime is in every one. */
export async function selfExtracting(
  role: string,
  target: Target,
  manifest: Manifest,
  contents: Contents,
  zipped: Map<Uint8Array, Uint8Array>,
): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  const large = new Set([...contents.values()].map(({ bytes }) => bytes).filter(isLarge));
  const contentOf = (path: string) => Promise.resolve(contents.get(path)?.bytes as Uint8Array);
  let small: Uint8Array[] = [];
  const flush = async () => {
    if (small.length > 0) parts.push(await gzip(joined(small)));
    small = [];
  };
  // Each large file becomes a member of its own, which `gzip -d` reads as if it were one stream.
  for await (const chunk of writeArchive(sha256, manifest, contentOf)) {
    if (!large.has(chunk)) small.push(chunk);
    else {
      await flush();
      const member = zipped.get(chunk) ?? await gzip(chunk);
      zipped.set(chunk, member);
      parts.push(member);
    }
  }
  await flush();
  const digest = manifestDigest(sha256, manifest);
  const stub = new TextEncoder().encode(stubOf(role, target, digest));
  return joined([stub, ...parts]);
}

function isLarge(bytes: Uint8Array): boolean {
  return bytes.length > 16 * 1024 * 1024;
}

async function gzip(bytes: Uint8Array): Promise<Uint8Array> {
  const stream = new Blob([bytes as Uint8Array<ArrayBuffer>]).stream()
    .pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** As `uname -s` and `uname -m` say. */
const SYSTEMS = { linux: "Linux", darwin: "Darwin", windows: "" } as const;
const MACHINES = { x64: "x86_64 | amd64", arm64: "arm64 | aarch64" } as const;

/** The sh in front; it knows how long it is itself. */
function stubOf(role: string, { name, os, arch }: Target, digest: string): string {
  const text = (length: string) =>
    `#!/bin/sh
# anvil-${role} ${VERSION} for ${name}. Unpacks itself once into a cache, then runs from there.
set -eu
fail() {
  echo "anvil-${role}: $1" >&2
  exit 1
}
case $(uname -s) in ${
      SYSTEMS[os]
    }) ;; *) fail "this file is for ${name}, not for $(uname -s)" ;; esac
case $(uname -m) in ${
      MACHINES[arch]
    }) ;; *) fail "this file is for ${name}, not for $(uname -m)" ;; esac
cache=\${ANVIL_UNPACKED:-\${XDG_CACHE_HOME:-\${HOME:+$HOME/.cache}}}
[ -n "$cache" ] || fail "nothing says where to unpack; next: set HOME or ANVIL_UNPACKED"
case $cache in
*,*) fail "the cache's path holds a comma; next: set ANVIL_UNPACKED to another" ;;
/*) ;;
*) fail "the cache's path is not absolute; next: set ANVIL_UNPACKED to an absolute one" ;;
esac
cache=$cache/anvil
tree=$cache/${digest}
if [ ! -e "$tree" ]; then
  (
    umask 022
    mkdir -p "$cache"
    new=$(mktemp -d "$cache/.new.XXXXXX")
    trap 'rm -rf "$new"' EXIT
    trap 'exit 130' HUP INT TERM
    tail -c +${length} "$0" | gzip -dc | tar -xf - -C "$new" || fail "could not unpack into $cache"
    env -i "$new/runtime/deno" run --no-prompt --no-config --no-lock --no-remote --no-npm --cached-only \\
      --no-code-cache --quiet "--allow-read=$cache" "--allow-write=$cache" \\
      "$new/${PUBLISHER}" "$new" "$tree" || fail "what was unpacked is not what was packed"
  )
fi
exec "$tree/bin/anvil-${role}" "$@"
`;
  const length = new TextEncoder().encode(text("000000")).length + 1;
  return text(`${length}`.padStart(6, "0"));
}
