/**
 * The story of who may do what, what differs, and what was done.
 *
 * @module
 */

import { HOST_IDS } from "../rig.ts";
import type { Guide, Station } from "./guide.ts";
import { measure } from "./measure.ts";

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
      "five hosts are as the reviewed commit says; then one file and one key differ, are named, " +
      "and are mended by nobody but who edited them",
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
        ...["op", "call", "audit.tail", "--target", "host:gpu-b", "--input", '{"most":4}'],
      ], { lines: 6 });
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
  }, 60_000);
  const file = await fleet.exec(host, ["grep", "-c", old, "/var/lib/anvil/agent/clients.toml"]);
  guide.expect(file.out.trim() === "0", "no token in the node's file, only hashes");
}

async function drift(guide: Guide): Promise<void> {
  const host = "laptop";
  const at = ["--target", `host:${host}`];
  await guide.operator(["fleet", "drift"], { lines: 14 });
  const edit = "cp /etc/anvil/serves.toml /var/lib/anvil/kept && " +
    "sed -i 's/stop_grace_seconds = 10/stop_grace_seconds = 11/' /etc/anvil/serves.toml";
  await guide.hand(host, ["sh", "-c", edit]);
  try {
    await guide.operator(["fleet", "drift", ...at], { code: 1, lines: 14 });
    const { fleet } = await guide.asked(["fleet", "drift"], { code: 1 });
    const told = (fleet ?? []).flatMap((row) =>
      (row["items"] ?? []).flatMap((item) => {
        const [kind, name, state] = [item["kind"], item["name"], item["state"]].map(String);
        return state === "own" || state === "identical"
          ? []
          : [`${row["host"]}: ${kind} ${name} ${state} ${item["keys"]}`];
      })
    );
    const wanted = `${host}: file serves.toml differs serve[0].stop_grace_seconds`;
    guide.expect(
      told.length === 1 && told[0] === wanted,
      `of the whole fleet exactly "${wanted}", it says ${JSON.stringify(told)}`,
    );
  } finally {
    await guide.hand(host, [
      ...["sh", "-c", "cat /var/lib/anvil/kept >/etc/anvil/serves.toml && rm /var/lib/anvil/kept"],
    ]);
  }
  await guide.operator(["fleet", "drift"], { lines: 3 });
}

async function evidence(guide: Guide): Promise<void> {
  await measure(guide, "laptop", "local");
  const list = await guide.operator(["evidence", "list"], { lines: 6 });
  guide.expect(/opportunistic/.test(list.out), "the laptop's conditions beside its figures");
}
