import type { DatabaseSync } from 'node:sqlite'
import { failpoint } from '../../core/log.ts'

/** Marks the file as ours: "Libe". */
export const applicationId = 0x4c_69_62_65

/**
 * How the tables came to be what they are. A step that was published is never changed; what comes later is added.
 *
 * `body` is JSON, `sum` its checksum (see sealed.ts). Ids and keys are text as of keys.ts. `sessions.head` repeats the
 * highest `seq`, so that entries that were lost at the end are missed.
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

  -- See places.ts: one tree to write to, in the order in which it is read.
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
  // Leases that end with their process, the check after an unclean stop, and what makes inboxes and families quick to find.
  `
  ALTER TABLE sessions ADD COLUMN process TEXT;
  CREATE TABLE openers (id TEXT PRIMARY KEY, process TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX waiting ON inbox (session, position) WHERE body IS NOT NULL;
  CREATE INDEX children ON sessions (parent) WHERE parent IS NOT NULL;
  `,
]

/** Brings the tables up to date. Must run inside a transaction, which makes it all or nothing. */
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
