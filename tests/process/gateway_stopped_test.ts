/**
 * The gateway is gone: home, repository, the lot. Every node keeps serving, adopts, and is managed on
 * the node itself. The gateway comes back: its first look is true.
 *
 * @module
 */

import assert from "node:assert/strict";
import { fleetToml } from "../fixtures/node.ts";
import { adopterRig, adopterToml } from "../support/adopter_rig.ts";
import { TOKENS } from "../support/agent.ts";
import { openStream, OUTSIDE, seen } from "../support/change_host.ts";
import { type GatewayRig, PATIENCE_MS, withGateway } from "../support/gateway_rig.ts";
import { runRole } from "../support/role_process.ts";
import { TOKEN } from "../support/router_toml.ts";
import { ask, askBody, CHAT, StreamReader } from "../support/stream_reader.ts";

const HERE = ["--target", "host:gpu-a"];

/** What `fleet status --json` says of the host, as far as this test is concerned. */
interface Row {
  readonly outcome: string;
  readonly age_ms: number;
  readonly started_at: string;
  readonly adoption: { readonly known_good_rev: string | null; readonly freshness: string };
}

async function look({ operator }: GatewayRig): Promise<Row> {
  const told = await operator("fleet", "status", "--json");
  assert.equal(told.code, 0, told.stderr);
  return JSON.parse(told.stdout).data.fleet[0];
}

Deno.test("gateway stopped: the node serves, adopts, is managed locally; started: the view is true", async () => {
  await using publisher = await adopterRig();
  const { folder: adopter } = await publisher.host();
  await adopterFolder(adopter, publisher.url);
  await withGateway(async (rig) => {
    const { folder, gateway, host } = rig;
    const { ports } = host.place;
    await publisher.publish("one");
    await adoptAt(adopter);
    const before = await look(rig);
    assert.deepEqual([before.outcome, before.adoption.known_good_rev], ["done", "one"]);

    // A stream is open while it goes, and goes on.
    const stream = await openStream(ports, 60);
    await Deno.rename(gateway, `${gateway}.gone`);
    await assert.rejects(Deno.stat(rig.home), Deno.errors.NotFound);

    // It serves.
    assert.deepEqual(await seen(ports), OUTSIDE);
    assert.ok(await stream(), "a stream was cut when the gateway went");

    // It adopts: the publisher is another machine, and nobody asked for it.
    await publisher.publish("two");
    await adoptAt(adopter);

    // It is managed on the node: a topology of one, a token, and no home.
    const local = await localFiles(rig);
    const at = (...words: string[]) =>
      runRole("operator", folder, [...words, ...HERE, ...local], PATIENCE_MS);
    const health = await at("node", "health", "--json");
    assert.equal(health.code, 0, health.stderr);
    const file = `${folder}/router.toml`;
    const old = await Deno.readTextFile(file);
    const next = old.replace("[aliases]", '[aliases]\n"llm.second" = "primary"');
    await Deno.writeTextFile(`${folder}/router.next.toml`, next);
    const installed = await at("config", "install", "./router.next.toml", "--confirm");
    assert.equal(installed.code, 0, installed.stderr);
    assert.match(installed.stdout, /^router.toml on gpu-a: reached by 000001-install/m);
    assert.match(installed.stderr, /^no home is live: no receipt of this is kept$/m);
    assert.equal(await aliasAnswers(ports.data, "llm.second"), true);
    assert.deepEqual(await seen(ports), OUTSIDE);

    // The agent dies and comes back without it, and the router does not notice.
    rig.agent.kill("SIGKILL");
    await rig.agent.finished;
    assert.deepEqual(await seen(ports), OUTSIDE);
    await using again = await rig.startAgent();
    assert.equal((await at("node", "health")).code, 0, again.stderr);

    // Back: one look, and it is so.
    await Deno.rename(`${gateway}.gone`, gateway);
    const after = await look(rig);
    assert.deepEqual([after.outcome, after.adoption.known_good_rev], ["done", "two"]);
    assert.ok(after.age_ms < 60_000, `it looks ${after.age_ms} ms old`);
    assert.notEqual(after.started_at, before.started_at, "the agent that was, is told");
    const adopted = await rig.operator("home", "adopt", "router.toml", ...HERE, "--json");
    assert.equal(adopted.code, 0, adopted.stderr);
    const { patch } = JSON.parse(adopted.stdout).data;
    assert.match(patch, /^\+"llm\.second" = "primary"$/m, "what changed meanwhile is seen at once");
  }, adopter);
});

/** An adopter that a process may run, whose probe and gate are programs beside it. */
async function adopterFolder(folder: string, url: string): Promise<void> {
  const text = adopterToml(folder, url)
    .replace('units = ["thing.service"]', "units = []")
    .replaceAll(/argv = \["\/bin\/sh".*\]/g, `argv = ["${folder}/probe"]`);
  await Deno.writeTextFile(`${folder}/adopter.toml`, text);
  for (const program of ["probe", "gate"]) {
    await Deno.writeTextFile(`${folder}/${program}`, "#!/bin/sh\nexit 0\n", { mode: 0o755 });
  }
}

/** What its timer does. */
async function adoptAt(folder: string): Promise<void> {
  for (const verb of ["offer", "stage", "adopt"]) {
    const words = [verb, "--timer", "--config", "adopter.toml"];
    const done = await runRole(
      "adopter",
      folder,
      verb === "offer" ? words.toSpliced(1, 1) : words,
      PATIENCE_MS,
    );
    assert.equal(done.code, 0, `${verb}: ${done.stdout}${done.stderr}`);
  }
}

/** The files a person has on the node: its own transport and a token of theirs. */
async function localFiles({ folder, agent }: GatewayRig): Promise<readonly string[]> {
  const { port } = new URL(agent.url);
  await Deno.writeTextFile(`${folder}/here.toml`, fleetToml([["gpu-a", Number(port)]]));
  await Deno.writeTextFile(`${folder}/here.token`, TOKENS.all, { mode: 0o600 });
  return [
    ...["--topology", `${folder}/here.toml`, "--token-file", `${folder}/here.token`],
    ...["--home", `${folder}/no-home`],
  ];
}

async function aliasAnswers(port: number, model: string): Promise<boolean> {
  const body = askBody({ model, stream: true, max_tokens: 2 });
  const headers = { authorization: `Bearer ${TOKEN}` };
  const reader = await StreamReader.open(port, ask(CHAT, body, headers));
  const whole = await reader.readUntil("data: [DONE]\n\n");
  reader.close();
  return whole;
}
