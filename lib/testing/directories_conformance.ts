/**
 * What every implementation of the directories port does.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Directories, DirectoryList } from "../core/directories.ts";
import type { Files } from "../core/files.ts";

/** A fresh directory for one check, and the ports that see it. */
export interface DirectoriesRig extends AsyncDisposable {
  readonly directories: Directories;
  readonly files: Files;
  /** The path of an existing, empty directory. */
  readonly root: string;
}

/** Registers the checks under `name`. */
export function directoriesConformance(name: string, rig: () => Promise<DirectoriesRig>): void {
  const check = (what: string, act: (rig: DirectoriesRig) => Promise<void>) =>
    Deno.test(`${name}: ${what}`, async () => {
      await using fresh = await rig();
      await act(fresh);
    });
  const names = (list: DirectoryList) =>
    list.kind === "ok" ? list.entries.map((entry) => `${entry.kind} ${entry.name}`) : list.kind;
  const write = (files: Files, path: string, mode = 0o600) =>
    files.replaceFile(path, new TextEncoder().encode("four"), mode);

  check("a directory is made with its parents, twice is fine", async ({ directories, root }) => {
    for (let time = 0; time < 2; time++) {
      assert.equal((await directories.make(`${root}/a/b/c`)).kind, "ok");
    }
    assert.deepEqual(names(await directories.list(`${root}/a`, 9)), ["directory b"]);
    assert.deepEqual(names(await directories.list(`${root}/a/b/c`, 9)), []);
  });

  check("what is listed is sorted, sized and bounded", async ({ directories, files, root }) => {
    await write(files, `${root}/b`);
    await write(files, `${root}/a`, 0o755);
    await directories.make(`${root}/c`);
    assert.deepEqual(await directories.list(root, 3), {
      kind: "ok",
      entries: [
        { name: "a", kind: "file", size: 4, executable: true },
        { name: "b", kind: "file", size: 4, executable: false },
        { name: "c", kind: "directory", size: 0, executable: false },
      ],
    });
    const refused = await directories.list(root, 2);
    assert.equal(refused.kind === "refused" && refused.code, "directory_too_many");
  });

  check("absent, and not a directory, are said", async ({ directories, files, root }) => {
    await write(files, `${root}/f`);
    assert.deepEqual(await directories.list(`${root}/none`, 9), { kind: "absent" });
    for (
      const outcome of [
        await directories.list(`${root}/f`, 9),
        await directories.make(`${root}/f`),
        await directories.remove(`${root}/f`),
        await directories.move(`${root}/f`, `${root}/g`),
      ]
    ) assert.equal(outcome.kind === "refused" && outcome.code, "not_a_directory");
  });

  check("moved whole, and never onto anything", async ({ directories, files, root }) => {
    await directories.make(`${root}/from/deep`);
    await write(files, `${root}/from/deep/f`);
    assert.equal((await directories.move(`${root}/from`, `${root}/to`)).kind, "ok");
    assert.deepEqual(names(await directories.list(root, 9)), ["directory to"]);
    assert.equal((await files.readBounded(`${root}/to/deep/f`, 9)).kind, "ok");
    await directories.make(`${root}/empty`);
    const refused = await directories.move(`${root}/to`, `${root}/empty`);
    assert.equal(refused.kind === "refused" && refused.code, "directory_exists");
    const absent = await directories.move(`${root}/none`, `${root}/new`);
    assert.equal(absent.kind === "refused" && absent.code, "directory_unwritable");
  });

  check("removed with all that is in it", async ({ directories, files, root }) => {
    await directories.make(`${root}/a/b`);
    await write(files, `${root}/a/b/f`);
    assert.equal((await directories.remove(`${root}/a`)).kind, "ok");
    assert.equal((await directories.remove(`${root}/a`)).kind, "ok");
    assert.deepEqual(names(await directories.list(root, 9)), []);
  });
}
