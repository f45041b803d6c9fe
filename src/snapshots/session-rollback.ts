import { closeCallsInAllChildSessions } from '../core/children.ts'
import { SessionBusyError } from '../core/errors.ts'
import { type EntryBody, type EntryOf, failpoint } from '../core/log.ts'
import type { Session } from '../core/store.ts'
import { Transcript } from '../core/transcript.ts'
import type { SessionTurn } from '../core/turn.ts'
import {
  type FileSnapshots,
  type RollbackPlan,
  type RollbackResult,
  type Snapshot,
  SnapshotsUnavailableError,
  type Work,
} from './file-snapshots.ts'
import { RollbackRefusedError } from './rollback-error.ts'
import { type BegunRollback, noteEntry, type RollbackScope, Timeline } from './timeline.ts'

/** What to undo, and how far. */
export interface RollbackOptions {
  /** The number of the last entry to keep: what came after it is undone. */
  readonly to: number
  /** Default `both`. */
  readonly scope?: RollbackScope
  /** Files that were changed since are restored too; the undo of the rollback brings them back. */
  readonly force?: boolean
}

/** What a rollback would do. */
export interface SessionRollbackPlan {
  /** The turns that would leave the conversation. */
  readonly turns: readonly SessionTurn[]
  /** Absent with the scope `conversation`. */
  readonly files?: RollbackPlan
}

/** What a rollback has done. */
export interface SessionRollbackResult {
  /** How many turns left the conversation, or came back to it. */
  readonly turns: number
  readonly files?: Omit<RollbackResult, 'undo'>
}

/** What became of a rollback that a crash interrupted. */
export interface InterruptedRollback {
  /**
   * `finished`: the files are as the rollback wanted them. `not begun`: nothing had been changed. `unfinished`: it is one of
   * another session in the same folder, whose next run or rollback finishes it.
   */
  readonly outcome: 'finished' | 'not begun' | 'unfinished'
  readonly session: string
  readonly files?: Omit<RollbackResult, 'undo'>
}

const noWork: RollbackPlan = { restore: [], delete: [], conflicts: [] }

export async function planRollback(
  session: Session,
  files: FileSnapshots,
  { to, scope = 'both', force = false }: RollbackOptions,
): Promise<SessionRollbackPlan> {
  checkTo(session, to)
  const turns = scope === 'files' ? [] : (await turnsUpTo(session, session.log.head)).filter(({ seq }) => seq > to)
  const shown = turns.map(({ turn }) => turn)
  if (scope === 'conversation') return { turns: shown }
  const timeline = await Timeline.read(session.entries())
  const isUnfinished = timeline.isOpen || timeline.isRollingBack
  if (isUnfinished && (await session.store?.find(session.id))?.isHeld) throw atWork(session)
  const work = await workAfter(timeline, session, files, { to, force })
  return { turns: shown, files: work.length === 0 ? noWork : await files.plan(work, { force }).catch(refuse) }
}

/**
 * Rewinds the conversation, restores files, or both. The log is written first: from then on the rollback counts, and a
 * process that finds it unfinished restores the rest of the files.
 */
export function rollback(
  session: Session,
  files: FileSnapshots,
  options: RollbackOptions & Reporting,
): Promise<SessionRollbackResult> {
  const { to, scope = 'both', force = false } = options
  return whileHeld(session, async () => {
    checkTo(session, to)
    await finishFirst(session, files, options)
    const before = session.log.transcript.turnCount
    const begun = { id: crypto.randomUUID(), to, scope }
    const timeline = await Timeline.read(session.entries())
    const work = scope === 'conversation' ? [] : await workAfter(timeline, session, files, { to, force })
    const done = await apply(session, files, { begun, work, force })
    return { turns: before - session.log.transcript.turnCount, ...done }
  })
}

/** Undoes the last rollback, or the last undo of one. */
export function undoRollback(
  session: Session,
  files: FileSnapshots,
  options: { readonly force?: boolean } & Reporting = {},
): Promise<SessionRollbackResult> {
  const { force = false } = options
  return whileHeld(session, async () => {
    await finishFirst(session, files, options)
    const timeline = await Timeline.read(session.entries())
    const last = timeline.lastRollback
    if (!last?.rollback)
      throw new RollbackRefusedError('nothing_to_undo', `nothing was rolled back in session ${session.id}`)
    const { id, scope, before, added } = last.rollback
    const work = before && last.after ? [{ before, after: last.after }] : []
    const begun = { id: crypto.randomUUID(), to: last.seq - 1, scope }
    if (scope === 'files') return { turns: 0, ...(await apply(session, files, { begun, work, force })) }
    const lastOwn = added === undefined ? timeline.rewindOf(id)! : last.seq + added
    if (timeline.lastTurn > lastOwn)
      throw new RollbackRefusedError(
        'went_on',
        `the conversation of session ${session.id} went on after the rollback, so it stays as it is; fork the session at entry ${last.seq - 1} to have the earlier turns`,
      )
    if (added !== undefined) return { turns: added, ...(await apply(session, files, { begun, work, force })) }
    const turns = (await turnsUpTo(session, last.seq - 1)).filter(({ seq }) => seq > last.rollback!.to)
    // What they used is counted already.
    const restore = turns.map(({ turn: { usage: _, ...turn }, entry }): EntryBody => ({ ...entry, type: 'turn', turn }))
    const done = await apply(session, files, { begun: { ...begun, added: turns.length }, work, force, restore })
    return { turns: turns.length, ...done }
  })
}

interface Reporting {
  readonly onInterrupted?: ((rollback: InterruptedRollback) => void) | undefined
}

async function finishFirst(session: Session, files: FileSnapshots, { onInterrupted }: Reporting): Promise<void> {
  const interrupted = await finishInterrupted(session, files).catch(refuse)
  if (interrupted) onInterrupted?.(interrupted)
}

/** Finishes a rollback that a crash interrupted. The session is open. */
export async function finishInterrupted(
  session: Session,
  files: FileSnapshots,
): Promise<InterruptedRollback | undefined> {
  const found = await files.interrupted(session.id)
  if (!found) return undefined
  const { id } = found.detail as Pick<BegunRollback, 'id'>
  const timeline = await Timeline.read(session.entries())
  const piece = timeline.rollbackOf(id)
  if (!piece) {
    await files.end(session.id)
    return { outcome: 'not begun', session: session.id }
  }
  const { undo, ...result } = await files.finish(session.id)
  if (!piece.after) await session.log.append(noteEntry({ done: id, after: undo.after }))
  await files.end(session.id)
  return { outcome: 'finished', session: session.id, files: result }
}

/** Those of the given sessions, without this one, whose rollback no process continues: it is dead, or is not known. */
export async function leftUnfinished(session: Session, owners: readonly string[]): Promise<readonly string[]> {
  const left: string[] = []
  for (const id of owners) if (id !== session.id && !(await session.store?.find(id))?.isHeld) left.push(id)
  return left
}

interface Applying {
  readonly begun: BegunRollback
  readonly work: readonly Work[]
  readonly force: boolean
  /** Turns that come back. */
  readonly restore?: readonly EntryBody[]
}

async function apply(
  session: Session,
  files: FileSnapshots,
  { begun, work, force, restore }: Applying,
): Promise<Omit<SessionRollbackResult, 'turns'>> {
  const { id, scope, to } = begun
  let isLogged = false
  const commit = async (before?: Snapshot): Promise<void> => {
    const note = noteEntry({ rollback: { ...begun, ...(before && { before }) } })
    if (scope === 'files') await session.log.append(note)
    else if (restore) await session.log.appendAll([note, ...restore])
    else await rewindWith(session, note, to)
    isLogged = true
    failpoint('rollback.logged')
  }
  if (scope === 'conversation') {
    await commit()
    return {}
  }
  const owner = session.id
  const isAtWork = async (other: string): Promise<boolean> => (await session.store?.find(other))?.isHeld === true
  const { undo, ...result } = await files
    .rollback(work, { owner, force, detail: { id }, isAtWork, commit })
    .catch(async (error) => {
      if (isLogged) throw error
      // A store may fail after it has written: what is in the log counts, and the next run finishes it.
      const timeline = await Timeline.read(session.entries())
      if (!timeline.rollbackOf(id)) await files.end(owner).catch(() => {}) // else the next run does it
      return refuse(error)
    })
  await session.log.append(noteEntry({ done: id, after: undo.after }))
  failpoint('rollback.done')
  await files.end(owner)
  return { files: result }
}

/** Without the snapshots that it needs, such as those that were removed, a rollback is refused. */
function refuse(error: unknown): never {
  if (error instanceof SnapshotsUnavailableError)
    throw new RollbackRefusedError('not_kept', error.message, { cause: error })
  throw error
}

/** In one append, unless earlier turns have to be read for the rewind. */
async function rewindWith(session: Session, note: EntryBody, to: number): Promise<void> {
  const { log } = session
  await closeCallsInAllChildSessions(session)
  if (log.transcript.canRewindTo(to)) await log.appendAll([note, { type: 'rewind', toSeq: to }])
  else {
    await log.append(note)
    await session.rewind(to)
  }
}

async function workAfter(
  timeline: Timeline,
  session: Session,
  files: FileSnapshots,
  { to, force }: { readonly to: number; readonly force: boolean },
): Promise<readonly Work[]> {
  const workUntilNow = async (): Promise<readonly Work[]> => {
    const now = await files.take({ owner: session.id })
    if ('unavailable' in now) throw new RollbackRefusedError('not_kept', now.unavailable)
    return timeline.workAfter(to, now)
  }
  try {
    const work = timeline.workAfter(to)
    // Without its part of the work, a rollback that was cut off would seem not to have been made, or not to have been undone.
    return timeline.isRollingBack ? workUntilNow() : work
  } catch (error) {
    if (!force || !(error instanceof RollbackRefusedError) || error.code !== 'cut_off') throw error
    return workUntilNow()
  }
}

interface LoggedTurn {
  readonly turn: SessionTurn
  readonly seq: number
  /** Which messages it delivered: without that, they would count as notes of the program. */
  readonly entry: Pick<EntryOf<'turn'>, 'consumed' | 'clientKey'>
}

async function turnsUpTo(session: Session, seq: number): Promise<readonly LoggedTurn[]> {
  const transcript = new Transcript()
  const delivered = new Map<string, LoggedTurn['entry']>()
  for await (const entry of session.entries({ before: seq + 1 })) {
    transcript.apply(entry)
    if (entry.type !== 'turn') continue
    const { turn, consumed, clientKey } = entry
    delivered.set(turn.id, { ...(consumed && { consumed }), ...(clientKey !== undefined && { clientKey }) })
  }
  return transcript.completeTurns.map((turn) => ({
    turn,
    seq: transcript.seqOf(turn.id) ?? 0,
    entry: delivered.get(turn.id) ?? {},
  }))
}

function checkTo({ id, log }: Session, to: number): void {
  if (Number.isInteger(to) && to >= 0 && to <= log.head) return
  throw new RangeError(`Session ${id} has ${log.head} entries; it cannot be rolled back to ${String(to)}`)
}

const atWork = ({ id }: Session, cause?: Error): RollbackRefusedError =>
  new RollbackRefusedError('at_work', `session ${id} is at work; stop it before a rollback`, { cause })

/** Holds the lease from the beginning to the end, so that no process starts a run in between. */
async function whileHeld<Result>(session: Session, work: () => Promise<Result>): Promise<Result> {
  try {
    await session.open()
  } catch (error) {
    throw error instanceof SessionBusyError ? atWork(session, error) : error
  }
  try {
    return await work()
  } finally {
    await session.release()
  }
}
