import assert from "node:assert/strict";
import { systemFiles } from "../../lib/host/files.ts";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { readAgentTokens } from "./agent_tokens.ts";
import { configShape } from "./config_shape.ts";

function config(file: string) {
  return configShape.parse({
    schema: 1,
    node: "gpu-a",
    listen: { data: "127.0.0.1:0", admin: "127.0.0.1:0" },
    auth: { allow_unauthenticated_loopback: true },
    tiers: [{
      id: "t",
      served_model: "org/model",
      dialects: ["openai-chat"],
      identity: { kind: "agent", agent: "http://127.0.0.1:1", token_file: file },
      members: [{ id: "a", endpoint: "http://127.0.0.1:1" }],
    }],
  });
}

Deno.test("agent tokens: read by tier, from files nobody else may read", async () => {
  await using dir = await tempDir();
  const file = dir.at("token");
  const codeOf = async () => {
    const read = await readAgentTokens(config(file), systemFiles);
    return read.kind === "ok"
      ? read.model.get("t")?.reveal()
      : read.problems.map(({ path, code }) => `${path} ${code}`).join();
  };
  const at = "tiers[0].identity.token_file";
  assert.equal(await codeOf(), `${at} token_file_absent`);
  await Deno.writeTextFile(file, "canary-canary-canary\n", { mode: 0o600 });
  assert.equal(await codeOf(), "canary-canary-canary");
  for (const text of ["", "short", "two lines of it\nhere is one", `${"x".repeat(513)}`]) {
    await Deno.writeTextFile(file, text);
    assert.equal(await codeOf(), `${at} token_malformed`, text);
  }
  await Deno.writeTextFile(file, "canary canary canary canary");
  const read = await readAgentTokens(config(file), systemFiles);
  assert.ok(read.kind === "invalid" && !JSON.stringify(read).includes("canary"));
  if (Deno.build.os !== "windows") {
    await Deno.chmod(file, 0o644);
    assert.match(`${await codeOf()}`, /not_private|exposed|mode/);
  }
});
