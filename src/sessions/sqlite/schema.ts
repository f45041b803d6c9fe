import type { DatabaseSync } from 'node:sqlite'
import { failpoint } from '../../core/log.ts'

/** Marks the file as a database of Libero: "Libe". */
export const applicationId = 0x4c_69_62_65

/**
 * The migrations. A published step is never changed; new ones are added.
 *
 * `body` is JSON and `sum` its checksum. Ids and keys are encoded as in stored-values.ts. `sessions.head` repeats the highest
 * `seq`, so that lost entries at the end are noticed.
 */
export const steps: readonly string[] = [
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
]

/** Upgrades the tables. Requires a transaction. */
export function migrate(database: DatabaseSync, from: number): void {
  for (let version = from; version < steps.length; version++) {
    for (const statement of steps[version]!.split(/;\n/)) {
      failpoint('sqlite.migrate.step')
      if (statement.trim()) database.exec(statement)
    }
    database.exec(`PRAGMA user_version = ${version + 1}`)
  }
  if (from === 0) database.exec(`PRAGMA application_id = ${applicationId}`)
  failpoint('sqlite.migrate.step')
}
