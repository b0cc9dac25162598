/**
 * The programs a person starts: a few lines of sh or cmd around the runtime, with the permissions of
 * the role's task.
 *
 * Started from the root folder, where a system service begins, `$HERE` is not granted: everything
 * would be below it. A folder with a comma in its name is refused: the runtime reads two paths there.
 *
 * @module
 */

import type { RoleTask, System } from "./role_tasks.ts";

/** What acts on the runtime, or on where its connections go, from the environment. */
const CLEARED = [
  ...["NODE_OPTIONS", "NODE_EXTRA_CA_CERTS", "NODE_TLS_REJECT_UNAUTHORIZED", "SSLKEYLOGFILE"],
  ...["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"],
  ...["http_proxy", "https_proxy", "all_proxy", "no_proxy"],
];

/** The runtime's own that a cmd clears by name. */
const CLEARED_DENO = [
  ...["DENO_DIR", "DENO_SERVE_ADDRESS", "DENO_SERVE_AUTOMATIC_COMPRESSION", "DENO_V8_FLAGS"],
  ...["DENO_CERT", "DENO_TLS_CA_STORE", "DENO_AUTH_TOKENS", "DENO_CONDITIONS"],
];

/** Of these, what the role does not say that it reads. */
function clearedFor({ permissions }: RoleTask, system: System): readonly string[] {
  const read = permissions[system].flatMap((word) =>
    word.startsWith("--allow-env=") ? word.slice("--allow-env=".length).split(",") : []
  );
  return CLEARED.filter((name) => !read.includes(name));
}

/** Whatever a role does: nothing is asked, fetched, looked up or taken from a cache. */
const ALWAYS = [
  "--no-prompt",
  "--no-config",
  "--no-lock",
  "--no-remote",
  "--no-npm",
  "--cached-only",
  "--no-code-cache",
  "--quiet",
];

/** The flags of a role, `$HERE` and `$HOME` in them. */
export function flagsOf(
  { permissions }: RoleTask,
  unstable: readonly string[],
  system: System,
): readonly string[] {
  return [...ALWAYS, ...unstable.map((name) => `--unstable-${name}`), ...permissions[system]];
}

/** `bin/anvil-<role>` for Linux and macOS, found through links as well. */
export function shLauncher(
  task: RoleTask,
  unstable: readonly string[],
  system: System,
): string {
  const flags = flagsOf(task, unstable, system)
    .map((flag) => `"${flag.replaceAll("$HERE", "$here").replaceAll("$HOME", "$home")}"`);
  return `#!/bin/sh
# anvil-${task.role}: the runtime beside this file, with the permissions of this role and no others.
set -eu
self=$0
while [ -L "$self" ]; do
  link=$(readlink "$self")
  case $link in /*) self=$link ;; *) self=$(dirname -- "$self")/$link ;; esac
done
root=$(CDPATH='' cd -- "$(dirname -- "$self")/.." && pwd -P)
here=$(pwd -P)
[ "$here" != / ] || here=/var/lib/anvil
home=\${HOME:-/var/lib/anvil}
export HOME="$home" # an account that systemd makes up has none, and the runtime wants one
case $here$home in *,*)
  echo "anvil-${task.role}: a folder with a comma in its name cannot be granted: start it elsewhere" >&2
  exit 2
  ;;
esac
for name in $(env | sed -n 's/^\\(DENO_[A-Za-z0-9_]*\\)=.*/\\1/p'); do unset "$name"; done
unset ${clearedFor(task, system).join(" ")} || true
exec "$root/runtime/deno" run \\
${flags.map((flag) => `  ${flag} \\`).join("\n")}
  "$root/lib/anvil-${task.role}.js" "$@"
`;
}

/** `bin\\anvil-<role>.cmd` for Windows. */
export function cmdLauncher(task: RoleTask, unstable: readonly string[]): string {
  const flags = flagsOf(task, unstable, "windows")
    .map((flag) => `"${flag.replaceAll("$HERE", "%HERE%").replaceAll("$HOME", "%USERPROFILE%")}"`);
  const lines = [
    "@echo off",
    `rem anvil-${task.role}: the runtime beside this file, with the permissions of this role and no others.`,
    "setlocal DisableDelayedExpansion",
    'set "HERE=%CD%"',
    'if "%HERE:~3%"=="" set "HERE=%ProgramData%\\anvil"',
    'if not "%HERE:,=%"=="%HERE%" (',
    `  echo anvil-${task.role}: a folder with a comma in its name cannot be granted: start it elsewhere 1>&2`,
    "  exit /b 2",
    ")",
    `for /f "delims==" %%v in ('set DENO_ 2^>nul') do set "%%v="`,
    // By name as well: those that act on this runtime, whatever becomes of the line above.
    ...CLEARED_DENO.map((name) => `set "${name}="`),
    ...clearedFor(task, "windows").filter((name) => name === name.toUpperCase()).map((name) =>
      `set "${name}="`
    ),
    `"%~dp0..\\runtime\\deno.exe" run ${flags.join(" ")} "%~dp0..\\lib\\anvil-${task.role}.js" %*`,
    "exit /b %ERRORLEVEL%",
  ];
  return lines.map((line) => `${line}\r\n`).join("");
}

/**
 * `launch/anvil`: the one program outside of generations. `anvil ROLE …` starts the role of the
 * generation that `current` names.
 */
export const STABLE_LAUNCHER = `#!/bin/sh
# anvil ROLE [ARGUMENTS]: starts a role of the current generation. Lies in the store's root, beside
# \`current\` and \`generations\`, is put there once and never replaced by an update.
set -eu
self=$0
while [ -L "$self" ]; do
  link=$(readlink "$self")
  case $link in /*) self=$link ;; *) self=$(dirname -- "$self")/$link ;; esac
done
root=$(CDPATH='' cd -- "$(dirname -- "$self")" && pwd -P)
fail() {
  echo "anvil: $1" >&2
  exit 1
}
role=\${1:-}
case $role in '' | *[!a-z-]*)
  echo "usage: anvil ROLE [ARGUMENTS]" >&2
  exit 2
  ;;
esac
shift
digest=
[ ! -r "$root/current" ] || read -r digest <"$root/current" || true
case $digest in '' | *[!0-9a-f]*) fail "\\\`current\\\` names no generation; next: install one" ;; esac
program=$root/generations/$digest/bin/anvil-$role
[ -x "$program" ] || fail "the current generation has no anvil-$role"
exec "$program" "$@"
`;

/** `launch\\anvil.cmd`: the same for Windows. Whatever stands behind the role goes on as it is. */
export const STABLE_CMD_LAUNCHER = [
  "@echo off",
  "rem anvil ROLE [ARGUMENTS]: starts a role of the current generation. Lies in the store's root, beside",
  "rem `current` and `generations`, is put there once and never replaced by an update.",
  "setlocal DisableDelayedExpansion",
  "set ROLE=",
  "set REST=",
  'for /f "tokens=1,*" %%a in ("%*") do (',
  '  set "ROLE=%%a"',
  '  set "REST=%%b"',
  ")",
  "if not defined ROLE goto usage",
  'for /f "delims=abcdefghijklmnopqrstuvwxyz-" %%c in ("%ROLE%") do goto usage',
  "set DIGEST=",
  'if exist "%~dp0current" for /f "usebackq delims=" %%d in ("%~dp0current") do set "DIGEST=%%d"',
  "if not defined DIGEST goto none",
  'for /f "delims=0123456789abcdef" %%c in ("%DIGEST%") do goto none',
  'if not exist "%~dp0generations\\%DIGEST%\\bin\\anvil-%ROLE%.cmd" goto absent',
  '"%~dp0generations\\%DIGEST%\\bin\\anvil-%ROLE%.cmd" %REST%',
  "exit /b %ERRORLEVEL%",
  ":usage",
  "echo usage: anvil ROLE [ARGUMENTS] 1>&2",
  "exit /b 2",
  ":none",
  "echo anvil: `current` names no generation; next: install one 1>&2",
  "exit /b 1",
  ":absent",
  "echo anvil: the current generation has no anvil-%ROLE% 1>&2",
  "exit /b 1",
].map((line) => `${line}\r\n`).join("");
