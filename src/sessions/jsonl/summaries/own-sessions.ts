import * as fs from 'node:fs'
import { join } from 'node:path'
import type { LogEntry } from '../../../core/log.ts'
import { applyEntries, emptySummary, type StoredSummary } from '../../stored-summary.ts'
import { logPath } from '../log-file.ts'
import type { LogWriter } from '../log-writer.ts'
import { type LogState, lookAtSession, type MailState, summaryOfBase } from './session-state.ts'

/** What a store object knows of a session that it writes. */
export interface OwnSession {
  readonly id: string
  readonly parent: string | undefined
  readonly log: LogWriter
  summary: StoredSummary
  /** The size of the log up to the last entry of the summary. */
  size: number
  /** The summary in the index, as far as this store wrote it. */
  saved?: { readonly summary: StoredSummary; readonly body: string }
}

/** A session that is about to be written. */
export interface NewSession extends Pick<OwnSession, 'id' | 'parent' | 'log'> {
  /** What is known of it, without reading its log. */
  findSelf(): Promise<(LogState & MailState) | undefined>
  /** The same for the session it was forked from. */
  findBase(): Promise<LogState | undefined>
}

/** An append that was acknowledged. */
export interface Appended {
  /** The entries as the caller gave them. */
  readonly originalEntries: readonly LogEntry[]
  /** The size of their lines, and of the blobs that they name. */
  readonly lineBytes: number
  readonly blobBytes: number
}

/** At most this many sessions are remembered. */
const maxSessions = 5000

/** The sessions that a store object writes, with their summaries: each append changes them, and the index gets them later. */
export class OwnSessions {
  readonly #dir: string
  readonly #sessions = new Map<string, OwnSession>()
  readonly #preparing = new Map<string, Promise<void>>()

  constructor(dir: string) {
    this.#dir = dir
  }

  get(name: string): OwnSession | undefined {
    return this.#sessions.get(name)
  }

  isPrepared(name: string, log: LogWriter): boolean {
    return this.#sessions.get(name)?.log === log
  }

  /** Before the first append to a log: finds its summary. */
  async prepare(name: string, session: NewSession): Promise<void> {
    const preparing = this.#preparing.get(name) ?? this.#prepare(name, session)
    this.#preparing.set(name, preparing)
    try {
      await preparing
    } finally {
      this.#preparing.delete(name)
    }
  }

  async #prepare(name: string, { id, parent, log, ...known }: NewSession): Promise<void> {
    const before = this.#sessions.get(name)
    this.#sessions.delete(name)
    const isKnown = before && isStateOf(before, log) && isCurrent(before, join(this.#dir, name))
    const state = isKnown ? before : await this.#stateOf(name, { id, parent, log, ...known })
    if (!state || !isStateOf(state, log)) return
    this.#sessions.set(name, { id, parent, log, summary: state.summary, size: state.size })
    if (this.#sessions.size > maxSessions) this.#sessions.delete(this.#sessions.keys().next().value ?? '')
  }

  async #stateOf(name: string, { id, log, findSelf, findBase }: NewSession): Promise<LogState | undefined> {
    if (log.size === 0 && log.head === 0) return { summary: emptySummary, size: 0 }
    if (log.size > 0) {
      const known = await findSelf()
      return isStateOf(known, log) ? known : lookAtSession(this.#dir, name, known)
    }
    const base = await findBase()
    const summary = base?.summary.head === log.head ? base.summary : await summaryOfBase(join(this.#dir, name), id)
    return { summary, size: 0 }
  }

  /** Adds an append to the summary. Returns whether the session is known. */
  add(name: string, { originalEntries, lineBytes, blobBytes }: Appended): boolean {
    const session = this.#sessions.get(name)
    if (session?.summary.head !== (originalEntries[0]?.seq ?? 0) - 1) {
      this.#sessions.delete(name)
      return false
    }
    session.summary = applyEntries(session.summary, originalEntries, lineBytes + blobBytes)
    session.size += lineBytes
    return true
  }

  /** What is in the index now. */
  setSaved(name: string, saved: NonNullable<OwnSession['saved']>): void {
    const session = this.#sessions.get(name)
    if (session) session.saved = saved
  }
}

function isStateOf(state: LogState | undefined, { head, size }: LogWriter): boolean {
  return state?.summary.head === head && state.size === size
}

/** Whether the log at the path of a session is the one that this store wrote, and nothing of it is gone. */
export function isCurrent({ log, size }: OwnSession, folder: string): boolean {
  const now = fs.lstatSync(logPath(folder), { bigint: true, throwIfNoEntry: false })
  const { dev, ino, birthtimeNs } = log.identity
  return now?.ino === ino && now.dev === dev && now.birthtimeNs === birthtimeNs && now.size >= BigInt(size)
}
