import type { LogEntry } from '../src/core/log.ts'
import { eachSession } from '../src/sessions/session-query.ts'
import { applyEntries, emptySummary } from '../src/sessions/stored-summary.ts'
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
  /**
   * From the death of a worker to the entry of the one that took a session over, in milliseconds. If a worker died when it was
   * about to write that entry, from its death: there were two takeovers, of which the first left no entry.
   */
  readonly takeovers: readonly number[]
  /** How many of them are the second one of a session, because the worker of the first died too. */
  readonly again: number
  /** Those that took long, with what may have held them up. */
  readonly slow: readonly SlowTakeover[]
  /** The same after a worker left a run. */
  readonly handovers: readonly number[]
  /** Runs that ended with their process. */
  readonly crashes: number
  /** Of these, runs of processes that were alive. */
  readonly stolen: number
}

interface Takeover {
  readonly ms: number
  /** After so many deaths without progress the session had to run alone. */
  readonly isSuspect: boolean
  /** Other workers that died before it was taken over: each may have just claimed it. */
  readonly deathsBetween: number
  /** The worker that was about to take it over died too. */
  readonly isAgain: boolean
}

type SlowTakeover = Omit<Takeover, 'ms'>

const slowMs = 12_000

/** Reads all logs, and compares them with what was sent and with what happened. */
export async function verdictOf(trial: Trial): Promise<Verdict> {
  const called = new Set<string>()
  const parked: string[] = []
  const takeovers: Takeover[] = []
  const handovers: number[] = []
  let unknown = 0
  let crashes = 0
  for await (const { id, status, kind } of eachSession(trial.store, { parent: null, order: 'id', limit: 500 })) {
    if (kind !== 'task') continue
    if (status === 'parked') parked.push(id)
    const entries = await trial.store.read(id)
    for (const task of tasksCalled(entries)) called.add(`${id}/${task}`)
    unknown += entries.filter((entry) => entry.type === 'call_result' && entry.outcome === 'unknown').length
    const its = takeoversIn(entries, trial.deaths, trial.takersThatDied.get(id) ?? [])
    crashes += its.length
    takeovers.push(...its.filter((one) => one !== undefined))
    handovers.push(...handoversIn(entries))
  }
  const lost = trial.sent.map(({ session, task }) => `${session}/${task}`).filter((key) => !called.has(key))
  const rows = await trial.admin.unsafe(
    `select session || '/' || task as key from "${trial.schema}".effect group by session, task having count(*) > 1`,
  )
  return {
    ...{ lost, doubled: rows.map(({ key }) => String(key)), parked, unknown, handovers, crashes },
    takeovers: takeovers.map(({ ms }) => ms),
    slow: takeovers.filter(({ ms }) => ms > slowMs),
    again: takeovers.filter(({ isAgain }) => isAgain).length,
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
function takeoversIn(
  entries: readonly LogEntry[],
  deaths: ReadonlyMap<string, number>,
  takersThatDied: readonly { readonly at: number; readonly diedAt: number }[],
): (Takeover | undefined)[] {
  const found: (Takeover | undefined)[] = []
  let processId: string | undefined
  let summary = emptySummary
  for (const entry of entries) {
    const { suspicions = 0 } = summary
    summary = applyEntries(summary, [entry], 0)
    if (entry.type === 'run_started') processId = entry.processId
    if (entry.type !== 'run_ended' || entry.stop !== 'crashed') continue
    const diedAt = deaths.get(processId ?? '')
    if (diedAt === undefined) found.push(undefined)
    else {
      const again = takersThatDied.filter((taker) => taker.at > diedAt && taker.diedAt < entry.at)
      const since = Math.max(diedAt, ...again.map((taker) => taker.diedAt))
      const deathsBetween = [...deaths.values()].filter((at) => at > since && at < entry.at).length
      const isSuspect = suspicions + 1 >= deathsOfSuspect
      found.push({ ms: entry.at - since, isSuspect, deathsBetween, isAgain: again.length > 0 })
    }
  }
  return found
}

/** As in src/durable/quarantine.ts. */
const deathsOfSuspect = 3

/** One line about what took long, for a person who looks for the reason. */
export function slowOf({ slow }: Pick<Verdict, 'slow'>): string {
  if (slow.length === 0) return `none above ${slowMs / 1000} s`
  const suspects = slow.filter(({ isSuspect }) => isSuspect).length
  const deaths = quantile(
    slow.map(({ deathsBetween }) => deathsBetween),
    0.5,
  )
  return `${slow.length} above ${slowMs / 1000} s: ${suspects} of suspects, ${deaths} other workers died meanwhile (p50)`
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
