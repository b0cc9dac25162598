/**
 * A repository, a home that is materialized from it, and an agent whose live files are compared with
 * it: what both arrows need, from the command line down to the disk.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Operation } from "../../lib/operation/operation.ts";
import { type TempDir, tempDir } from "../../lib/testing/temp_dir.ts";
import { makeRepo } from "../fixtures/git_repo.ts";
import { fleetToml } from "../fixtures/node.ts";
import { operator, type Said } from "../fixtures/operator_cli.ts";
import { type AgentRig, startAgentRig, TOKENS } from "./agent.ts";

/** The router's file as it was reviewed. */
export const ROUTER = `schema = 1\n\n[listen]\ndata = "127.0.0.1:8080"\n`;

/** The two arrows between one host and its home. */
export interface ArrowRig extends AsyncDisposable {
  readonly dir: TempDir;
  readonly repo: string;
  readonly home: string;
  readonly commit: string;
  readonly agent: AgentRig;
  /** The host's folder. */
  readonly live: string;
  readonly run: (...args: readonly string[]) => Promise<Said>;
  /** The same with `--json`: the data, or the first problem. */
  readonly told: (...args: readonly string[]) => Promise<Told>;
  readonly write: (name: string, text: string) => Promise<void>;
}

/** What `--json` told. */
export interface Told {
  readonly code: number;
  readonly data: Data;
  readonly problems: readonly Data[];
}

/** A JSON object of a test's interest. */
export type Data = { readonly [key: string]: unknown };

/** Materializes `files` beside a topology of one host, and starts its agent. */
export async function arrowRig(
  files: Readonly<Record<string, string>> = { "hosts/gpu-a/router.toml": ROUTER },
  { path = "", more = [], toml }: {
    readonly path?: string;
    readonly more?: readonly Operation[];
    readonly toml?: string;
  } = {},
): Promise<ArrowRig> {
  const dir = await tempDir();
  const live = dir.at("host");
  await Deno.mkdir(live);
  const settings = { roles: ["serving"], ...(toml === undefined ? {} : { toml }) };
  const agent = await startAgentRig(live, more, settings);
  const port = Number(new URL(agent.url).port);
  const repo = dir.at("repo");
  const below = path === "" ? "" : `${path}/`;
  const all = { "topology.toml": fleetToml([["gpu-a", port], ["gpu-b", 9]]), ...files };
  const commit = await makeRepo(
    repo,
    Object.fromEntries(Object.entries(all).map(([name, text]) => [`${below}${name}`, text])),
  );
  const home = dir.at("home");
  const run = (...args: readonly string[]) => operator(home, ...args);
  const made = await run(
    ...["home", "materialize", "--repo", repo, "--rev", commit],
    ...(path === "" ? [] : ["--path", path]),
  );
  assert.equal(made.code, 0, made.err);
  await Deno.mkdir(`${home}/tokens`, { mode: 0o700 });
  await Deno.writeTextFile(`${home}/tokens/gpu-a`, `${TOKENS.all}\n`, { mode: 0o600 });
  return {
    ...{ dir, repo, home, commit, agent, live, run },
    told: async (...args) => {
      const { code, out } = await run(...args, "--json");
      const { data, problems } = JSON.parse(out);
      return { code, data, problems };
    },
    write: (name, text) => Deno.writeTextFile(`${live}/${name}`, text),
    [Symbol.asyncDispose]: async () => {
      await agent[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}
