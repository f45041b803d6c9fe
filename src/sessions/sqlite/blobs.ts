import { failpoint } from '../../core/log.ts'
import { digestOf } from '../../platform/digest.ts'
import type { Connection } from './connection.ts'
import { textOfKey } from './keys.ts'
import { corruptError } from './problems.ts'

/** Inside a transaction: keeps bytes under a name that they are found by. */
export function putBlob(connection: Connection, session: string, name: string, bytes: Uint8Array): void {
  connection.statement('INSERT INTO blobs VALUES (?, ?, ?) ON CONFLICT DO NOTHING').run(textOfKey(session), name, bytes)
  failpoint('sqlite.blob.beforeCommit')
}

/** The bytes of that name, as they were put, or an error. */
export function getBlob(connection: Connection, session: string, name: string): Uint8Array | undefined {
  const row = connection
    .statement('SELECT bytes FROM blobs WHERE session = ? AND name = ?')
    .get(textOfKey(session), textOfKey(name))
  if (!row) return undefined
  const bytes = row.bytes
  if (!(bytes instanceof Uint8Array) || digestOf(bytes) !== name)
    throw corruptError(connection.path, `blob ${name} of session ${session} is not what was put`)
  return bytes
}
