import type { LogEntry } from '../src/core/log.ts'
import { eachSession } from '../src/sessions/session-query.ts'
import type { Trial } from './trial.ts'

/** What became of the tasks of a trial. */
export interface Verdict {
  /** Tasks that were acknowledged and never called. */
  readonly lost: readonly string[]
  /** Tasks whose effect happened more than once. */
  readonly doubled: readonly string[]
  /** Sessions that are parked. */
  readonly parked: readonly string[]
  /** Calls that were told as unknown, because their worker died. */
  readonly unknown: number
  /** From the death of a worker to the entry of the one that took a session over, in milliseconds. */
  readonly takeovers: readonly number[]
  /** The same after a worker left a run. */
  readonly handovers: readonly number[]
  /** Runs that ended with their process. */
  readonly crashes: number
  /** Of these, runs of processes that were alive. */
  readonly stolen: number
}

/** Reads all logs, and compares them with what was sent and with what happened. */
export async function verdictOf(trial: Trial): Promise<Verdict> {
  const called = new Set<string>()
  const parked: string[] = []
  const takeovers: number[] = []
  const handovers: number[] = []
  let unknown = 0
  let crashes = 0
  for await (const { id, status, kind } of eachSession(trial.store, { parent: null, order: 'id', limit: 500 })) {
    if (kind !== 'task') continue
    if (status === 'parked') parked.push(id)
    const entries = await trial.store.read(id)
    for (const task of tasksCalled(entries)) called.add(`${id}/${task}`)
    unknown += entries.filter((entry) => entry.type === 'call_result' && entry.outcome === 'unknown').length
    const its = takeoversIn(entries, trial.deaths)
    crashes += its.length
    takeovers.push(...its.filter((ms) => ms !== undefined))
    handovers.push(...handoversIn(entries))
  }
  const lost = trial.sent.map(({ session, task }) => `${session}/${task}`).filter((key) => !called.has(key))
  const rows = await trial.admin.unsafe(
    `select session || '/' || task as key from "${trial.schema}".effect group by session, task having count(*) > 1`,
  )
  return {
    ...{ lost, doubled: rows.map(({ key }) => String(key)), parked, unknown, takeovers, handovers, crashes },
    stolen: crashes - takeovers.length,
  }
}

function tasksCalled(entries: readonly LogEntry[]): unknown[] {
  return entries.flatMap((entry) =>
    entry.type === 'turn' && entry.turn.role === 'assistant'
      ? entry.turn.content.flatMap((block) => (block.type === 'tool_call' ? [block.input.task] : []))
      : [],
  )
}

/** The end of a dead run is written by the process that takes it over. Undefined where the process before was alive. */
function takeoversIn(entries: readonly LogEntry[], deaths: ReadonlyMap<string, number>): (number | undefined)[] {
  const found: (number | undefined)[] = []
  let processId: string | undefined
  for (const entry of entries) {
    if (entry.type === 'run_started') processId = entry.processId
    if (entry.type !== 'run_ended' || entry.stop !== 'crashed') continue
    const diedAt = deaths.get(processId ?? '')
    found.push(diedAt === undefined ? undefined : entry.at - diedAt)
  }
  return found
}

function handoversIn(entries: readonly LogEntry[]): number[] {
  return entries.flatMap((entry, i) => {
    if (entry.type !== 'run_ended' || entry.status !== 'left') return []
    const next = entries.slice(i + 1).find(({ type }) => type === 'run_started')
    return next ? [next.at - entry.at] : []
  })
}

/** The value below which `share` of the values are. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0
}
