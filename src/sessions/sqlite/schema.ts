import type { DatabaseSync } from 'node:sqlite'
import { failpoint } from '../../core/log.ts'
import { createListIndexes } from './list-indexes.ts'
import { CachedStatements } from './statements.ts'
import { fillSummaries, recodeTexts } from './upgrade.ts'

/** Marks the file as a database of Libero: "Libe". */
export const applicationId = 0x4c_69_62_65

/**
 * The SQL that upgrades the tables from each version to the next. A published migration is never changed; new ones are added.
 *
 * `body` is JSON and `sum` its checksum. Texts of callers are encoded as in stored-values.ts. `sessions.head` repeats the
 * highest `seq`, so that lost entries at the end are noticed.
 */
export const migrations: readonly string[] = [
  `
  CREATE TABLE store (name TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO store VALUES ('identity', lower(hex(randomblob(16)))), ('epochs', 0);

  CREATE TABLE sessions (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    parent TEXT,
    head INTEGER NOT NULL DEFAULT 0,
    epoch INTEGER NOT NULL DEFAULT 0,
    owner TEXT NOT NULL DEFAULT '',
    since REAL NOT NULL DEFAULT 0,
    expires REAL NOT NULL DEFAULT 0,
    ttl REAL NOT NULL DEFAULT 0
  ) STRICT;

  -- place: see entryKey in stored-values.ts.
  CREATE TABLE entries (
    place INTEGER PRIMARY KEY,
    at REAL,
    sum INTEGER NOT NULL,
    body TEXT NOT NULL,
    session INTEGER AS (place >> 26) VIRTUAL,
    seq INTEGER AS (place & 67108863) VIRTUAL
  ) STRICT;

  -- A message without a body was delivered; its key stays known.
  CREATE TABLE inbox (
    position INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    client_key TEXT NOT NULL,
    sum INTEGER,
    body TEXT,
    UNIQUE (session, client_key)
  ) STRICT;

  -- By id: a blob may be written before its session has a row.
  CREATE TABLE blobs (
    session TEXT NOT NULL,
    name TEXT NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (session, name)
  ) STRICT;
  `,
  // Leases that end with their process, the check after an unclean stop, and indexes for inboxes and children.
  `
  ALTER TABLE sessions ADD COLUMN process TEXT;
  CREATE TABLE openers (id TEXT PRIMARY KEY, process TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX waiting ON inbox (session, position) WHERE body IS NOT NULL;
  CREATE INDEX children ON sessions (parent) WHERE parent IS NOT NULL;
  `,
  // Summaries beside the logs, forks that share entries, and leases that name a store instance.
  `
  -- record: see stored-summary.ts; the columns up to has_mail repeat what lists ask for. created is NULL in a session that is
  -- in no list: it has no entry, or it was deleted and a fork shares its entries.
  -- base: the session whose entries up to base_head are the first ones of this session.
  ALTER TABLE sessions ADD COLUMN record TEXT;
  ALTER TABLE sessions ADD COLUMN record_sum INTEGER;
  ALTER TABLE sessions ADD COLUMN updated REAL;
  ALTER TABLE sessions ADD COLUMN created REAL;
  ALTER TABLE sessions ADD COLUMN status TEXT;
  ALTER TABLE sessions ADD COLUMN needs_attention INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE sessions ADD COLUMN tenant TEXT;
  ALTER TABLE sessions ADD COLUMN kind TEXT;
  ALTER TABLE sessions ADD COLUMN folder TEXT;
  ALTER TABLE sessions ADD COLUMN has_mail INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE sessions ADD COLUMN base INTEGER;
  ALTER TABLE sessions ADD COLUMN base_head INTEGER;
  ALTER TABLE sessions ADD COLUMN base_sum INTEGER;
  ALTER TABLE sessions ADD COLUMN opener INTEGER;

  CREATE TABLE tags (
    session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
    tag TEXT NOT NULL,
    updated REAL NOT NULL,
    created REAL NOT NULL,
    id TEXT NOT NULL,
    PRIMARY KEY (session, tag)
  ) STRICT;

  ${createListIndexes()};
  CREATE INDEX forks ON sessions (base) WHERE base IS NOT NULL;
  CREATE INDEX held ON sessions (opener) WHERE opener IS NOT NULL;

  -- openers: a row for each store instance (store-instances.ts); sessions.opener is the one that has the lease. A row stays as
  -- long as a lease names it. is_checked: the file was checked after this instance had ended without closing it. leases: how
  -- many the instance had then.
  ALTER TABLE openers RENAME TO old_openers;
  CREATE TABLE openers (
    key INTEGER PRIMARY KEY,
    process TEXT NOT NULL,
    is_checked INTEGER NOT NULL DEFAULT 0,
    leases INTEGER
  ) STRICT;
  INSERT INTO openers (process) SELECT process FROM old_openers
    UNION SELECT process FROM sessions WHERE process IS NOT NULL AND expires > 0;
  UPDATE sessions SET opener = (SELECT key FROM openers WHERE openers.process = sessions.process) WHERE expires > 0;
  DROP TABLE old_openers;
  ALTER TABLE sessions DROP COLUMN process;
  `,
]

/** The version of the tables, as in `PRAGMA user_version`. */
export const schemaVersion = migrations.length

/** Upgrades the tables and what is in them. Requires a transaction. */
export function migrate(database: DatabaseSync, path: string, from: number): void {
  for (let version = from; version < schemaVersion; version++) {
    for (const statement of migrations[version]!.split(/;\n/)) {
      failpoint('sqlite.migrate.step')
      if (statement.trim()) database.exec(statement)
    }
    database.exec(`PRAGMA user_version = ${version + 1}`)
  }
  if (from === 0) database.exec(`PRAGMA application_id = ${applicationId}`)
  else if (from < 3) {
    const statements = new CachedStatements(database, path)
    recodeTexts(statements)
    fillSummaries(statements)
  }
  failpoint('sqlite.migrate.step')
}
