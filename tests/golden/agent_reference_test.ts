import assert from "node:assert/strict";
import { AGENT_PAGE, renderedAgent } from "../../scripts/agent_reference.ts";

Deno.test("the tables of the agent's reference are its schema and its catalogue", async () => {
  const page = await Deno.readTextFile(AGENT_PAGE);
  assert.equal(await renderedAgent(page), page, "run: deno run -A scripts/agent_reference.ts");
});
