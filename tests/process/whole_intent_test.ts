import assert from "node:assert/strict";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { startEngine } from "../fixtures/engine.ts";
import { scopedClients, transition } from "../support/router_rig.ts";
import { furnish, RouterProcess } from "../support/router_process.ts";
import { MODEL } from "../support/router_toml.ts";
import { pause, within } from "../support/wait.ts";

const quiesce = { tier: "primary", action: "quiesce" };
const readmit = { tier: "primary", action: "readmit" };

async function withFolder(run: (folder: string, setModel: (id: string) => void) => Promise<void>) {
  const engine = await startEngine();
  await using dir = await tempDir();
  try {
    await furnish(dir.path, { members: [engine.port] });
    await Deno.writeTextFile(`${dir.path}/clients.toml`, scopedClients(), { mode: 0o600 });
    await within("the test", run(dir.path, (id) => engine.setModel(id)), 90_000);
  } finally {
    await engine.close();
  }
}

async function intentAt(router: RouterProcess): Promise<unknown> {
  const { tiers } = await router.status() as unknown as { tiers: { intent: string }[] };
  return tiers[0]?.intent;
}

Deno.test("quiesce, kill -9, restart: still quiesced; a wrong model is not readmitted, nor is intent lost", async () => {
  await withFolder(async (folder, setModel) => {
    {
      await using router = await RouterProcess.start(folder);
      const { status, body } = await transition(router.adminPort, quiesce);
      router.kill("SIGKILL"); // right after the answer
      assert.deepEqual([status, body.persisted], [200, true]);
      await router.finished;
    }
    setModel("org/impostor");
    {
      await using router = await RouterProcess.start(folder, { waitReady: false });
      assert.equal(await intentAt(router), "quiesce");
      const refused = await transition(router.adminPort, readmit);
      assert.deepEqual([refused.status, refused.code], [409, "readmit_refused"]);
      assert.match(refused.body.error?.message ?? "", /org\/model.*org\/impostor/);
      console.log(`  readmit: ${refused.status} ${refused.body.error?.message}`);
      setModel(MODEL);
      assert.equal((await transition(router.adminPort, readmit)).status, 200);
      router.kill("SIGKILL");
      await router.finished;
    }
    await using router = await RouterProcess.start(folder);
    assert.equal(await intentAt(router), "admit");
  });
});

Deno.test("kill -9 in a burst of transitions: the file is always the old one or the new one", async () => {
  await withFolder(async (folder) => {
    const path = `${folder}/state/intent.json`;
    for (let round = 0; round < 5; round++) {
      await using router = await RouterProcess.start(folder, { waitReady: false });
      let answered: string | null = null;
      let asked: string | null = null;
      const burst = (async () => {
        for (let turn = 0;; turn++) {
          asked = turn % 2 === 0 ? "quiesce" : "readmit";
          const { status } = await transition(router.adminPort, { tier: "primary", action: asked });
          if (status === 200) answered = asked;
        }
      })().catch(() => {}); // the kill breaks the connection
      await pause(60 + round * 23);
      router.kill("SIGKILL");
      await router.finished;
      await burst;
      assert.notEqual(answered, null, "the burst got nowhere");
      const { schema, quiesced } = JSON.parse(await Deno.readTextFile(path));
      assert.equal(schema, 1);
      const kept = quiesced.length === 1 ? "quiesce" : "readmit";
      assert.ok(kept === answered || kept === asked, `${kept}, answered ${answered}`);
    }
  });
});

Deno.test("a cut intent file: the router starts, every tier quiesced, and says so", async () => {
  await withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/state/intent.json`, `{"schema":1,"quie`);
    await using router = await RouterProcess.start(folder, { waitReady: false });
    assert.equal(await intentAt(router), "quiesce");
    assert.match(router.stderr, /every tier starts quiesced/);
    assert.equal(await router.readyz(), 503);
  });
});
