/**
 * A serve is measured where it runs, and the document fetched to the gateway's home.
 *
 * @module
 */

import type { HostId } from "../rig.ts";
import type { Guide } from "./guide.ts";

/** Measures `serve` of `host`; the name of the evidence. */
export async function measure(guide: Guide, host: HostId, serve: string): Promise<string> {
  const at = ["--target", `host:${host}`];
  const said = await guide.operator([
    ...["benchmarks", "run", ...at, "--of", `serve:${serve}`, "--corpus", "refusal-bait"],
  ], { lines: 14 });
  const id = /--id (bench-\d+)/.exec(`${said.out}${said.err}`)?.[1] ?? "";
  guide.expect(id !== "", "the id of the benchmark");
  const fetched = await guide.operator(["evidence", "fetch", ...at, "--id", id], { lines: 4 });
  const name = /\bev-[0-9a-f]{4,64}/.exec(`${fetched.out}${fetched.err}`)?.[0] ?? "";
  guide.expect(name !== "", "the name of the evidence");
  return name;
}
