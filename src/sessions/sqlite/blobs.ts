import { failpoint } from '../../core/log.ts'
import { digestOf } from '../../platform/digest.ts'
import { baseOf } from './base.ts'
import { corruptError } from './problems.ts'
import type { SessionRow } from './session-rows.ts'
import type { SqlDatabase } from './statements.ts'
import { decodeText, encodeText } from './stored-values.ts'

/** Stores bytes under their name. Requires a transaction. */
export function putBlob(database: SqlDatabase, session: string, name: string, bytes: Uint8Array): void {
  const insert = 'INSERT INTO blobs VALUES (?, ?, ?) ON CONFLICT DO NOTHING'
  database.statement(insert).run(encodeText(session), name, bytes)
  failpoint('sqlite.blob.beforeCommit')
}

/** The blob with this name, of the session itself or of a session from which it was forked. `row`: the row of the session, if it has one. */
export function findBlob(
  database: SqlDatabase,
  session: string,
  name: string,
  row: SessionRow | undefined,
): Uint8Array | undefined {
  const own = ownBlob(database, encodeText(session), name)
  if (own || !row) return own
  for (let base = baseOf(database, row); base; base = baseOf(database, base.row)) {
    const shared = ownBlob(database, base.row.id, name)
    if (shared) return shared
  }
  return undefined
}

/** Throws if the bytes are not what was stored. */
function ownBlob(database: SqlDatabase, session: string, name: string): Uint8Array | undefined {
  const select = 'SELECT bytes FROM blobs WHERE session = ? AND name = ?'
  const bytes = database.statement(select).get(session, encodeText(name))?.bytes
  if (bytes === undefined) return undefined
  if (!(bytes instanceof Uint8Array) || digestOf(bytes) !== name)
    throw corruptError(database.path, `blob ${name} of session ${decodeText(session)} is not what was put`)
  return bytes
}

export function blobNames(database: SqlDatabase, session: string): string[] {
  const rows = database.statement('SELECT name FROM blobs WHERE session = ?').all(encodeText(session))
  return rows.map(({ name }) => String(name))
}

/** Requires a transaction. */
export function deleteBlob(database: SqlDatabase, session: string, name: string): void {
  database.statement('DELETE FROM blobs WHERE session = ? AND name = ?').run(encodeText(session), encodeText(name))
}
