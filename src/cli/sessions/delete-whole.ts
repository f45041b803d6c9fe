import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../../core/clock.ts'
import { messageOf, StoreError } from '../../core/errors.ts'
import type { SessionStore, SessionSummary } from '../../core/store.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { deleteUnlessHeld, isUnchanged } from '../../sessions/prune.ts'
import type { Io } from '../io.ts'
import { isAgentId } from './session-id.ts'

interface DeleteOptions {
  readonly io: Pick<Io, 'home' | 'cwd' | 'err'>
  /** `named`: a person named them. `unchanged`: only those that are as their summaries say, and have no mail. */
  readonly which: 'named' | 'unchanged'
}

/**
 * Deletes sessions with what belongs to them outside of the store: grants for the session, and an agent's snapshots of
 * files. The audit stays. A session that a process holds is kept. Returns those that were deleted.
 */
export async function deleteWhole(
  store: SessionStore,
  sessions: readonly SessionSummary[],
  { io, which }: DeleteOptions,
): Promise<readonly SessionSummary[]> {
  const deleted: SessionSummary[] = []
  if (sessions.length === 0) return deleted
  const attempt = async (what: string, work: () => Promise<unknown>): Promise<void> => {
    // What is left over harms nothing, so that it does not keep a session from being deleted.
    await work().catch((error) => io.err(`${what} could not be deleted: ${fullyVisible(messageOf(error))}`))
  }
  await attempt('Grants for these sessions', async () => {
    const { forgetSessionGrants } = await import('../../authority/grants/forget-sessions.ts')
    const ids = sessions.map(({ id }) => id)
    await forgetSessionGrants(io.home, ids)
  })
  // Earlier versions kept the titles of all sessions here.
  await attempt('The list of earlier versions', () => rm(join(io.home, 'session-list.json'), { force: true }))
  for (const session of sessions) {
    const { id } = session
    const isDeleted = await deleteUnlessHeld(store, id, {
      isMeant: which === 'named' ? () => true : isUnchanged(session),
      before: () => isAgentId(id) && removeSnapshots(store, id, io),
    }).catch((error) => deleteDamaged(store, id, error))
    if (isDeleted) deleted.push(session)
  }
  return deleted
}

/** No process can work on a damaged session. */
async function deleteDamaged(store: SessionStore, id: string, error: unknown): Promise<true> {
  if (!(error instanceof StoreError) || error.code !== 'corrupt') throw error
  await store.delete(id)
  return true
}

/** Removes an agent's snapshots of files from the repositories in which it worked. */
export async function removeSnapshots(
  store: SessionStore,
  agentId: string,
  { cwd, err }: Pick<Io, 'cwd' | 'err'>,
): Promise<void> {
  const { snapshotsOf } = await import('../../workflow/rollback/snapshots-of.ts')
  const taken = await snapshotsOf(store, agentId)
  if (taken.length === 0) return
  const { FileHistory } = await import('../../workflow/rollback/file-history.ts')
  const { createProcessContext } = await import('../../execution/process.ts')
  const files = new FileHistory({ execution: createProcessContext({ cwd }), clock: systemClock })
  await files
    .remove(taken)
    .catch((error) => err(`Snapshots of ${fullyVisible(agentId)} were not deleted: ${fullyVisible(messageOf(error))}`))
    .finally(() => files.close())
}
