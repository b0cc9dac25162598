/**
 * A folder with a topology of loopback nodes and a token store, and the operator in this process.
 *
 * @module
 */

import { type TempDir, tempDir } from "../../lib/testing/temp_dir.ts";
import { operator, type Said } from "../fixtures/operator_cli.ts";
import { fleetToml } from "../fixtures/node.ts";

/** A secret that must turn up nowhere. */
export const CANARY = `anvil_${"CANARY".repeat(7)}x`;

/** What a command on the rig's fleet is asked with. */
export interface DispatchRig extends AsyncDisposable {
  readonly folder: TempDir;
  /** Where the topology and the tokens are, as flags. */
  readonly flags: readonly string[];
  /** Runs one command with those flags. */
  readonly run: (...args: readonly string[]) => Promise<Said>;
  /** The same with `--json`, its data. */
  readonly data: (...args: readonly string[]) => Promise<Told>;
}

/** One outcome as JSON tells it. */
export interface ToldOutcome {
  readonly host: string;
  readonly outcome: string;
  readonly code: string | null;
  readonly not_sent: boolean;
  readonly known: boolean;
  readonly result: { readonly [key: string]: unknown } | null;
  readonly run: { readonly [key: string]: unknown } | null;
}

/** What `--json` told. */
export interface Told extends Said {
  readonly ok: boolean;
  readonly key: string | null;
  readonly outcomes: readonly ToldOutcome[];
  readonly without: readonly string[];
  readonly problems: readonly { readonly path: string; readonly code: string }[];
}

/** Writes the files. Each token is the canary unless `tokens` says otherwise; null leaves it out. */
export async function dispatchRig(
  hosts: readonly (readonly [id: string, port: number])[],
  tokens: Readonly<Record<string, string | null>> = {},
): Promise<DispatchRig> {
  const folder = await tempDir();
  await Deno.writeTextFile(folder.at("topology.toml"), fleetToml(hosts));
  await Deno.mkdir(folder.at("tokens"), { mode: 0o700 });
  for (const [host] of hosts) {
    const token = tokens[host] === undefined ? CANARY : tokens[host];
    if (token === null) continue;
    await Deno.writeTextFile(folder.at(`tokens/${host}`), `${token}\n`, { mode: 0o600 });
  }
  const flags = ["--topology", folder.at("topology.toml"), "--tokens", folder.at("tokens")];
  const run = (...args: readonly string[]) => operator(folder.at("home"), ...args, ...flags);
  return {
    folder,
    flags,
    run,
    data: async (...args) => {
      const said = await run(...args, "--json");
      return toldOf(said);
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

/** Reads an envelope. */
export function toldOf(said: Said): Told {
  const { ok, data, problems } = JSON.parse(said.out);
  return {
    ...said,
    ok,
    key: data?.key ?? null,
    outcomes: data?.outcomes ?? [],
    without: data?.without_outcome ?? [],
    problems,
  };
}
