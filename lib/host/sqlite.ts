/**
 * One sqlite file, one writer process: WAL, synchronous FULL, cached statements, a schema that is
 * brought up to date at open and never taken back.
 *
 * @module
 */

import {
  DatabaseSync,
  type SQLInputValue,
  type SQLOutputValue,
  type StatementSync,
} from "node:sqlite";
import { type Refusal, refuse } from "../core/refusal.ts";
import { causeOf } from "./os_error.ts";

/** One row by column name. */
export type Row = Readonly<Record<string, SQLOutputValue>>;

/** How a file becomes a database. */
export interface DatabaseOptions {
  /** Scripts, oldest first; `user_version` counts those that were run. Never edit one, only add. */
  readonly migrations: readonly string[];
  /** How long to wait for another connection's write, in milliseconds. Default 5000. */
  readonly busyMs?: number;
  /**
   * Runs `PRAGMA quick_check` first, unless the file has more bytes: it reads the whole file, some 80 MB
   * a second. Damage in a larger one is found by whoever reads the page.
   */
  readonly quickCheckBytes?: number;
}

/** What opening gave. */
export type DatabaseOpened =
  | { readonly kind: "open"; readonly database: Database }
  | (
    & Refusal<
      | "database_unavailable" // cannot be opened, created or migrated
      | "database_corrupt" // not a database, or quick_check found damage
      | "database_too_new" // a later version of this program wrote it
    >
    & { readonly cause: string }
  );

/** Opens or creates the database at `path`, mode 0600. */
export function openDatabase(path: string, options: DatabaseOptions): DatabaseOpened {
  let database: DatabaseSync | null = null;
  const no = (refusal: DatabaseOpened): DatabaseOpened => {
    database?.close();
    return refusal;
  };
  try {
    // sqlite would make it 0644; WAL and shm files take the mode of the database.
    Deno.openSync(path, { read: true, write: true, create: true, mode: 0o600 }).close();
    database = new DatabaseSync(path, { enableForeignKeyConstraints: true });
    database.exec(`PRAGMA busy_timeout = ${Math.trunc(options.busyMs ?? 5000)}`);
    database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    if (Deno.statSync(path).size <= (options.quickCheckBytes ?? -1)) {
      const found = Object.values(database.prepare("PRAGMA quick_check(1)").get() ?? {})[0];
      if (found !== "ok") return no(corrupt(String(found)));
    }
    const version = migrate(database, options.migrations);
    if (version > options.migrations.length) return no(tooNew(version, options.migrations.length));
    return { kind: "open", database: new Database(database) };
  } catch (error) {
    const cause = causeOf(error);
    if (/malformed|not a database/.test(cause)) return no(corrupt(cause));
    return no({
      ...refuse("database_unavailable", "the database cannot be opened, created or migrated"),
      cause,
    });
  }
}

/** Runs what is missing in one transaction, which ends with the connection when a script fails. */
function migrate(database: DatabaseSync, migrations: readonly string[]): number {
  database.exec("BEGIN IMMEDIATE");
  const found = Number(database.prepare("PRAGMA user_version").get()?.["user_version"]);
  for (const script of migrations.slice(found)) database.exec(script);
  if (found < migrations.length) database.exec(`PRAGMA user_version = ${migrations.length}`);
  database.exec("COMMIT");
  return found;
}

function corrupt(cause: string): DatabaseOpened {
  const detail = "the file is damaged or not a database";
  const next = "keep a copy, then restore the file from a backup";
  return { ...refuse("database_corrupt", detail, next), cause };
}

function tooNew(found: number, known: number): DatabaseOpened {
  const detail = `observed schema version ${found}, expected at most ${known}`;
  const next = "run the version of this program that wrote the file, or a later one";
  return { ...refuse("database_too_new", detail, next), cause: detail };
}

/** An open database. Statements are prepared once per text: pass values as parameters. */
export class Database implements Disposable {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** Runs a statement; returns how many rows it changed. On the disk when it returns. */
  run(sql: string, ...values: readonly SQLInputValue[]): number {
    return Number(this.#prepared(sql).run(...values).changes);
  }

  /** The first row, or null. */
  get(sql: string, ...values: readonly SQLInputValue[]): Row | null {
    return this.#prepared(sql).get(...values) ?? null;
  }

  /** Every row. */
  all(sql: string, ...values: readonly SQLInputValue[]): readonly Row[] {
    return this.#prepared(sql).all(...values);
  }

  /** All of `act` or, when it throws, nothing of it. Synchronous on purpose; does not nest. */
  transaction<T>(act: () => T extends PromiseLike<unknown> ? never : T): T {
    this.#prepared("BEGIN IMMEDIATE").run();
    try {
      const result = act();
      this.#prepared("COMMIT").run();
      return result;
    } catch (error) {
      // A full disk rolls back by itself, and a second ROLLBACK would hide the first error.
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw error;
    }
  }

  /**
   * Like `run`, without waiting for the disk. The death of this process loses nothing; a power cut may
   * lose it, unless something that waits was written after it: what waits takes all before it along.
   */
  runSoon(sql: string, ...values: readonly SQLInputValue[]): number {
    this.#database.exec("PRAGMA synchronous = NORMAL");
    try {
      return this.run(sql, ...values);
    } finally {
      this.#database.exec("PRAGMA synchronous = FULL");
    }
  }

  close(): void {
    this.#statements.clear();
    this.#database.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #prepared(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}
