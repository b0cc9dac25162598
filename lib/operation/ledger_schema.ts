/**
 * How the ledger's rows are kept. Scripts are never edited, only added to.
 *
 * @module
 */

/** For `openDatabase`. */
export const LEDGER_MIGRATIONS: readonly string[] = [
  `CREATE TABLE runs (
     seq INTEGER PRIMARY KEY AUTOINCREMENT,
     id TEXT NOT NULL UNIQUE,
     key TEXT NOT NULL UNIQUE,
     fingerprint TEXT NOT NULL,
     principal TEXT NOT NULL,
     operation TEXT NOT NULL,
     epoch TEXT NOT NULL,
     state TEXT NOT NULL CHECK (state IN ('running', 'done', 'refused', 'failed')),
     step TEXT,
     effect TEXT NOT NULL CHECK (effect IN ('none', 'unknown', 'applied')),
     code TEXT,
     detail TEXT,
     result TEXT,
     truncated INTEGER NOT NULL DEFAULT 0,
     forgotten INTEGER NOT NULL DEFAULT 0,
     started_at INTEGER NOT NULL,
     ended_at INTEGER
   ) STRICT;
   CREATE INDEX runs_running ON runs (seq) WHERE state = 'running';
   CREATE INDEX runs_kept ON runs (seq) WHERE forgotten = 0 AND state <> 'running';`,
];
