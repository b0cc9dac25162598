import assert from "node:assert/strict";
import { tempDir } from "../testing/temp_dir.ts";
import { type Database, type DatabaseOptions, openDatabase } from "./sqlite.ts";

const migrations = ["CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT"];

function opened(path: string, options: DatabaseOptions = { migrations }): Database {
  const outcome = openDatabase(path, options);
  assert.ok(outcome.kind === "open", JSON.stringify(outcome));
  return outcome.database;
}

Deno.test("sqlite: makes, migrates, keeps; WAL, FULL, 0600", async () => {
  await using dir = await tempDir();
  {
    using database = opened(dir.at("d"));
    assert.equal(database.run("INSERT INTO t (text) VALUES (?)", "one"), 1);
    assert.equal(database.get("PRAGMA journal_mode")?.["journal_mode"], "wal");
    assert.equal(database.get("PRAGMA synchronous")?.["synchronous"], 2);
  }
  using again = opened(dir.at("d"), {
    migrations: [...migrations, "ALTER TABLE t ADD COLUMN more INTEGER"],
    quickCheckBytes: 1_000_000,
  });
  assert.deepEqual({ ...again.get("SELECT * FROM t") }, { id: 1, text: "one", more: null });
  assert.equal(again.get("SELECT * FROM t WHERE id = ?", 9), null);
  assert.equal(again.all("SELECT * FROM t").length, 1);
  if (Deno.build.os !== "windows") {
    for (const name of ["d", "d-wal", "d-shm"]) {
      assert.equal(((await Deno.stat(dir.at(name))).mode ?? 0) & 0o777, 0o600, name);
    }
  }
});

Deno.test("sqlite: a transaction that throws leaves nothing", async () => {
  await using dir = await tempDir();
  using database = opened(dir.at("d"));
  const insert = () => database.run("INSERT INTO t (text) VALUES (?)", "x");
  assert.throws(() =>
    database.transaction(() => {
      insert();
      throw new Error("no");
    }), /no/);
  assert.equal(database.all("SELECT * FROM t").length, 0);
  assert.equal(database.transaction(insert), 1);
  assert.equal(database.all("SELECT * FROM t").length, 1);
});

Deno.test("sqlite: what is written soon is there, and what comes after it waits again", async () => {
  await using dir = await tempDir();
  using database = opened(dir.at("d"));
  const level = () => database.get("PRAGMA synchronous")?.["synchronous"];
  assert.equal(database.runSoon("INSERT INTO t (text) VALUES (?)", "one"), 1);
  assert.equal(level(), 2);
  assert.throws(() => database.runSoon("INSERT INTO t (text) VALUES (?)", null), /NOT NULL/);
  assert.equal(level(), 2);
  using other = opened(dir.at("d"));
  assert.equal(other.all("SELECT * FROM t").length, 1);
});

Deno.test("sqlite: newer, damaged, misplaced and badly migrated are four refusals", async () => {
  await using dir = await tempDir();
  const code = (path: string, options: DatabaseOptions) => {
    const outcome = openDatabase(path, options);
    assert.ok(outcome.kind === "refused");
    return outcome.code;
  };
  opened(dir.at("d")).close();
  assert.equal(code(dir.at("d"), { migrations: [] }), "database_too_new");
  await Deno.writeTextFile(dir.at("text"), "not a database ".repeat(100));
  assert.equal(code(dir.at("text"), { migrations }), "database_corrupt");
  assert.equal(code(dir.at("missing/d"), { migrations }), "database_unavailable");
  const broken = { migrations: [...migrations, "CREATE TABLE u (x); NONSENSE"] };
  assert.equal(code(dir.at("d"), broken), "database_unavailable");
  using database = opened(dir.at("d")); // the half migration was taken back
  assert.equal(database.all("SELECT name FROM sqlite_schema WHERE name = 'u'").length, 0);
});

Deno.test("sqlite: quick_check sees a damaged page", async () => {
  await using dir = await tempDir();
  {
    using database = opened(dir.at("d"));
    for (let n = 0; n < 200; n++) database.run("INSERT INTO t (text) VALUES (?)", "x".repeat(100));
  }
  using file = await Deno.open(dir.at("d"), { write: true, read: true });
  await file.seek(4096, Deno.SeekMode.Start);
  await file.write(new Uint8Array(4096).fill(0x55));
  const outcome = openDatabase(dir.at("d"), { migrations, quickCheckBytes: 1_000_000 });
  assert.ok(outcome.kind === "refused" && outcome.code === "database_corrupt");
  // A file above the bound is not looked through: whoever reads the page is told.
  using large = opened(dir.at("d"), { migrations, quickCheckBytes: 4096 });
  assert.throws(() => large.all("SELECT * FROM t"), /malformed/);
});
