import assert from "node:assert/strict";
import type { Json } from "../core/canonical_json.ts";
import { sha256 } from "../host/digest.ts";
import { everyMoment } from "../testing/every_moment.ts";
import { FakeClock } from "../testing/fake_clock.ts";
import { fakeDirectories } from "../testing/fake_directories.ts";
import { FakeDisk } from "../testing/fake_disk.ts";
import { FakeProcesses } from "../testing/fake_process.ts";
import { LAB } from "../../tests/fixtures/topology.ts";
import { refuseDamaged } from "./generation.ts";
import { readCurrent, readHistory } from "./history.ts";
import { materialize } from "./materialize.ts";
import type { HomePorts } from "./ports.ts";
import { rollback } from "./rollback.ts";

const HOME = "/disk/home";
const [ONE, TWO] = ["1".repeat(40), "2".repeat(40)] as const;
const FILES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  [ONE]: { "topology.toml": LAB, "a/note": "one\n" },
  [TWO]: { "topology.toml": LAB.replace('"lab"', '"lob"') },
};

/** Git as far as an export asks for it; `grown` makes an object larger than its tree says. */
function fakeGit(grown = false) {
  const objectOf = (text: string) => sha256(text).toHex().slice(0, 40);
  return new FakeProcesses(({ argv, stdin }) => {
    const [command, ...args] = argv.slice(argv.indexOf("-C") + 2);
    const objects = Object.values(FILES).flatMap((files) => Object.values(files));
    switch (command) {
      case "rev-parse":
        if (args[0] === "--git-dir") return { end: 128, stderr: "fatal: not a git repository" };
        if (args[0] === "--is-bare-repository") return { stdout: "true\n" };
        return { stdout: `${args.at(-1)?.replace("^{commit}", "")}\n` };
      case "ls-tree":
        return {
          stdout: Object.entries(FILES[args.at(-1) ?? ""] ?? {}).map(([path, text]) =>
            `100644 blob ${objectOf(text)} ${`${text.length}`.padStart(7)}\t${path}\0`
          ).join(""),
        };
      case "cat-file":
        return {
          stdout: new TextDecoder().decode(stdin).trim().split("\n").map((object) => {
            const text = objects.find((one) => objectOf(one) === object) ?? "";
            const sent = grown ? `${text}!` : text;
            return `${object} blob ${sent.length}\n${sent}\n`;
          }).join(""),
        };
      default:
        return null;
    }
  });
}

function portsOn(disk: FakeDisk, grown = false): HomePorts {
  return {
    files: disk.files,
    directories: fakeDirectories(disk),
    tryLock: disk.tryLock,
    openJournal: <Entry extends Json>(path: string, decode: (value: Json) => Entry | null) =>
      Promise.resolve({
        kind: "open" as const,
        journal: {
          ...disk.journal(path, decode),
          [Symbol.asyncDispose]: () => Promise.resolve(),
        },
      }),
    run: fakeGit(grown).run,
    clock: new FakeClock(),
    sha256,
    searchPath: "/bin",
  };
}

const ask = (rev: string) => ({ repo: "/repo", rev, path: "", by: "t" });

/** The commit that is live and whole; null when none is. */
async function liveCommit(ports: HomePorts): Promise<string | null> {
  const current = await readCurrent(ports, HOME);
  if (current === null) return null;
  assert.ok(!("kind" in current), "the pointer is damaged");
  assert.equal(await refuseDamaged(ports, HOME, current.digest), null, "what is live is damaged");
  return current.commit;
}

Deno.test("moments: dying at any moment of a first materialize, twice, leaves nothing or all", async () => {
  const moments = await everyMoment(async (disk) => {
    const ports = portsOn(disk);
    const before = await liveCommit(ports);
    assert.ok(before === null || before === ONE);
    const outcome = await materialize(ports, HOME, ask(ONE));
    assert.equal(outcome.kind, "materialized", JSON.stringify(outcome));
    assert.equal(await liveCommit(ports), ONE);
    assert.deepEqual([...disk.contents.keys()].filter((path) => path.includes(".staging")), []);
  }, 2);
  assert.ok(moments > 20, `${moments}`);
});

Deno.test("moments: dying at any moment of a change leaves the old set or the new one, whole", async () => {
  await everyMoment(async (disk, { deaths }) => {
    const ports = portsOn(disk);
    if (await liveCommit(ports) === null) await materialize(ports, HOME, ask(ONE));
    assert.ok([ONE, TWO].includes(await liveCommit(ports) ?? ""));
    const outcome = await materialize(ports, HOME, ask(TWO));
    assert.equal(outcome.kind, "materialized", JSON.stringify(outcome));
    assert.equal(await liveCommit(ports), TWO);
    const history = await readHistory(ports, HOME);
    assert.ok(!("kind" in history));
    assert.ok(history.length <= 2 + 2 * deaths.length, "more lines than attempts");
    const back = await rollback(ports, HOME, { by: "t" });
    assert.equal(back.kind, "rolled_back", JSON.stringify(back));
    assert.equal(await liveCommit(ports), ONE);
  });
});

Deno.test("moments: a disk that is full from any write on leaves the old set", async () => {
  for (let spared = 0;; spared++) {
    const disk = new FakeDisk();
    disk.contents.set("/disk", { kind: "directory" });
    const ports = portsOn(disk);
    await materialize(ports, HOME, ask(ONE));
    let writes = 0;
    const limited: HomePorts = {
      ...ports,
      files: {
        ...ports.files,
        replaceFile: (...args) => {
          disk.full = writes++ >= spared;
          return ports.files.replaceFile(...args);
        },
      },
    };
    const outcome = await materialize(limited, HOME, ask(TWO));
    disk.full = false;
    if (outcome.kind === "materialized") {
      assert.equal(spared, 3); // topology, receipt, current
      return;
    }
    assert.equal(outcome.kind === "refused" && outcome.code, "home_no_space");
    assert.equal(await liveCommit(ports), ONE);
    assert.equal((await materialize(ports, HOME, ask(TWO))).kind, "materialized");
  }
});

Deno.test("moments: a target that cannot be written leaves the old set", async () => {
  const disk = new FakeDisk();
  disk.contents.set("/disk", { kind: "directory" });
  const ports = portsOn(disk);
  await materialize(ports, HOME, ask(ONE));
  const no = { kind: "refused", code: "file_unwritable", detail: "no", cause: "EROFS" } as const;
  const closed = { ...ports, files: { ...ports.files, replaceFile: () => Promise.resolve(no) } };
  const outcome = await materialize(closed, HOME, ask(TWO));
  assert.equal(outcome.kind === "refused" && outcome.code, "home_unusable");
  assert.equal(await liveCommit(ports), ONE);
});

Deno.test("moments: an object that is not what its tree says is refused", async () => {
  const disk = new FakeDisk();
  disk.contents.set("/disk", { kind: "directory" });
  const outcome = await materialize(portsOn(disk, true), HOME, ask(ONE));
  assert.equal(outcome.kind === "refused" && outcome.code, "file_changed_while_read");
  assert.equal(await liveCommit(portsOn(disk)), null);
});
