/**
 * Programs that a host of the walk has in `/usr/local/sbin`, and the owner's own, as shell scripts.
 *
 * @module
 */

import type { Role } from "../../support/role_process.ts";

/** Asks the walk's supervisor; its answer decides how it exits. */
export function systemctlScript(socket: string, host: string): string {
  return "#!/bin/sh\n" +
    'said=$(printf "%s\\n" "$@" | curl -sS --max-time 25 --fail-with-body ' +
    `--unix-socket ${socket} --data-binary @- http://supervisor/${host} 2>&1) && ` +
    '{ printf "%s\\n" "$said"; exit 0; }\nprintf "%s\\n" "$said" >&2\nexit 1\n';
}

/** Runs what follows `--` in a session of its own. */
export const SYSTEMD_RUN =
  '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec setsid --wait "$@"\n';

/** There is no journal here; the last lines of a unit's log are what there is. */
export function journalctlScript(folder: string): string {
  return "#!/bin/sh\nfor word; do case $word in --unit=anvil-*) unit=${word#--unit=anvil-*-*-};; esac; " +
    `done\nexec tail -n 50 "${folder}/logs/\${unit%.service}.log"\n`;
}

/** An installed program of ours. */
export function roleScript(
  role: Role,
  folder: string,
  words: readonly string[],
  env: Readonly<Record<string, string>>,
): string {
  const quoted = (text: string) => `'${text}'`;
  const sets = Object.entries(env).map(([name, value]) => `export ${name}=${quoted(value)}`);
  return `#!/bin/sh\n# anvil-${role}\ncd ${quoted(folder)}\n${sets.join("\n")}\n` +
    `exec ${quoted(Deno.execPath())} ${words.map(quoted).join(" ")} "$@"\n`;
}

/** Looks at what runs: bad when it says so. Each look is written down. */
export function probeScript(folder: string): string {
  return "#!/bin/sh\n" +
    `digest=$(cat "${folder}/running.digest" 2>/dev/null || echo none)\n` +
    `if grep -q bad "${folder}/running" 2>/dev/null; then ok=1; else ok=0; fi\n` +
    "read -r up rest </proc/uptime\n" +
    `echo "$digest $ok $up" >>"${folder}/probes.log"\nexit $ok\n`;
}
