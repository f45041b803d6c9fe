import * as fs from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { StoreError } from '../../../core/errors.ts'
import type { LogEntry } from '../../../core/log.ts'
import { isSpilled, wholeEntry } from '../../spill.ts'
import { applyEntries, emptySummary, mailIn, type SessionPresence, type StoredSummary } from '../../stored-summary.ts'
import { openPart, partsOf, sharedEntries } from '../base-parts.ts'
import { readBlobOf } from '../blob-files.ts'
import { withReadErrors } from '../file-errors.ts'
import { changeStamp, readBytes } from '../files.ts'
import { inboxPath, waitingMessages } from '../inbox-file.ts'
import { readLease } from '../lease-file.ts'
import { logPath, openLogForReading } from '../log-file.ts'
import { entriesIn } from '../log-lines.ts'
import { findEnd, type LinePosition, type OpenLogPart, withExactErrors } from '../log-positions.ts'
import { processIdOf } from '../process-states.ts'
import { sessionIn } from '../session-folder.ts'

/** What the files of a session say about it: the truth, of which the index is a copy. */
export interface SessionState extends LogState, MailState {
  readonly id: string
  readonly parent: string | undefined
  /** The process that took the lease and has not given it back. */
  readonly leaseProcessId: string | null
}

export interface LogState {
  readonly summary: StoredSummary
  /** The size of the log up to the last entry of the summary. */
  readonly size: number
}

export interface MailState {
  readonly mail: SessionPresence['mail']
  /** Differs after the inbox has changed. */
  readonly inbox: string
}

/**
 * Looks at the files of a session. Undefined if it has no entries. If the log continues the `known` state, only the lines after
 * it are read; otherwise the whole log.
 */
export async function lookAtSession(
  dir: string,
  name: string,
  known?: LogState & MailState,
): Promise<SessionState | undefined> {
  const folder = join(dir, name)
  if (!isFolder(folder)) return undefined
  const session = sessionIn(folder, name)
  const log = session && (await orPlaceholder(folder, known, () => logState(folder, session.id, known)))
  if (!session || !log) return undefined
  const isSameLog = log.summary === known?.summary
  return {
    ...log,
    id: session.id,
    parent: session.parent,
    ...mailState(folder, known && (isSameLog || known.mail === 'none') ? known : undefined),
    leaseProcessId: leaseProcessOf(folder),
  }
}

const isFolder = (path: string): boolean =>
  withReadErrors(path, () => fs.lstatSync(path, { throwIfNoEntry: false }))?.isDirectory() === true

/** A damaged session is listed too, with what is known of it; reading it reports the problem. */
async function orPlaceholder(
  folder: string,
  known: LogState | undefined,
  read: () => Promise<LogState | undefined>,
): Promise<LogState | undefined> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    const { mtimeMs = 0, size = 0 } = fs.lstatSync(logPath(folder), { throwIfNoEntry: false }) ?? {}
    const [createdAt, updatedAt] = [mtimeMs, mtimeMs] // by a time of 0 it would be pruned as an old session
    const unreadable: StoredSummary = { ...emptySummary, head: 1, createdAt, updatedAt, status: 'failed' }
    return { summary: known?.summary ?? { ...unreadable, title: '(cannot be read)' }, size }
  }
}

async function logState(folder: string, id: string, known: LogState | undefined): Promise<LogState | undefined> {
  const open = openLogForReading(folder)
  if (!open) return undefined
  try {
    const parts = partsOf(folder)
    const log: OpenLogPart = { ...open, first: sharedEntries(parts) + 1 }
    const end = withExactErrors(log, () => findEnd(log))
    if (end.offset === 0) return undefined // what a fork shares counts from its first own entry on
    if (known?.size === end.offset && known.summary.head === end.seq - 1) return known
    const own = { ...log, end }
    const following = known && known.size < end.offset ? await applyNewLines(folder, id, own, known) : undefined
    if (following) return { summary: following, size: end.offset }
    const shared = await summaryOfBase(folder, id)
    const summary = await applyLines(folder, id, own, shared, { seq: log.first, offset: 0 })
    return { summary, size: end.offset }
  } finally {
    fs.closeSync(open.fd)
  }
}

/** The summary of the entries that a session shares; the empty one if it is no fork. */
export async function summaryOfBase(folder: string, id: string): Promise<StoredSummary> {
  let summary = emptySummary
  for (const part of partsOf(folder)) {
    const lines = openPart(part)
    try {
      summary = await applyLines(folder, id, lines, summary, { seq: part.first, offset: 0 })
    } finally {
      fs.closeSync(lines.fd)
    }
  }
  return summary
}

/** Undefined if the log does not continue where it ended before. */
async function applyNewLines(
  folder: string,
  id: string,
  log: OpenLogPart,
  { summary, size }: LogState,
): Promise<StoredSummary | undefined> {
  try {
    return await applyLines(folder, id, log, summary, { seq: summary.head + 1, offset: size })
  } catch (error) {
    if (error instanceof StoreError && error.code === 'corrupt') return undefined
    throw error
  }
}

/** About this many bytes are in memory at a time. */
const pieceSize = 1024 * 1024

/** The summary after the lines from a position to the end. */
async function applyLines(
  folder: string,
  id: string,
  { fd, path, first, end }: OpenLogPart,
  before: StoredSummary,
  from: LinePosition,
): Promise<StoredSummary> {
  let summary = before
  let { offset } = from
  for (let length = pieceSize; offset < end!.offset; ) {
    const until = Math.min(end!.offset, offset + length)
    const bytes = withReadErrors(path, () => readBytes(fd, offset, until))
    const lines = bytes.subarray(0, until === end!.offset ? bytes.length : bytes.lastIndexOf(10) + 1)
    const entries = entriesIn(lines, { file: path, first: from.seq + summary.head - before.head, base: first - 1 })
    const whole = await wholeEntries(folder, id, entries)
    summary = applyEntries(summary, whole.entries, lines.length + whole.bytes)
    offset += lines.length
    length = lines.length > 0 ? pieceSize : 2 * length // a line may be longer than a piece
    if (offset < end!.offset) await setImmediate()
  }
  return summary
}

async function wholeEntries(folder: string, id: string, stored: readonly LogEntry[]) {
  let bytes = 0
  const entries: LogEntry[] = []
  for (const entry of stored) {
    const stub: unknown = entry
    const blob = isSpilled(stub) ? await readBlobOf(folder, stub.blob) : undefined
    entries.push(isSpilled(stub) ? wholeEntry(id, stub, blob) : entry)
    bytes += blob?.length ?? 0
  }
  return { entries, bytes }
}

/** The messages that wait. `known` is taken if the inbox has not changed since. */
export function mailState(folder: string, known?: MailState): MailState {
  const inbox = changeStamp(inboxPath(folder))
  if (inbox === '') return { mail: 'none', inbox }
  if (known?.inbox === inbox) return { mail: known.mail, inbox }
  try {
    return { mail: mailIn(waitingMessages(folder)), inbox }
  } catch (error) {
    if (error instanceof StoreError) return { mail: 'none', inbox } // taking the lease reports it
    throw error
  }
}

/** The process that took the lease of a session and has not given it back. */
export function leaseProcessOf(folder: string): string | null {
  try {
    const lease = readLease(folder)
    if (!lease || lease.expires === 0) return null
    return lease.process ? processIdOf(lease.process) : 'unknown'
  } catch (error) {
    if (error instanceof StoreError) return null // taking the lease reports it
    throw error
  }
}
