/**
 * An adopter of sh for an agent to ask: says what a test wrote down, and keeps what it was asked.
 *
 * @module
 */

import type { TempDir } from "../../lib/testing/temp_dir.ts";

/** A status as the adopter prints it, and more than an agent knows. */
export const ADOPTER_STATUS = {
  ...{ schema: 1, host: "gpu-a", backend: "bundle", channel: "rolling", policy: "rolling" },
  ...{ reboot_policy: "notify", state: "known-good", current: "sha256:aa", current_rev: "one" },
  ...{ booted: null, offered: null, offer_expires_at: null, staged: null, pending_boot: null },
  proven: { path: "sha256:aa", rev: "one", sequence: 1, at: "2026-01-01T00:00:00.000Z" },
  ...{ attempt: null, last: null, waiting_since: null, blocked_by: [], rejected: [] },
  ...{ paused: null, manual_recovery: null, running_withdrawn: false, contact: null },
  ...{ next_attempt: null, stale_after_seconds: 60, updated_at: "2026-01-01T00:00:00.000Z" },
  ...{ freshness: "fresh", why: "what runs is the newest there is", ages_seconds: { proven: 7 } },
  ...{ failures: [], unreadable: [], something_newer: { a: 1 } },
};

/** What it prints with `--json`; a text of its own stands in for a path. */
export function adopterSays(data: unknown, code = "x", ok = true): string {
  const problems = ok ? [] : [{ path: "$", code, message: "at /secret" }];
  return JSON.stringify({ ok, data, problems });
}

/** How a test steers it. */
export interface FakeAdopter {
  /** `[adopter]` for an agent.toml, and no drain. */
  readonly toml: (outside?: readonly string[]) => string;
  /** What a verb prints and exits with from now on. */
  readonly says: (verb: string, exit: number, out: string) => Promise<void>;
  /** What it was asked since the last look: `USER|ARG|ARG`. */
  readonly asked: () => Promise<string[]>;
}

/** Puts one into a folder. `VERB.hold` keeps a verb waiting, `VERB.then` is run before it ends. */
export async function fakeAdopter(dir: TempDir): Promise<FakeAdopter> {
  const script = `#!/bin/sh
cd ${dir.path}
printf '%s' "$USER" >>asked; for one in "$@"; do printf '|%s' "$one" >>asked; done; echo >>asked
while [ -e "$1.hold" ]; do sleep 0.05; done
[ ! -e "$1.then" ] || sh "$1.then"
cat "$1.out"
exit "$(cat "$1.exit")"
`;
  await Deno.writeTextFile(dir.at("adopter"), script, { mode: 0o755 });
  const says = async (verb: string, exit: number, out: string) => {
    await Deno.writeTextFile(dir.at(`${verb}.out`), out);
    await Deno.writeTextFile(dir.at(`${verb}.exit`), String(exit));
  };
  await says("status", 0, adopterSays(ADOPTER_STATUS));
  await says("plan", 0, adopterSays({ code: "would_adopt", detail: "", gates: [] }));
  return {
    says,
    toml: (outside = []) =>
      `[adopter]\nconfig = "/etc/anvil/adopter.toml"\n` +
      `program = ${JSON.stringify([dir.at("adopter")])}\noutside = ${JSON.stringify(outside)}\n` +
      `[limits]\ndrain_seconds = 0\n`,
    asked: async () => {
      const text = await Deno.readTextFile(dir.at("asked")).catch(() => "");
      await Deno.writeTextFile(dir.at("asked"), "");
      return text.trimEnd().split("\n");
    },
  };
}
