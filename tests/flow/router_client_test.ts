import assert from "node:assert/strict";
import { systemClock } from "../../lib/host/clock.ts";
import { tcpDial } from "../../lib/host/dial.ts";
import { systemFiles } from "../../lib/host/files.ts";
import { http1Upstream } from "../../lib/relay/http1.ts";
import { type RouterClient, routerClient } from "../../lib/serves/machines/router_client.ts";
import { type TempDir, tempDir } from "../../lib/testing/temp_dir.ts";
import { startEngine } from "../fixtures/engine.ts";
import { freePort } from "../support/free_port.ts";
import { ADMIN, Rig } from "../support/router_rig.ts";
import { OBSERVER } from "../support/router_toml.ts";
import { ask, askBody, CHAT, StreamReader } from "../support/stream_reader.ts";

const signal = new AbortController().signal;

async function withClient(
  port: number,
  token: string,
  dir: TempDir,
  run: (client: RouterClient) => Promise<void>,
): Promise<void> {
  const tokenFile = dir.at(`token-${port}`);
  await Deno.writeTextFile(tokenFile, `${token}\n`, { mode: 0o600 });
  const upstream = http1Upstream(tcpDial, systemClock);
  const admin = { hostname: "127.0.0.1", port };
  await run(routerClient({ upstream, files: systemFiles, clock: systemClock, admin, tokenFile }));
  upstream.close();
}

Deno.test("router client: quiesce, a drain that times out with the count, and readmit", async () => {
  await using dir = await tempDir();
  const engine = await startEngine({ rate: 20 });
  await using rig = await Rig.start({ members: [engine.port] });
  await withClient(rig.adminPort, ADMIN, dir, async (client) => {
    const body = askBody({ stream: true, max_tokens: 60 });
    using stream = await StreamReader.open(rig.port, ask(CHAT, body));
    await stream.readUntil("Anvil token 1");
    const look = { tier: "primary", action: "quiesce" as const };
    const dry = await client.transition({ ...look, dryRun: true }, signal);
    assert.ok(dry.kind === "observed");
    assert.deepEqual([dry.intent, dry.inFlight, dry.persisted], ["admit", 1, false]);
    const quiesced = await client.transition(look, signal);
    assert.ok(quiesced.kind === "observed" && quiesced.intent === "quiesce");
    const late = await client.transition(
      { tier: "primary", action: "drain", seconds: 0 },
      signal,
    );
    assert.ok(late.kind === "refused");
    assert.deepEqual([late.code, late.changed], ["drain_timeout", true]);
    assert.match(late.detail, /^1 requests/);
    stream.close();
    const drained = await client.transition(
      { tier: "primary", action: "drain", seconds: 10 },
      signal,
    );
    assert.ok(drained.kind === "observed" && drained.drained);
    engine.setModel("org/impostor");
    const refused = await client.transition({ tier: "primary", action: "readmit" }, signal);
    assert.ok(refused.kind === "refused");
    assert.deepEqual([refused.code, refused.changed], ["readmit_refused", false]);
    engine.setModel("org/model");
    const back = await client.transition({ tier: "primary", action: "readmit" }, signal);
    assert.ok(back.kind === "observed" && back.intent === "admit");
    const unknown = await client.transition({ tier: "nothing", action: "quiesce" }, signal);
    assert.ok(unknown.kind === "refused" && unknown.code === "tier_unknown");
  });
  await engine.close();
});

Deno.test("router client: what it may not do, and who does not answer", async () => {
  await using dir = await tempDir();
  const engine = await startEngine();
  await using rig = await Rig.start({ members: [engine.port] });
  await withClient(rig.adminPort, OBSERVER, dir, async (client) => {
    const report = await client.status(signal);
    assert.ok(report.kind === "report");
    assert.deepEqual(report.tiers.map(({ tier, intent }) => [tier, intent]), [
      ["primary", "admit"],
    ]);
    const no = await client.transition({ tier: "primary", action: "quiesce" }, signal);
    assert.ok(no.kind === "refused" && no.code === "router_refused" && !no.changed);
    assert.match(no.nextStep ?? "", /scope `admin`/);
  });
  await withClient(freePort(), ADMIN, dir, async (client) => {
    const no = await client.transition({ tier: "primary", action: "quiesce" }, signal);
    assert.ok(no.kind === "refused");
    assert.deepEqual([no.code, no.changed], ["router_unreachable", false]);
  });
  // Somebody who takes the request and never answers: nobody knows what came of it.
  using silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const took = (async () => {
    using connection = await silent.accept();
    await connection.read(new Uint8Array(1024));
  })();
  await withClient(silent.addr.port, ADMIN, dir, async (client) => {
    const no = await client.transition({ tier: "primary", action: "quiesce" }, signal);
    assert.ok(no.kind === "refused");
    assert.deepEqual([no.code, no.changed], ["router_unreachable", true]);
  });
  await took;
  await engine.close();
});
