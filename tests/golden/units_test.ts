/**
 * The supervisor files of every role: each starts what there is to start, and grants no more than it
 * must. Real programs look at those of systemd in tests/real/units_test.ts.
 *
 * @module
 */

import assert from "node:assert/strict";
import { filesUnder, textOf } from "../rooms/tree.ts";

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

/** What each kind of unit runs, whoever supervises it; FILE stands for its configuration. */
const RUNS: Readonly<Record<string, readonly string[]>> = {
  router: ["anvil-router run FILE"],
  agent: ["anvil-agent run FILE"],
  publisher: ["anvil-publisher serve --config FILE"],
  "publisher-build": ["anvil-publisher build-all --config FILE"],
  "adopter-stage": ["anvil-adopter offer --timer", "anvil-adopter stage --timer"],
  "adopter-activate": ["anvil-adopter adopt --timer"],
};
const KINDS = Object.keys(RUNS);
/** Kinds that a person switches on: staging and adopting are the owner's choice, building its host's. */
const OPTIONAL = ["publisher-build", "adopter-stage", "adopter-activate"];

/** A command line as in {@link RUNS}: the program's name, and FILE for the role's own configuration. */
function plain(line: string, kind: string): string {
  const role = kind.split("-")[0];
  const bare = line.replace(/^\S*?(anvil-[a-z]+)(\.cmd)?(?= |$)/, "$1")
    .replace(new RegExp(`(\\S*[/\\\\])?${role}(-%i)?\\.toml`), "FILE");
  return kind.startsWith("adopter") ? bare.replace(/ --config FILE$/, "") : bare;
}

const kindOf = (path: string) =>
  /(?:org\.anvil\.|anvil-)([a-z-]+?)@?\.(?:plist|xml|service)$/.exec(path)?.[1] ?? path;

async function unitsIn(folder: string, ending: string): Promise<Map<string, string>> {
  const found = (await filesUnder(folder))
    .filter((path) => path.endsWith(ending) && !path.slice(folder.length).includes("/"))
    // A person's on the gateway, and no host's: it has a test of its own below.
    .filter((path) => kindOf(path) !== "operator-report");
  assert.deepEqual([...new Set(found.map(kindOf))].sort(), [...KINDS].sort(), folder);
  return new Map(
    await Promise.all(found.map(async (path) => [path, await textOf(path)] as const)),
  );
}

Deno.test("units: launchd's are there for every role, well formed, and run what they are called", async () => {
  for (const folder of ["fleet/units/launchd/", "fleet/units/launchd/user/"]) {
    for (const [path, text] of await unitsIn(folder, ".plist")) {
      const kind = kindOf(path);
      assert.deepEqual(openElements(text), [], path);
      // XML forbids two hyphens in a comment.
      for (const [, comment = ""] of text.matchAll(/<!--([\s\S]*?)-->/g)) {
        assert.ok(!comment.includes("--"), path);
      }
      assert.match(text, new RegExp(`<key>Label</key>\\s*<string>org\\.anvil\\.${kind}</string>`));
      const list = /<array>([\s\S]*?)<\/array>/.exec(text)?.[1] ?? "";
      const words = [...list.matchAll(/<string>([^<]*)<\/string>/g)]
        .map(([, word = ""]) => word.replaceAll("&amp;", "&").replaceAll("&gt;", ">"));
      const lines = words[0] === "/bin/sh"
        ? (words[2] ?? "").split(/&&|;/).map((part) =>
          part.trim().replace(/^exec /, "").replace(/ 2>>\S+$/, "")
        ).filter((part) => part.startsWith("/usr/local/bin/anvil-"))
        : [words.join(" ")];
      assert.deepEqual(lines.map((line) => plain(line, kind)), RUNS[kind], path);
      assert.equal(text.includes("<key>Disabled</key>"), OPTIONAL.includes(kind), path);
      assert.equal(text.includes("<key>KeepAlive</key>"), !OPTIONAL.includes(kind), path);
      // One person's own: nothing of root, and no path that only root may write.
      if (folder.endsWith("user/")) assert.doesNotMatch(text, /UserName|\/etc\/|\/var\//, path);
    }
  }
  assert.throws(() => openElements("<a><b></a></b>"));
});

Deno.test("units: the task scheduler's are there for every role, well formed, and unprivileged", async () => {
  for (const [path, text] of await unitsIn("fleet/units/windows/", ".xml")) {
    const kind = kindOf(path);
    assert.deepEqual(openElements(text), [], path);
    const lines = [...text.matchAll(/<Command>([^<]*)<\/Command>\s*<Arguments>([^<]*)</g)]
      .map(([, command = "", more = ""]) => `${command.split("\\").at(-1)} ${more}`);
    assert.deepEqual(lines.map((line) => plain(line, kind)), RUNS[kind], path);
    // Its folder is the one the launcher grants; every file it is given is there.
    assert.match(text, /<WorkingDirectory>C:\\ProgramData\\anvil<\/WorkingDirectory>/, path);
    for (const [file] of text.matchAll(/\S+\.toml/g)) {
      assert.match(file, /^C:\\ProgramData\\anvil\\/, path);
    }
    assert.match(text, /<RunLevel>LeastPrivilege<\/RunLevel>/, path);
    assert.match(text, /<UserId>S-1-5-19<\/UserId>/, path); // LocalService
    const context = /<Actions Context="(\w+)">/.exec(text)?.[1];
    assert.ok(text.includes(`<Principal id="${context}">`), path);
    assert.match(text, /<MultipleInstancesPolicy>IgnoreNew</, path);
    const isOptional = OPTIONAL.includes(kind);
    assert.equal(text.includes("    <Enabled>false</Enabled>"), isOptional, path);
    assert.equal(text.includes("<ExecutionTimeLimit>PT0S<"), !isOptional, path);
    assert.equal(text.includes("<RestartOnFailure>"), !isOptional, path);
  }
});

Deno.test("units: systemd's are there for every role, of the system and of one person", async () => {
  for (const folder of ["fleet/units/systemd/", "fleet/units/systemd/user/"]) {
    for (const [path, text] of await unitsIn(folder, ".service")) {
      const kind = kindOf(path);
      const lines = text.split("\n");
      const starts = lines.filter((line) => line.startsWith("ExecStart="))
        .map((line) => plain(line.slice("ExecStart=".length), kind));
      assert.deepEqual(starts, RUNS[kind], path);
      const isUser = folder.endsWith("user/");
      if (isUser) {
        assert.doesNotMatch(text, /^(User|Group|DynamicUser|CapabilityBoundingSet)=/m, path);
        assert.ok(!text.includes("/etc/") && !text.includes("multi-user.target"), path);
      }
      if (OPTIONAL.includes(kind)) {
        assert.ok(lines.includes("Type=oneshot"), path);
        const timer = await textOf(path.replace(".service", ".timer"));
        assert.match(timer, /^OnCalendar=/m);
        assert.ok(timer.includes(isUser ? "systemctl --user enable" : "systemctl enable"), path);
      } else {
        assert.ok(lines.includes("Restart=on-failure"), path);
        assert.ok(
          lines.includes(`WantedBy=${isUser ? "default" : "multi-user"}.target`) ||
            path.includes("@"),
          path,
        );
        assert.ok(lines.some((line) => /^UnsetEnvironment=DENO_SERVE_ADDRESS /.test(line)), path);
      }
    }
  }
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
      ["fleet/units/systemd/user/anvil-router.service", both],
      ["fleet/units/systemd/user/anvil-publisher.service", both],
    ] as const
  ) {
    const lines = (await textOf(path)).split("\n");
    for (const line of wanted) assert.ok(lines.includes(line), `${path}: ${line}`);
    if (path.includes("publisher")) continue;
    assert.ok(lines.some((line) => /^ExecStartPre=\S+ check \S*\.toml$/.test(line)), path);
  }
});

Deno.test("units: the operator's report runs one read-only command with nothing it does not need", async () => {
  const lines = (await textOf("fleet/units/systemd/anvil-operator-report.service")).split("\n");
  for (
    const line of [
      ...["NoNewPrivileges=yes", "ProtectSystem=strict", "ProtectHome=yes", "PrivateDevices=yes"],
      ...["CapabilityBoundingSet=", "User=anvil-operator", "Type=oneshot"],
    ]
  ) assert.ok(lines.includes(line), line);
  const start = lines.filter((line) => line.startsWith("ExecStart="));
  assert.match(
    start.join(),
    /^ExecStart=\/usr\/bin\/anvil-operator fleet report --out \S+ --keep \d+$/,
  );
  const plist = await textOf("fleet/units/launchd/org.anvil.operator-report.plist");
  assert.deepEqual(openElements(plist), []);
  assert.match(plist, /<key>Disabled<\/key>\s*<true\/>/);
  const words = [...plist.matchAll(/<string>([^<]*)<\/string>/g)].map((one) => one[1]);
  assert.ok(words.join(" ").includes("anvil-operator fleet report --out"));
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
