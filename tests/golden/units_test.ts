/**
 * The agent's supervisor files: every one starts what there is to start, and grants no more than it
 * must. Real programs look at those of systemd in tests/real/units_test.ts.
 *
 * @module
 */

import assert from "node:assert/strict";
import { textOf } from "../rooms/tree.ts";

/** Elements that are open at the end of an XML text; throws at the first that closes another. */
function openElements(xml: string): string[] {
  const open: string[] = [];
  const bare = xml.replace(/<!--[\s\S]*?-->|<\?[\s\S]*?\?>|<![^>]*>/g, "");
  for (const [, end = "", name = "", empty = ""] of bare.matchAll(/<(\/?)(\w+)[^>]*?(\/?)>/g)) {
    if (end === "/") assert.equal(open.pop(), name, "an element closes another");
    else if (empty === "") open.push(name);
  }
  return open;
}

const WORDS = /^run \S*agent\.toml$/;

Deno.test("units: launchd's and the task scheduler's are well formed and run the agent", async () => {
  const plist = await textOf("fleet/units/launchd/org.anvil.agent.plist");
  assert.deepEqual(openElements(plist), []);
  const list = /<array>([\s\S]*?)<\/array>/.exec(plist)?.[1] ?? "";
  const [program, ...args] = [...list.matchAll(/<string>([^<]*)<\/string>/g)].map((one) => one[1]);
  assert.equal(program, "/usr/local/bin/anvil-agent");
  assert.match(args.join(" "), WORDS);
  const task = await textOf("fleet/units/windows/anvil-agent.xml");
  assert.deepEqual(openElements(task), []);
  assert.match(/<Arguments>([^<]*)<\/Arguments>/.exec(task)?.[1] ?? "", WORDS);
  assert.match(task, /<RunLevel>LeastPrivilege<\/RunLevel>/);
  assert.match(task, /<ExecutionTimeLimit>PT0S<\/ExecutionTimeLimit>/);
  assert.throws(() => openElements("<a><b></a></b>"));
});

Deno.test("units: systemd's run the agent with nothing it does not need", async () => {
  const both = [
    "NoNewPrivileges=yes",
    "LockPersonality=yes",
    "RestrictSUIDSGID=yes",
    "UMask=0077",
    "SystemCallErrorNumber=EPERM",
  ];
  const system = [
    ...["ProtectSystem=strict", "ProtectHome=yes", "CapabilityBoundingSet=", "PrivateTmp=yes"],
    ...["DevicePolicy=closed", "StateDirectoryMode=0700", "User=anvil-agent"],
  ];
  for (
    const [path, wanted] of [
      ["fleet/units/systemd/anvil-agent.service", [...both, ...system]],
      ["fleet/units/systemd/user/anvil-agent.service", both],
    ] as const
  ) {
    const lines = (await textOf(path)).split("\n");
    for (const line of wanted) assert.ok(lines.includes(line), `${path}: ${line}`);
    const start = lines.find((line) => line.startsWith("ExecStart="))?.split(" ").slice(1).join(
      " ",
    );
    assert.match(start ?? "", WORDS, path);
    assert.ok(lines.some((line) => /^ExecStartPre=\S+ check \S*agent\.toml$/.test(line)), path);
    assert.ok(lines.some((line) => /^UnsetEnvironment=DENO_SERVE_ADDRESS /.test(line)), path);
  }
});

Deno.test("units: a system call that is not granted is refused; nobody is killed for asking", async () => {
  let filtered = 0;
  for (const folder of ["fleet/units/systemd", "fleet/units/systemd/user"]) {
    for await (
      const { name, isFile } of Deno.readDir(new URL(`../../${folder}`, import.meta.url))
    ) {
      if (!isFile) continue;
      const lines = (await textOf(`${folder}/${name}`)).split("\n");
      if (!lines.some((line) => line.startsWith("SystemCallFilter="))) continue;
      filtered++;
      // The runtime asks for memory protection keys at its start, and does without.
      assert.ok(lines.includes("SystemCallErrorNumber=EPERM"), name);
    }
  }
  assert.ok(filtered >= 5, `${filtered} units`);
});
