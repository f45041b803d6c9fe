import { SessionNotFoundError } from '../../core/errors.ts'
import { failpoint } from '../../core/log.ts'
import type { BlobStore } from '../../core/store.ts'
import { sha256Hex } from '../bytes.ts'
import type { PostgresTables } from './tables.ts'
import { fromText, toId, toText } from './values.ts'

/** The blobs of a session. A fork also finds those of the sessions whose entries it shares. */
export function createBlobs(tables: PostgresTables, id: string): BlobStore {
  const { schema } = tables
  const session = toId(id)
  const own = `session = (select key from ${schema}.session where id = $1)`
  return {
    async put(bytes) {
      const copy = new Uint8Array(bytes)
      const name = await sha256Hex(copy)
      const [row] = await tables.write(
        `with owner as (select key from ${schema}.session where id = $1 for key share), added as (
          insert into ${schema}.blob (session, name, bytes) select key, $2::text, $3::bytea from owner on conflict do nothing
        ) select key from owner`,
        [session, name, copy],
      )
      failpoint('postgres.blob.after')
      if (!row) throw new SessionNotFoundError(id)
      return name
    },
    async get(name) {
      const [row] = await tables.read(
        `with recursive chain (key, base) as (
          select key, base from ${schema}.session where id = $1
          union all select shared.key, shared.base from chain join ${schema}.session as shared on shared.key = chain.base
        ) select bytes from chain join ${schema}.blob on blob.session = chain.key where name = $2 limit 1`,
        [session, toText(name)],
      )
      return row && new Uint8Array(row.bytes as Uint8Array)
    },
    async names() {
      const rows = await tables.read(`select name from ${schema}.blob where ${own}`, [session])
      return rows.map(({ name }) => fromText(String(name)))
    },
    async delete(name) {
      await tables.write(`delete from ${schema}.blob where ${own} and name = $2`, [session, toText(name)])
    },
  }
}
