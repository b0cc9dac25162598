import assert from "node:assert/strict";
import { Secret } from "../core/secret.ts";
import { CANARY } from "../testing/record_sink_conformance.ts";
import { configureLog, log } from "./log.ts";

/** Of no form a pattern could know: only the name of its field gives it away. */
const PLAIN = "hunter2-correct-horse";

function captured(form: "json" | "text", act: () => void): readonly string[] {
  const lines: string[] = [];
  configureLog({ level: "debug", form, sink: (line) => lines.push(line) });
  act();
  configureLog({ level: "off" });
  return lines;
}

/** Every way a value gets into the log. */
function everyWay(): void {
  const logger = log(["router", "canary"]);
  const cause = Object.assign(new Error(`cause ${CANARY}`), { token: PLAIN });
  const error = Object.assign(new Error(`error ${CANARY}`, { cause }), { password: PLAIN });
  error.name = `Bad ${CANARY}`;
  const round: Record<string, unknown> = { token: PLAIN, text: CANARY };
  round["self"] = round;
  logger.info(`in the message ${CANARY}`);
  logger.info`tagged ${CANARY} ${{ deep: [CANARY] }}`;
  logger.info("placeholder {value} {token}", { value: CANARY, token: PLAIN });
  logger.info("property", { note: CANARY, [CANARY]: 1, nested: { list: [{ note: CANARY }] } });
  logger.info("names", {
    authorization: PLAIN,
    "x-api-key": PLAIN,
    nested: { clientSecret: PLAIN, list: [{ api_key: PLAIN, "set-cookie": PLAIN }] },
  });
  logger.info("headers", {
    headers: new Headers({ authorization: `Bearer ${PLAIN}`, "x-api-key": PLAIN }),
    text: `authorization: Bearer ${PLAIN}, x-api-key: ${PLAIN}`,
    json: JSON.stringify({ "x-api-key": PLAIN, a: [["x-api-key", PLAIN]] }),
  });
  logger.error("error {error}", { error });
  logger.error(error);
  logger.info("map", { map: new Map([["token", PLAIN]]), set: new Set([CANARY]) });
  logger.info("url", { url: new URL(`http://127.0.0.1/x?key=${PLAIN}`) });
  logger.info("secret {secret}", { secret: new Secret(PLAIN), other: new Secret(PLAIN) });
  logger.info`tagged secret ${new Secret(PLAIN)}`;
  logger.info("round", { round });
  logger.info("bytes", { bytes: new TextEncoder().encode(PLAIN), f: () => PLAIN, big: 1n });
  logger.info("lazy {value}", () => ({ value: CANARY }));
  logger.with({ token: PLAIN, note: CANARY }).info("context");
  logger.getChild("child").warn("child {0}", { 0: CANARY });
  logger.info("all {*}", { token: PLAIN, note: CANARY });
}

for (const form of ["json", "text"] as const) {
  Deno.test(`log, ${form}: the canary sings in no line`, () => {
    const lines = captured(form, everyWay);
    assert.ok(lines.length >= 18, `${lines.length} lines`);
    const all = lines.join("\n");
    assert.ok(all.includes("[secret]"));
    for (const line of lines) {
      assert.ok(!line.includes(CANARY.slice(6, 24)), line);
      assert.ok(!line.includes(PLAIN.slice(0, 12)), line);
      assert.ok(!line.includes("104,117,110"), line); // PLAIN as bytes
    }
  });
}

Deno.test("log: JSON lines have their five fields, and counts of tokens are no tokens", () => {
  const [line] = captured("json", () => {
    log(["router", "relay"]).warn("member {member} is slow", { member: "a", max_tokens: 5 });
  });
  const { at, ...rest } = JSON.parse(line ?? "");
  assert.match(at, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  assert.deepEqual(rest, {
    level: "warning",
    category: "router.relay",
    message: "member a is slow",
    properties: { member: "a", max_tokens: 5 },
  });
});

Deno.test("log: every JSON line is JSON, masked ones too", () => {
  for (const line of captured("json", everyWay)) JSON.parse(line);
});

Deno.test("log: text is for people, on one line, and cannot steer their terminal", () => {
  const [line] = captured("text", () => {
    log("router").error("bad {name}", { name: "\u001b[2Jx\ny" });
  });
  assert.ok(line !== undefined && line.includes("bad") && line.includes("router"));
  assert.ok(!line.includes("\u001b[2J"));
  assert.equal(line.trimEnd().split("\n").length, 1);
});

Deno.test("log: below the level nothing is made", () => {
  let made = 0;
  const lines: string[] = [];
  configureLog({ level: "warning", form: "json", sink: (line) => lines.push(line) });
  log("router").debug("x {y}", () => ({ y: made++ }));
  assert.equal(log("router").isEnabledFor("debug"), false);
  configureLog({ level: "off" });
  log("router").fatal("x {y}", () => ({ y: made++ }));
  assert.deepEqual([made, lines], [0, []]);
});
