import assert from "node:assert/strict";
import { tempDir } from "../../lib/testing/temp_dir.ts";
import { runRole } from "../support/role_process.ts";
import { furnish } from "../support/router_process.ts";

const UNITS = {
  "a.service": (seconds: number) => `[Service]\nExecStart=/x\nTimeoutStopSec=${seconds}\n`,
  "compose.yaml": (seconds: number) => `services:\n  router:\n    stop_grace_period: ${seconds}s\n`,
  "a.plist": (seconds: number) =>
    `<plist><dict><key>ExitTimeOut</key><integer>${seconds}</integer></dict></plist>`,
} as const;

Deno.test("check --supervisor refuses what kills a router before it has drained", async () => {
  await using dir = await tempDir();
  await furnish(dir.path, { members: [1], limits: { drain_seconds: 60 } });
  for (const [name, unit] of Object.entries(UNITS)) {
    await Deno.writeTextFile(`${dir.path}/${name}`, unit(65));
    const args = ["check", "router.toml", "--supervisor", name];
    const fine = await runRole("router", dir.path, args);
    assert.equal(fine.code, 0, fine.stderr);
    await Deno.writeTextFile(`${dir.path}/${name}`, unit(60));
    const short = await runRole("router", dir.path, [...args, "--json"]);
    assert.equal(short.code, 2, name);
    const { ok, problems } = JSON.parse(short.stdout);
    assert.equal(ok, false);
    assert.equal(problems[0].code, "grace_too_short");
    assert.equal(problems[0].file, name);
    assert.match(problems[0].message, /60 s.*to 65 s or more/s);
  }
  const absent = await runRole("router", dir.path, [
    "check",
    "router.toml",
    "--supervisor",
    "no.service",
  ]);
  assert.equal(absent.code, 2);
  assert.match(absent.stderr, /no\.service: \$: file_absent/);
});
