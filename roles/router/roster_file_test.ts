import assert from "node:assert/strict";
import { sha256 } from "../../lib/host/digest.ts";
import { FakeClock } from "../../lib/testing/fake_clock.ts";
import { FakeDisk } from "../../lib/testing/fake_disk.ts";
import { openRoster, type RosterFile } from "./roster_file.ts";

const PATH = "/etc/anvil/clients.toml";
const encoder = new TextEncoder();

function text(...secrets: string[]): string {
  const tokens = secrets.map((secret, i) =>
    `{ id = "t${i}", sha256 = "${sha256(secret).toHex()}", created_at = "2026-01-01T00:00:00Z" }`
  );
  return `schema = 1\n[[clients]]\nname = "app"\nscopes = ["infer"]\ntokens = [${tokens.join()}]\n`;
}

function rig() {
  const disk = new FakeDisk();
  const clock = new FakeClock();
  const said: string[] = [];
  const say =
    (level: string) => (message: string, properties: { readonly [name: string]: unknown }) =>
      void said.push(
        `${level} ${message.replace(/\{(\w+)\}/g, (_, name) => String(properties[name]))}`,
      );
  const remarks = { info: say("info"), warn: say("warn"), error: say("error") };
  const put = (content: string | Uint8Array, mode = 0o600) =>
    disk.contents.set(PATH, {
      kind: "file",
      bytes: typeof content === "string" ? encoder.encode(content) : content,
      mode,
    });
  const open = () => openRoster(PATH, { files: disk.files, clock, sha256, remarks });
  return { disk, clock, said, put, open };
}

function knows(file: RosterFile, secret: string): boolean {
  return file.roster.authenticate(new Headers({ "x-api-key": secret }), 0).kind === "known";
}

Deno.test("roster: every reason a file cannot be used", async () => {
  const { disk, put, open } = rig();
  const code = async () => {
    const opened = await open();
    return opened.kind === "invalid" ? opened.problems.map((problem) => problem.code) : [];
  };
  assert.deepEqual(await code(), ["file_absent"]);
  put(text("a"), 0o644);
  assert.deepEqual(await code(), ["file_not_private"]);
  for (
    const [kind, expected] of [
      ["link", "file_is_link"],
      ["directory", "file_not_regular"],
      ["other_owner", "file_not_owned"],
    ] as const
  ) {
    disk.contents.set(PATH, { kind });
    assert.deepEqual(await code(), [expected]);
  }
  put(new Uint8Array([0xff]));
  assert.deepEqual(await code(), ["not_utf8"]);
  put(new Uint8Array(4 * 1024 * 1024 + 1));
  assert.deepEqual(await code(), ["file_too_large"]);
  put("schema = 2");
  assert.deepEqual(await code(), ["not_allowed"]);
  put(text("a"), 0o400);
  assert.deepEqual(await code(), []);
});

Deno.test("roster: follows its file, and keeps what it knew when the file goes wrong", async () => {
  const { clock, said, disk, put, open } = rig();
  put(text("old"));
  const opened = await open();
  assert.ok(opened.kind === "ok");
  const file = opened.model;
  const following = file.follow();
  try {
    put(text("old", "new"));
    assert.deepEqual([knows(file, "old"), knows(file, "new")], [true, false]);
    await clock.advance(1000);
    assert.deepEqual([knows(file, "old"), knows(file, "new")], [true, true]);
    put(text("new"));
    await clock.advance(1000);
    assert.deepEqual([knows(file, "old"), knows(file, "new")], [false, true]);

    put("schema = ");
    await clock.advance(3000);
    assert.equal(knows(file, "new"), true);
    put(text("other"), 0o644);
    await clock.advance(2000);
    assert.deepEqual([knows(file, "new"), knows(file, "other")], [true, false]);
    disk.contents.delete(PATH);
    await clock.advance(1000);
    assert.equal(knows(file, "new"), true);
    put(text("other"));
    await clock.advance(1000);
    assert.deepEqual([knows(file, "new"), knows(file, "other")], [false, true]);
  } finally {
    file.close();
    await following;
  }
  const stay = "error the clients file cannot be used, the clients known before stay: $: ";
  assert.deepEqual(said, [
    "info 1 clients are known now",
    "info 1 clients are known now",
    `${stay}syntax`,
    `${stay}file_not_private`,
    `${stay}file_absent`,
    "info 1 clients are known now",
  ]);
});

Deno.test("roster: a fault that was mended without a change is told again when it comes back", async () => {
  const { said, put, open } = rig();
  put(text("a"));
  const opened = await open();
  assert.ok(opened.kind === "ok");
  for (const mode of [0o644, 0o644, 0o600, 0o644]) {
    put(text("a"), mode);
    await opened.model.look();
  }
  assert.equal(said.length, 2);
});
