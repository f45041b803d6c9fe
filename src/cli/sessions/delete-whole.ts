import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../../core/clock.ts'
import { messageOf, StoreError } from '../../core/errors.ts'
import type { SessionStore, SessionSummary } from '../../core/store.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { deleteUnlessHeld, isUnchanged } from '../../sessions/prune.ts'
import { snapshotsPath } from '../assembly/snapshot-options.ts'
import type { Io } from '../io.ts'

interface DeleteOptions {
  readonly io: Pick<Io, 'home' | 'cwd' | 'err'>
  /** `named`: a person named them. `unchanged`: only those that are as their summaries say, and have no mail. */
  readonly which: 'named' | 'unchanged'
}

/**
 * Deletes sessions with what belongs to them outside of the store: grants for the session, and its snapshots of
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
    }).catch((error) => deleteDamaged(store, id, error))
    if (isDeleted) deleted.push(session)
  }
  await removeSnapshots(
    deleted.map(({ id }) => id),
    io,
  )
  await attempt('The used approvals of these sessions', async () => {
    const { forgetUsedAnswers } = await import('../../authority/grants/used-answers.ts')
    await forgetUsedAnswers(
      io.home,
      deleted.map(({ id }) => id),
    )
  })
  return deleted
}

/** No process can work on a damaged session. */
async function deleteDamaged(store: SessionStore, id: string, error: unknown): Promise<true> {
  if (!(error instanceof StoreError) || error.code !== 'corrupt') throw error
  await store.delete(id)
  return true
}

/** Removes the snapshots that sessions have of files. */
export async function removeSnapshots(ids: readonly string[], { home, err }: Pick<Io, 'home' | 'err'>): Promise<void> {
  const store = snapshotsPath(home)
  if (ids.length === 0 || !existsSync(store)) return
  const { FileHistory } = await import('../../snapshots/file-history.ts')
  const { createProcessContext } = await import('../../execution/process.ts')
  const files = new FileHistory({ execution: createProcessContext({ cwd: home }), clock: systemClock, store })
  await files
    .forget(ids)
    .catch((error) => err(`Snapshots of files were not deleted: ${fullyVisible(messageOf(error))}`))
    .finally(() => files.close())
}
