/**
 * The story of what may change while it serves, and how loudly it says when something is not as it
 * should be.
 *
 * @module
 */

import { routerToml, SPECS } from "../description.ts";
import { write } from "../owner.ts";
import { keepFile, REPOSITORY } from "../reviewed.ts";
import { arrived, streamOpenai } from "./client.ts";
import type { Guide, Station } from "./guide.ts";
import { measure } from "./measure.ts";

/** The stations. */
export const CHANGES: readonly Station[] = [
  {
    title: "an engine answers healthily, and serves another model",
    proves:
      "a request never reaches a model that nobody asked for, and each perspective says what " +
      "it sees",
    walk: impostor,
  },
  {
    title: "who serves a capability?",
    proves: "one question has one answer with its reasons, from the agent, the router and a probe",
    async walk(guide) {
      await guide.operator(["capability", "llm.primary"]);
      await guide.operator(["capability"], { code: "any" });
    },
  },
  {
    title: "an exclusive mode is entered and left",
    proves: "a mode is one change: planned, confirmed, each step proven, and taken back whole",
    walk: mode,
  },
  {
    title: "an alias gets another model",
    proves:
      "a promotion names a measurement, is bound to the plan that was looked at, changes what " +
      "clients get in one step, and a laptop is never promoted to",
    walk: promotion,
  },
  {
    title: "a tier is closed and opened again, under a stream",
    proves: "a quiesced tier refuses what is new, a stream in flight goes on to its end",
    walk: quiesce,
  },
  {
    title: "the lid of the laptop is closed",
    proves: "a host that does not answer keeps its row and its age, and costs the others nothing",
    async walk(guide) {
      await guide.fleet.pause("laptop");
      try {
        const said = await guide.operator(["fleet", "status"], { lines: 12 });
        guide.expect(/^laptop +(?!done)\S+/m.test(said.out), "a laptop that is not done");
        guide.expect(/^gpu-a +done/m.test(said.out), "the others done");
      } finally {
        await guide.fleet.unpause("laptop");
      }
      await guide.operator(["node", "health", "--target", "host:laptop"], { lines: 2 });
    },
  },
];

async function impostor(guide: Guide): Promise<void> {
  const { fleet } = guide;
  const model = fleet.hosts["voice-a"].engines[0]?.model ?? "";
  const wrong = "example-org/something-else";
  guide.tell(`the engine behind llm.experiment on the laptop now says it serves ${wrong}`);
  await fleet.engine("laptop", "local", { models: [wrong] });
  const right = fleet.hosts["laptop"].engines[0]?.model ?? model;
  try {
    await guide.until("the router refuses", async () => {
      const asked = await streamOpenai(fleet, "laptop", "llm.experiment", { tokens: 2 });
      return /503/.test(asked.error);
    }, 120_000);
    const id = `tour-${crypto.randomUUID().slice(0, 8)}`;
    const asked = await streamOpenai(fleet, "laptop", "llm.experiment", { tokens: 2, id });
    guide.tell(`│ the client gets: ${asked.error.slice(0, 140)}`);
    const came = await arrived(fleet, "laptop", "local", id);
    guide.expect(came === 0, `nothing at the engine, ${came} came`);
    const said = await guide.operator(["capability", "llm.experiment"], { code: "any" });
    guide.expect(/wrong/.test(said.out), "the word wrong");
  } finally {
    await fleet.engine("laptop", "local", { models: [right] });
  }
  await guide.until("it serves again", async () => {
    const asked = await streamOpenai(fleet, "laptop", "llm.experiment", { tokens: 2 });
    return asked.whole;
  }, 120_000);
}

async function mode(guide: Guide): Promise<void> {
  const { fleet } = guide;
  const at = ["--target", "host:gpu-b"];
  await guide.operator(["mode", "preview", "studio", ...at], { lines: 14 });
  await guide.operator(["mode", "enter", "studio", ...at, "--confirm"], { lines: 3 });
  await guide.operator(["mode", "status", ...at], { lines: 14 });
  const inside = await streamOpenai(fleet, "gpu-b", "llm.studio", { tokens: 3 });
  guide.expect(inside.whole, `llm.studio to be served: ${inside.error}`);
  const gone = await streamOpenai(fleet, "gpu-b", "llm.candidate", { tokens: 3 });
  guide.tell(`│ llm.candidate meanwhile: ${gone.error.slice(0, 120)}`);
  guide.expect(gone.error !== "", "llm.candidate refused");
  await guide.operator(["mode", "leave", "studio", ...at, "--confirm"], { lines: 3 });
  const back = await streamOpenai(fleet, "gpu-b", "llm.candidate", { tokens: 3 });
  guide.expect(back.whole, `llm.candidate to be served again: ${back.error}`);
}

async function promotion(guide: Guide): Promise<void> {
  const { fleet } = guide;
  const subnet = fleet.hosts["gpu-a"].address.replace(/\.\d+$/, "");
  const served = async () => {
    const status = await guide.asked([
      ...["op", "call", "router.status", "--target", "host:gpu-a"],
    ], { lines: 0 });
    return /"expected":"([^"]+)"/.exec(JSON.stringify(status))?.[1] ?? "";
  };
  const before = await served();
  const toNext = before.endsWith("70b");
  const wanted = toNext ? "next" : "primary";
  await guide.operator(["serves", "up", wanted, "--target", "host:gpu-a"], { lines: 2 });
  const evidence = await measure(guide, "gpu-a", wanted);
  guide.tell("router.toml of gpu-a names the other engine, and is reviewed as anything else");
  await keepFile(fleet, "gpu-a", "router.toml", routerToml(subnet, SPECS["gpu-a"], wanted));
  const commit = `git diff --quiet || git commit -qam 'llm.primary by ${wanted}'`;
  await guide.hand("gateway", ["sh", "-c", commit], { cwd: REPOSITORY });
  await guide.operator(["home", "materialize", "--repo", ".", "--rev", "main"], {
    ...{ code: "any", lines: 3 },
  });
  const config = ["--config", "fleet/hosts/gpu-a/router.toml"];
  const words = ["llm.primary", ...config, "--evidence", evidence];
  const cwd = "/root";
  const plan = await guide.operator(["promote", "plan", ...words, "--target", "host:gpu-a"], {
    ...{ cwd, lines: 20 },
  });
  const digest = /^digest +([0-9a-f]{64})$/m.exec(plan.out)?.[1] ?? "";
  guide.expect(digest !== "", "a digest in the plan");
  await guide.operator([
    ...["promote", "apply", ...words, "--plan", digest, "--target", "host:gpu-a", "--confirm"],
  ], { cwd, lines: 3 });
  const after = await served();
  guide.tell(`│ behind llm.primary: ${before} -> ${after}`);
  guide.expect(after !== before, "another model behind the alias");
  const asked = await streamOpenai(fleet, "gpu-a", "llm.primary", { tokens: 4 });
  guide.expect(asked.whole, `it to be served: ${asked.error}`);
  const laptop = routerToml(subnet, SPECS.laptop);
  await write(fleet, "gateway", "/root/plans/router.laptop.toml", laptop);
  const refused = await guide.operator([
    ...["promote", "plan", "llm.experiment", "--config", "plans/router.laptop.toml"],
    ...["--evidence", evidence, "--target", "host:laptop"],
  ], { cwd, code: 1, lines: 3 });
  guide.expect(/promotion_ineligible/.test(`${refused.out}${refused.err}`), "promotion_ineligible");
}

async function quiesce(guide: Guide): Promise<void> {
  const { fleet } = guide;
  const move = (action: string) =>
    guide.operator([
      ...["op", "call", "router.transition", "--target", "host:gpu-a"],
      ...["--input", JSON.stringify({ tier: "primary", action })],
    ], { lines: 3 });
  guide.tell("a stream of some seconds begins");
  // Longer than three calls of the operator take on a busy machine.
  const stream = streamOpenai(fleet, "gpu-a", "llm.primary", { tokens: 800 });
  await new Promise((resolve) => setTimeout(resolve, 1000));
  await move("quiesce");
  try {
    const fresh = await streamOpenai(fleet, "gpu-a", "llm.primary", { tokens: 3 });
    guide.tell(`│ a new request gets: ${fresh.error.slice(0, 120)}`);
    guide.expect(/503/.test(fresh.error), "a new request refused with 503");
    const whole = await stream;
    guide.tell(`│ the stream: ${whole.pieces} pieces ${whole.error}`);
    guide.expect(whole.whole && whole.pieces === 800, "the stream whole");
  } finally {
    await move("readmit");
  }
  await guide.until(
    "it is open again",
    async () => (await streamOpenai(fleet, "gpu-a", "llm.primary", { tokens: 3 })).whole,
    60_000,
  );
}
