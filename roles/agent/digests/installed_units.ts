/**
 * Digests of installed units, as systemd itself shows them: only it knows which file is the one, and
 * which drop-ins lie over it.
 *
 *     systemctl show ──> which files ──systemctl cat──> their text ──> a digest each
 *
 * launchd and the Windows task scheduler keep no file of a unit that they would show: unknown there.
 *
 * @module
 */

import type { Json } from "../../../lib/core/canonical_json.ts";
import { hex } from "../../../lib/core/ids.ts";
import type { RunProcess } from "../../../lib/core/process.ts";
import { sha256 } from "../../../lib/host/digest.ts";
import { tell } from "../../../lib/serves/os_facts.ts";

/** Units of this software: told of where they are installed, asked for or not. */
export const OUR_UNITS = [
  "anvil-agent.service",
  "anvil-router.service",
  "anvil-adopter-stage.service",
  "anvil-adopter-stage.timer",
  "anvil-adopter-activate.service",
  "anvil-adopter-activate.timer",
  "anvil-publisher.service",
  "anvil-publisher-build.service",
  "anvil-publisher-build.timer",
] as const;

const MOST_DROP_INS = 32;
/** A supervisor of a busy host is asked for each unit. */
const ASK_MS = 30_000;

/** One unit. */
export interface InstalledUnit {
  readonly [key: string]: Json;
  readonly unit: string;
  readonly state: "installed" | "absent" | "unknown";
  /** Of the unit's own text with one newline at its end; lower-case hex. */
  readonly sha256: string | null;
  readonly drop_ins: readonly { readonly name: string; readonly sha256: string }[];
  /** The file changed since the supervisor read it. */
  readonly reload_due: boolean | null;
  readonly active: string | null;
  /** Why it is unknown. */
  readonly code: string | null;
}

/** What is needed. */
export interface UnitPorts {
  readonly run: RunProcess;
  /** As `linux`. */
  readonly os: string;
  /** Of the system's manager, or of the user the agent runs as. */
  readonly scope: "--system" | "--user";
  readonly env: Readonly<Record<string, string>>;
}

const PROPERTIES = [
  ...["LoadState", "ActiveState", "FragmentPath", "DropInPaths", "NeedDaemonReload"],
];

/** Looks at `asked`, and at those of {@link OUR_UNITS} that are installed. */
export async function lookAtUnits(
  ports: UnitPorts,
  asked: readonly string[],
  signal: AbortSignal,
): Promise<readonly InstalledUnit[]> {
  const names = [...new Set([...asked, ...OUR_UNITS])];
  if (ports.os !== "linux") return asked.map((unit) => unknown(unit, "unit_untold"));
  const control = (...args: string[]) =>
    tell(
      ports.run,
      ["systemctl", ports.scope, "--no-pager", "--no-ask-password", ...args],
      signal,
      { env: { SYSTEMD_COLORS: "0", ...ports.env }, deadlineMs: ASK_MS },
    );
  const shown = await control(
    "show",
    ...PROPERTIES.map((one) => `--property=${one}`),
    "--",
    ...names,
  );
  if (shown.kind === "unknown") return asked.map((unit) => unknown(unit, shown.code));
  const blocks = shown.text.trim().split(/\n\n+/);
  if (shown.code !== 0 || blocks.length !== names.length) {
    return asked.map((unit) => unknown(unit, "supervisor_unreadable"));
  }
  const units: InstalledUnit[] = [];
  for (const [at, unit] of names.entries()) {
    const of = propertiesOf(blocks[at] ?? "");
    const load = of("LoadState");
    if (load === "not-found") {
      if (asked.includes(unit)) units.push({ ...unknown(unit, ""), state: "absent", code: null });
      continue;
    }
    const fragment = of("FragmentPath");
    const dropIns = of("DropInPaths").split(" ").filter((one) => one !== "");
    const about = {
      unit,
      reload_due: of("NeedDaemonReload") === "yes",
      active: of("ActiveState").slice(0, 32),
    };
    if (fragment === "" || dropIns.length > MOST_DROP_INS) {
      // Masked, or made by the manager itself.
      units.push({ ...unknown(unit, `unit_${load.replaceAll(/[^a-z]/g, "_")}`), ...about });
      continue;
    }
    const cat = await control("cat", "--", unit);
    const texts = cat.kind === "told" && cat.code === 0
      ? textsOf(cat.text, [fragment, ...dropIns])
      : null;
    const [own, ...over] = texts ?? [];
    units.push(
      own === undefined ? { ...unknown(unit, "unit_unreadable"), ...about } : {
        ...about,
        state: "installed",
        sha256: digestOf(own),
        drop_ins: over.map((text, index) => ({
          name: (dropIns[index] ?? "").split("/").at(-1) ?? "",
          sha256: digestOf(text),
        })),
        code: null,
      },
    );
  }
  return units;
}

function unknown(unit: string, code: string): InstalledUnit {
  return {
    ...{ unit, state: "unknown", sha256: null, drop_ins: [], reload_due: null, active: null, code },
  };
}

function propertiesOf(block: string): (name: string) => string {
  const found = new Map(
    block.split("\n").map((line) => {
      const at = line.indexOf("=");
      return [line.slice(0, at), line.slice(at + 1)] as const;
    }),
  );
  return (name) => found.get(name) ?? "";
}

/**
 * The texts of the files of a unit in `systemctl cat`, which puts `# PATH` above each; null when one
 * of them is not there. Comments of the same words inside a file are taken for text, since the paths
 * are looked for in their order.
 */
export function textsOf(cat: string, paths: readonly string[]): readonly string[] | null {
  const texts: string[] = [];
  let rest = cat.replaceAll("\r\n", "\n");
  const heading = (path: string) => `# ${path}\n`;
  const first = rest.indexOf(heading(paths[0] ?? ""));
  if (first < 0) return null;
  rest = rest.slice(first + heading(paths[0] ?? "").length);
  for (const path of paths.slice(1)) {
    const at = rest.indexOf(`\n${heading(path)}`);
    if (at < 0) return null;
    texts.push(rest.slice(0, at));
    rest = rest.slice(at + 1 + heading(path).length);
  }
  return [...texts, rest];
}

/** Of a unit's text: line ends and the newline at its end are nobody's drift. */
export function digestOf(text: string): string {
  return hex(sha256(`${text.replaceAll("\r\n", "\n").replace(/\n*$/, "")}\n`));
}
