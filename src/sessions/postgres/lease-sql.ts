/** Takes, renews or gives back a lease. The stored function has its own names for the columns: see functions.ts. */
export const leaseSql = (schema: string): string =>
  `select outcome, writer, began, term as epoch, reached as head, summary, waiting as inbox, died as died_process,
  aboard as died_with from ${schema}.lease_2($1::text, $2::text, $3::float8, $4::bigint, $5::boolean, $6::boolean, $7::text,
  $8::boolean, $9::float8)`

/**
 * The condition that no other transaction has locked the row of this lease. A group that waits for such a lock holds up every
 * other lease in the group. The waiting group may itself hold the lock on the row of this process. The process could then not
 * renew its heartbeat, and after `ttlMs` others could take all of its sessions.
 */
export const leaseFreeSql = (schema: string): string => {
  const held = `select from ${schema}.session join ${schema}.lease as held on held.session = session.key where id = $1::text`
  // The offset keeps the planner from reading all leases at once.
  return `(exists (${held} for update of held skip locked) or not exists (${held} offset 0))`
}

/** Releases the leases of a process that closes its store, so that other processes need not wait until they expire. */
export const releaseAllSql = (schema: string): string =>
  `with given as (delete from ${schema}.lease where process = $1 and expires is null) delete from ${schema}.process where id = $1`
