/**
 * One file per role: a few lines of sh, or of cmd for Windows, and behind them the role's archive.
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
  const payload = joined(parts);
  const stub = target.os === "windows"
    ? cmdStubOf(role, target, digest, sha256(payload).toHex())
    : stubOf(role, target, digest);
  return joined([new TextEncoder().encode(stub), payload]);
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
const SYSTEMS = { linux: "Linux", darwin: "Darwin", windows: "none" } as const;
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

/** As Windows says in PROCESSOR_ARCHITECTURE. */
const WINDOWS_MACHINES = { x64: "AMD64", arm64: "ARM64" } as const;

/**
 * The cmd in front. PowerShell, which every Windows has, cuts the archive out of the file and compares
 * its sum; the system's own tar unpacks it. A copy of the runtime checks and names the tree: Windows
 * renames no folder with a running program in it.
 */
function cmdStubOf(role: string, { name, arch }: Target, digest: string, sum: string): string {
  const flags =
    "--no-prompt --no-config --no-lock --no-remote --no-npm --cached-only --no-code-cache";
  const cut = [
    "$ErrorActionPreference='Stop'",
    "$in=[IO.File]::OpenRead($env:ANVIL_SELF)",
    "[void]$in.Seek(OFFSET,'Begin')",
    "$out=[IO.File]::Create($env:ANVIL_NEW+'\\payload.tgz')",
    "$in.CopyTo($out)",
    "$out.Close()",
    "$in.Close()",
    "$sum=(Get-FileHash -Algorithm SHA256 -LiteralPath ($env:ANVIL_NEW+'\\payload.tgz')).Hash",
    `if ($sum -ne '${sum}') { exit 1 }`,
  ].join("; ");
  // Not `||`: programs that crash leave negative codes, and wine's cmd knows only this.
  const damaged = 'if not "%ERRORLEVEL%"=="0" goto damaged';
  const text = (offset: string) =>
    [
      "@echo off",
      `rem anvil-${role} ${VERSION} for ${name}. Unpacks itself once into a cache, then runs from there.`,
      "setlocal DisableDelayedExpansion",
      `if not "%PROCESSOR_ARCHITECTURE%"=="${WINDOWS_MACHINES[arch]}" goto other`,
      'set "ANVIL_CACHE=%ANVIL_UNPACKED%"',
      'if not defined ANVIL_CACHE set "ANVIL_CACHE=%LOCALAPPDATA%"',
      "if not defined ANVIL_CACHE goto nowhere",
      'if not "%ANVIL_CACHE:,=%"=="%ANVIL_CACHE%" goto comma',
      'set "ANVIL_CACHE=%ANVIL_CACHE%\\anvil"',
      `set "ANVIL_TREE=%ANVIL_CACHE%\\${digest}"`,
      `if exist "%ANVIL_TREE%\\manifest.json" goto run`,
      'set "ANVIL_NEW=%ANVIL_CACHE%\\.new.%RANDOM%%RANDOM%%RANDOM%"',
      'mkdir "%ANVIL_NEW%\\tree" 2>nul',
      'if not exist "%ANVIL_NEW%\\tree\\" goto unwritable',
      'set "ANVIL_SELF=%~f0"',
      `"%SystemRoot%\\System32\\WindowsPowerShell\\v1.0\\powershell.exe" -NoProfile -NonInteractive -Command "${
        cut.replace("OFFSET", offset)
      }"`,
      damaged,
      '"%SystemRoot%\\System32\\tar.exe" -xf "%ANVIL_NEW%\\payload.tgz" -C "%ANVIL_NEW%\\tree"',
      damaged,
      'copy /b /y "%ANVIL_NEW%\\tree\\runtime\\deno.exe" "%ANVIL_NEW%\\deno.exe" >nul',
      damaged,
      `"%ANVIL_NEW%\\deno.exe" run ${flags} --quiet "--allow-read=%ANVIL_CACHE%" "--allow-write=%ANVIL_CACHE%" "%ANVIL_NEW%\\tree\\${
        PUBLISHER.replace("/", "\\")
      }" "%ANVIL_NEW%\\tree" "%ANVIL_TREE%"`,
      damaged,
      'rmdir /s /q "%ANVIL_NEW%"',
      ":run",
      `"%ANVIL_TREE%\\bin\\anvil-${role}.cmd" %*`,
      "exit /b %ERRORLEVEL%",
      ":other",
      `echo anvil-${role}: this file is for ${name}, not for %PROCESSOR_ARCHITECTURE% 1>&2`,
      "exit /b 1",
      ":nowhere",
      `echo anvil-${role}: nothing says where to unpack; next: set LOCALAPPDATA or ANVIL_UNPACKED 1>&2`,
      "exit /b 1",
      ":comma",
      `echo anvil-${role}: the cache's path holds a comma; next: set ANVIL_UNPACKED to another 1>&2`,
      "exit /b 1",
      ":unwritable",
      `echo anvil-${role}: could not make a folder in the cache; next: set ANVIL_UNPACKED to another 1>&2`,
      "exit /b 1",
      ":damaged",
      'rmdir /s /q "%ANVIL_NEW%"',
      `echo anvil-${role}: what was unpacked is not what was packed; next: fetch the file again 1>&2`,
      "exit /b 1",
    ].map((line) => `${line}\r\n`).join("");
  const length = new TextEncoder().encode(text("000000")).length;
  return text(`${length}`.padStart(6, "0"));
}
