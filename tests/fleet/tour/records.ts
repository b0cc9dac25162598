/**
 * The story of who may do what, what differs, and what was done.
 *
 * @module
 */

import { HOST_IDS } from "../rig.ts";
import type { Guide, Station } from "./guide.ts";

/** The stations. */
export const RECORDS: readonly Station[] = [
  {
    title: "a token is rotated from afar",
    proves:
      "a new token is made, proven and in use; the node has its hash alone, and the old one ends",
    walk: tokens,
  },
  {
    title: "somebody edits a file on a host",
    proves:
      "what differs from the reviewed commit is named, and nothing is mended behind anybody's " +
      "back",
    walk: drift,
  },
  {
    title: "a measurement becomes evidence",
    proves: "a run leaves a document that says what was measured, where and under which conditions",
    walk: evidence,
  },
  {
    title: "what was done is on record",
    proves: "each host's audit is one unbroken chain of who asked for what, and how it ended",
    async walk(guide) {
      for (const host of HOST_IDS) {
        const file = "/var/lib/anvil/agent/audit.jsonl";
        await guide.hand(host, ["anvil-agent", "audit", "verify", file], {
          ...{ cwd: "/var/lib/anvil", lines: 2 },
        });
      }
      await guide.operator([
        ...["op", "call", "audit.tail", "--target", "host:gpu-b", "--input", '{"limit":4}'],
      ], { code: "any", lines: 6 });
    },
  },
];

async function tokens(guide: Guide): Promise<void> {
  const { fleet } = guide;
  const host = "gpu-b";
  const at = ["--target", `host:${host}`];
  const old = (await Deno.readTextFile(fleet.hosts[host].tokens.operator)).trim();
  await guide.operator(["tokens", "rotate", ...at, "--dry-run"], { lines: 4 });
  await guide.operator(["tokens", "rotate", ...at, "--overlap", "1"], { lines: 4 });
  await guide.operator(["tokens", "list", ...at]);
  const now = await fleet.text("gateway", ["cat", `/root/.anvil/tokens/${host}`]);
  guide.expect(now.trim() !== old, "another token in the store");
  await Deno.writeTextFile(fleet.hosts[host].tokens.operator, `${now.trim()}\n`, { mode: 0o600 });
  await guide.until("the old one is no longer known", async () => {
    const answer = await fetch(`${fleet.hosts[host].agent}/health`, {
      headers: { "authorization": `Bearer ${old}`, "x-anvil-node": host },
    });
    await answer.body?.cancel();
    return answer.status === 401;
  }, 20_000);
  const file = await fleet.exec(host, ["grep", "-c", old, "/var/lib/anvil/agent/clients.toml"]);
  guide.expect(file.out.trim() === "0", "no token in the node's file, only hashes");
}

async function drift(guide: Guide): Promise<void> {
  const host = "laptop";
  const at = ["--target", `host:${host}`];
  await guide.operator(["fleet", "drift", ...at], { code: "any", lines: 14 });
  const edit = "cp /etc/anvil/serves.toml /var/lib/anvil/kept && " +
    "sed -i 's/stop_grace_seconds = 10/stop_grace_seconds = 11/' /etc/anvil/serves.toml";
  await guide.hand(host, ["sh", "-c", edit]);
  try {
    const seen = await guide.operator(["fleet", "drift", ...at], { code: 1, lines: 14 });
    guide.expect(/serves\.toml/.test(seen.out), "serves.toml named");
  } finally {
    await guide.hand(host, ["sh", "-c", "cp /var/lib/anvil/kept /etc/anvil/serves.toml"]);
  }
}

async function evidence(guide: Guide): Promise<void> {
  const at = ["--target", "host:laptop"];
  const said = await guide.operator([
    ...["benchmarks", "run", ...at, "--of", "serve:local", "--corpus", "refusal-bait"],
  ], { lines: 14 });
  const id = /--id (bench-\d+)/.exec(`${said.out}${said.err}`)?.[1] ?? "";
  guide.expect(id !== "", "the id of the benchmark");
  await guide.operator(["evidence", "fetch", ...at, "--id", id], { lines: 4 });
  const list = await guide.operator(["evidence", "list"], { lines: 6 });
  guide.expect(/opportunistic/.test(list.out), "the laptop's conditions beside its figures");
}
