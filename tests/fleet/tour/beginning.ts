/**
 * The story from a description to a fleet that serves.
 *
 * @module
 */

import { bootstrapWords } from "../furnish.ts";
import { write } from "../owner.ts";
import { arrived, streamAnthropic, streamOpenai } from "./client.ts";
import type { Guide, Station } from "./guide.ts";

/** The stations. */
export const BEGINNING: readonly Station[] = [
  {
    title: "the fleet is described, in one file",
    proves: "every mistake is told before anything happens, and who may be promoted follows from " +
      "what a host is",
    async walk(guide) {
      await guide.operator(["topology", "validate", "topology.toml"]);
      const said = await guide.operator([
        ...["topology", "explain", "topology.toml", "--capability", "llm.primary"],
      ]);
      guide.expect(/laptop +the host is opportunistic/.test(said.out), "why not the laptop");
      guide.tell("the same with llm.primary promoted on the laptop:");
      const wrong = 'sed \'s/promoted = { host = "gpu-a"/promoted = { host = "laptop"/\' ' +
        "topology.toml >/root/plans/wrong.toml";
      await guide.fleet.text("gateway", ["sh", "-c", `mkdir -p /root/plans; ${wrong}`], {
        cwd: "/root/fleet",
      });
      const refused = await guide.operator(["topology", "validate", "plans/wrong.toml"], {
        ...{ cwd: "/root", code: 2 },
      });
      guide.expect(
        /promotion_ineligible/.test(`${refused.out}${refused.err}`),
        "promotion_ineligible",
      );
    },
  },
  {
    title: "a reviewed commit of it is made live",
    proves: "what is live is one commit, byte for byte, and never a working tree",
    async walk(guide) {
      await guide.operator(["home", "materialize", "--repo", ".", "--rev", "main"], {
        code: "any",
      });
      await guide.operator(["home", "status"]);
      await guide.operator(["home", "verify", "--all"]);
    },
  },
  {
    title: "a bare host gets its agent, by SSH and a forced command with five verbs",
    proves: "a plan is looked at first and binds what is done; the new agent answers as planned, " +
      "and every step is on a receipt",
    walk: bareHost,
  },
  {
    title: "all hosts at one look",
    proves: "every host has its own outcome, and says which build it runs",
    async walk(guide) {
      await guide.operator(["fleet", "status", "--require-all"]);
      await guide.operator(["fleet", "versions", "--require-all"]);
      await guide.operator(["serves", "list"]);
    },
  },
  {
    title: "chats are streamed through a router, by the libraries people use",
    proves:
      "the openai and the Anthropic library get whole streams, and the engine got the request " +
      "once",
    async walk(guide) {
      const { fleet } = guide;
      const id = `tour-${crypto.randomUUID().slice(0, 8)}`;
      guide.tell(
        `openai: chat.completions.create({ model: "llm.primary", stream: true }) at ${
          fleet.hosts["gpu-a"].router?.data
        }/v1`,
      );
      const one = await streamOpenai(fleet, "gpu-a", "llm.primary", { tokens: 12, id });
      guide.tell(`│ ${one.pieces} pieces: ${one.text}${one.error}`);
      guide.expect(one.whole && one.pieces === 12, "a whole stream of 12 pieces");
      const came = await arrived(fleet, "gpu-a", "primary", id);
      guide.expect(came === 1, `one request at the engine, there were ${came}`);
      guide.tell('@anthropic-ai/sdk: messages.stream({ model: "llm.candidate" }) at gpu-b');
      const two = await streamAnthropic(fleet, "gpu-b", "llm.candidate", 8);
      guide.tell(`│ ${two.pieces} pieces: ${two.text}${two.error}`);
      guide.expect(two.whole, "a whole stream");
    },
  },
];

/** The laptop is made bare again, and comes up once more. */
async function bareHost(guide: Guide): Promise<void> {
  const { fleet } = guide;
  const host = "laptop";
  const versions = await guide.asked(["fleet", "versions", "--target", `host:${host}`], {
    code: "any",
  });
  const row = versions["fleet"]?.[0] ?? versions["outcomes"]?.[0];
  const text = JSON.stringify(row ?? {});
  const catalogue = /"catalogue_digest":"([0-9a-f]{64})"|"catalogue":"([0-9a-f]{64})"/.exec(text);
  const digest = catalogue?.[1] ?? catalogue?.[2] ?? "";
  guide.expect(digest !== "", `a catalogue digest, the answer is ${text.slice(0, 300)}`);
  guide.tell("the laptop loses its agent, its store and its state: a bare host with an owner");
  await guide.hand(host, [
    ...[
      "sh",
      "-c",
      "systemctl --user stop anvil-agent anvil-router && chmod -R u+w " +
      "/opt/anvil/generations && rm -rf /opt/anvil/generations /opt/anvil/current " +
      "/opt/anvil/previous /var/lib/anvil/receiver/* /var/lib/anvil/adopter " +
      "/var/lib/anvil/agent/ledger* /var/lib/anvil/agent/audit*",
    ],
  ]);
  const words = bootstrapWords(fleet, host, digest);
  const plan = await guide.operator(["bootstrap", "plan", ...words], { cwd: "/root", lines: 2 });
  await write(fleet, "gateway", `/root/plans/${host}.json`, plan.out, "root", "0600");
  await guide.operator(
    ["bootstrap", "apply", ...words, "--plan", `plans/${host}.json`, "--confirm"],
    { cwd: "/root", lines: 14 },
  );
  await guide.hand(host, ["systemctl", "--user", "start", "anvil-router"]);
  await guide.operator(["node", "health", "--target", `host:${host}`]);
  guide.tell("its adopter is new as well, and is asked to prove what the bootstrap installed");
  const at = ["--target", `host:${host}`];
  await guide.operator(["op", "call", "candidates.stage", ...at], { lines: 3 });
  await guide.operator(["op", "call", "candidates.adopt", ...at, "--confirm"], { lines: 3 });
}
