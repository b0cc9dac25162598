import assert from "node:assert/strict";
import { readUnit } from "../../../lib/serves/systemd.ts";
import { readManifest } from "../../../lib/serves/manifest.ts";
import { Supervisor, type Unit } from "./supervisor.ts";
import { routerText, servesText } from "./texts.ts";
import { readConfig } from "../../../roles/router/config.ts";

const ARGV = ["/opt/engine", "--model", "org/model"];
const UNIT: Unit = {
  ...{ name: "anvil-gpu-a-chat.service", program: "chat", argv: ARGV, env: {} },
  ...{ graceSeconds: 5, model: "org/model" },
};

Deno.test("supervisor: what it says of a unit is what the agent expects of systemd", async () => {
  const read = readManifest(servesText("gpu-a", "/srv/gpu-a", [{ name: "chat", argv: ARGV }]));
  assert.ok(read.kind === "ok", JSON.stringify(read));
  const [serve] = read.model.serve;
  assert.ok(serve?.runtime === "native");
  const supervisor = new Supervisor("gpu-a", "/srv/gpu-a", "/nowhere", [UNIT], async () => {});
  const text = await supervisor.answer(["--system", "show", "--property=Id", "--", serve.unit]);
  const unit = readUnit(text ?? "", serve);
  assert.deepEqual(unit?.differences, []);
  assert.deepEqual([unit?.loaded, unit?.activity, unit?.mainPid], [true, "stopped", null]);
});

Deno.test("supervisor: a unit without a process is restarted by its own way, another is refused", async () => {
  const restarted: string[] = [];
  const supervisor = new Supervisor("gpu-a", "/srv", "/nowhere", [], (unit) => {
    restarted.push(unit);
    return Promise.resolve();
  });
  assert.equal(await supervisor.answer(["restart", "--", "thing.service"]), "");
  assert.deepEqual(restarted, ["thing.service"]);
  assert.equal(await supervisor.answer(["start", "--", "thing.service"]), null);
  assert.equal(await supervisor.answer(["daemon-reload"]), "");
});

Deno.test("texts: a router takes its configuration, with either model", () => {
  for (const next of [false, true]) {
    const read = readConfig(routerText("gpu-a", next));
    assert.ok(read.kind === "ok", JSON.stringify(read));
  }
});
