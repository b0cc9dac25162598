/**
 * What a suite under tests/real needs from the machine, said once, in the suite itself:
 *
 *     // needs: nginx wrk
 *
 * (or `// needs: nothing`). `scripts/provision` installs what those lines name; a suite asks here
 * what is still missing and skips itself aloud:
 *
 *     const missing = missingFor(import.meta.url);
 *     Deno.test({ name: "...", ignore: missing.length > 0, fn() { ... } });
 *
 * @module
 */

/** Where programs are besides PATH: daemons, for users whose PATH has no sbin. */
const MORE_FOLDERS = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/** The commands of the `// needs:` line of a source; null when it has none. */
export function needsOf(source: string): readonly string[] | null {
  const line = /^\/\/ needs:(.*)$/m.exec(source)?.[1];
  if (line === undefined) return null;
  return line.split(/[\s,]+/).filter((word) => word !== "" && word !== "nothing");
}

/** The full path of a command, or null when the machine does not have it. */
export function commandPath(command: string): string | null {
  const windows = Deno.build.os === "windows";
  const path = Deno.env.get("PATH") ?? "";
  const folders = path.split(windows ? ";" : ":").filter((folder) => folder !== "");
  for (const folder of windows ? folders : [...folders, ...MORE_FOLDERS]) {
    for (const ending of windows ? [".exe", ".cmd", ""] : [""]) {
      const candidate = `${folder}/${command}${ending}`;
      if (isProgram(candidate, windows)) return candidate;
    }
  }
  return null;
}

function isProgram(path: string, windows: boolean): boolean {
  try {
    const facts = Deno.statSync(path);
    return facts.isFile && (windows || ((facts.mode ?? 0) & 0o111) !== 0);
  } catch {
    return false; // not there, or not ours to see: either way we cannot run it
  }
}

/** What the suite at `url` needs and the machine lacks; said aloud when that is anything. */
export function missingFor(url: string): readonly string[] {
  const needs = needsOf(Deno.readTextFileSync(new URL(url)));
  if (needs === null) throw new Error(`${url}: no "// needs:" line; write one, or "nothing"`);
  const missing = needs.filter((command) => commandPath(command) === null);
  if (missing.length > 0) {
    const name = url.split("/").at(-1);
    console.warn(`skipped: ${name} needs ${missing.join(", ")}: not found on this machine`);
  }
  return missing;
}
