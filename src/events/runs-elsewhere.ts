import type { LogEntry } from '../core/log.ts'
import type { SessionStore } from '../core/store.ts'
import type { EventQueue, StreamedEvent } from './event-queue.ts'
import type { LiveFeed } from './live-feed.ts'

/** Joins a run of another process, to get what it streams. Never waited for: if it cannot be joined, nothing comes. */
export type JoinRun = (run: RunElsewhere, emit: (event: StreamedEvent) => void) => LiveFeed

interface RunElsewhere {
  readonly runId: string
  readonly processId: string
}

/** The run under way in a session, as its log tells, where it is a run of another process. */
export class RunsElsewhere {
  readonly #queue: EventQueue
  readonly #join: JoinRun
  #current: RunElsewhere | undefined
  #joined: string | undefined
  /** The last entry that was noted. Some come twice. */
  #last = 0
  #isReplaying = true
  #isPaused = false

  constructor(queue: EventQueue, join: JoinRun) {
    this.#queue = queue
    this.#join = join
  }

  /** The run that was under way before the first entry that the reader gets. */
  begin(run: RunElsewhere | undefined): void {
    this.#current = run
  }

  /** All entries so far are noted. Runs before were over long ago. */
  start(): void {
    this.#isReplaying = false
    this.#update()
  }

  note(entries: readonly LogEntry[]): void {
    for (const entry of entries) {
      if (entry.seq <= this.#last) continue
      this.#last = entry.seq
      if (entry.type === 'run_started') this.#current = runOf(entry)
      else if (entry.type === 'run_ended' && entry.runId === this.#current?.runId) this.#current = undefined
    }
    this.#update()
  }

  /** While a run of this process writes the session. */
  pause(isPaused: boolean): void {
    this.#isPaused = isPaused
    this.#joined = undefined
    this.#update()
  }

  #update(): void {
    const current = this.#current
    if (this.#isReplaying || this.#isPaused || current?.runId === this.#joined) return
    this.#joined = current?.runId
    this.#queue.join(current && ((emit) => this.#join(current, emit)))
  }
}

/** The run that was under way at an entry. */
export async function runAt(store: SessionStore, id: string, seq: number): Promise<RunElsewhere | undefined> {
  for (let before = seq + 1; before > 1; ) {
    const page = await store.read(id, { before, limit: pageSize, fromEnd: true })
    const last = page.findLast(({ type }) => type === 'run_started' || type === 'run_ended')
    if (last) return runOf(last)
    before = page[0]?.seq ?? 0
  }
  return undefined
}

const pageSize = 100

function runOf(entry: LogEntry): RunElsewhere | undefined {
  if (entry.type !== 'run_started' || entry.processId === undefined) return undefined
  const { runId, processId } = entry
  return { runId, processId }
}
