import { type Clock, createIds } from '../../core/clock.ts'
import { type LeaseLostError, leaseLost } from '../../core/errors.ts'
import { type EntryBody, type InboxItem, Log, type LogEntry } from '../../core/log.ts'
import type { SessionStore } from '../../core/store.ts'
import { withSpill } from '../../sessions/spill.ts'
import { WriteLease } from '../../sessions/write-lease.ts'
import { schedulesLogId } from './schedule-change.ts'
import type { ScheduleReader } from './schedule-reader.ts'

export interface ScheduleLogOptions {
  readonly store: SessionStore
  readonly reader: ScheduleReader
  readonly clock: Clock
  readonly leaseMs: number
}

/** The log of the schedules, in the hands of the one who may write it. */
export interface ScheduleLog {
  /** A write failed, so what the store holds is unknown: it has to be opened anew. */
  readonly isBroken: boolean
  append(entry: EntryBody): Promise<void>
  subscribe(listener: (entry: LogEntry) => void): () => void
  /** Moves changes that others sent into the log, until `signal` says stop. */
  listen(signal: AbortSignal, onLost: (error: LeaseLostError) => void): Promise<void>
  /** Gives the right to write back, when all is written. Doing it twice is harmless. */
  release(): Promise<void>
}

/**
 * Takes the right to write the log, and lets in what waits; rejects where somebody else has it. A session would read
 * all that was ever written; here the reader knows what that amounts to, and only what follows is gone through.
 */
export async function openScheduleLog({ store, reader, clock, leaseMs }: ScheduleLogOptions): Promise<ScheduleLog> {
  const newId = createIds()
  const spilling = withSpill(store)
  const owner = `scheduler#${newId()}`
  let log: Log | undefined
  const hear = (inbox: readonly InboxItem[]): void => {
    // Messages arrive late, but they do, where watching the store has failed.
    for (const item of inbox) log?.admit(item)?.catch(() => {})
  }
  const lease = new WriteLease({ store, owner, ttlMs: leaseMs, clock, onRenewed: hear })

  async function commit(entries: readonly LogEntry[]): Promise<void> {
    const { epoch } = lease
    if (epoch === undefined) throw leaseLost(schedulesLogId)
    await spilling.append(schedulesLogId, entries, { epoch, head: entries[0]!.seq - 1 })
  }

  async function release(): Promise<void> {
    while (log?.isWriting) await log.flushed()
    await lease.giveBack()
  }

  try {
    const inbox = await lease.take(schedulesLogId, false)
    await reader.catchUp()
    const opened = new Log({ id: schedulesLogId, clock, newId, after: reader.head, commit })
    for (const item of inbox) await opened.admit(item)
    log = opened
    return {
      get isBroken() {
        return opened.isBroken
      },
      append: async (entry) => opened.append(entry),
      subscribe: (listener) => opened.subscribe(listener),
      async listen(signal, onLost) {
        lease.onLost = onLost
        for await (const { inbox: sent } of store.watch(schedulesLogId, { after: opened.head, signal })) {
          if (signal.aborted) return
          for (const item of sent) await opened.admit(item)
        }
      },
      release,
    }
  } catch (error) {
    await release()
    throw error
  }
}
