import type { Limits } from '../../core/behavior.ts'
import type { Log, LogEntry } from '../../core/log.ts'
import type { Run } from '../../core/run.ts'
import type { Session } from '../../core/store.ts'
import { type Amounts, amountsOf, nothingSpent, type Spent } from './meter.ts'
import { priceOf } from './quote.ts'
import { newTally, type RunTally, tallyLog, type Used } from './tally.ts'

/** What counts already when a run begins: everything the session ever did, or what the work it goes on with has used. */
export async function spentBefore(run: Run, { since = 'prompt' }: Limits): Promise<Spent> {
  const isNew = since === 'prompt' && hasPrompt(run)
  if (isNew) return nothingSpent
  const { own, children } = run.session ? await fromSession(run, run.session) : fromMemory(run)
  const prompted = own.findLastIndex((tally) => tally.hasPrompt)
  const counted = since === 'session' || prompted < 0 ? own : own.slice(prompted)
  const timeMs = counted.reduce((sum, tally) => sum + tally.timeMs, 0) // children work within their parents' time
  return { ...(await sumOf(run, [...counted, ...startedBy(counted, children)])), timeMs }
}

/** Somebody has spoken for this run to answer. */
export function hasPrompt({ id, log: { transcript } }: Run): boolean {
  const { turns, runs, inbox, isAnswered } = transcript
  const newest = turns.at(-1)
  if (newest?.role === 'user' && newest.runId === id) return true
  if (isAnswered) return inbox.some(({ mode }) => mode === 'prompt')
  if (newest?.role !== 'user' || newest.runId !== '') return false
  const before = runs.at(-2)
  return !before || before.firstTurn < turns.length // otherwise an earlier run was to answer it
}

interface History {
  readonly own: readonly RunTally[]
  readonly children: readonly RunTally[]
}

async function fromSession({ id, log }: Run, session: Session): Promise<History> {
  const [own = [], ...children] = await session.tree()
  return {
    own: tallyLog(own, log.id).filter(({ runId }) => runId !== id),
    children: children.flatMap((entries) => tallyLog(entries)),
  }
}

/** Without a session: what was counted in this process, and for runs that nobody counted, what the turns tell. */
function fromMemory(run: Run): History {
  const known = ledgerOf(run.log)
  const told = tallyLog(entriesOf(run), run.log.id)
  const own = told.map((tally) => ({ ...tally, ...known.own.get(tally.runId), timeMs: tally.timeMs }))
  return { own, children: known.children }
}

function entriesOf({ id, log }: Run): LogEntry[] {
  const { runs, turns } = log.transcript
  return runs.flatMap((run) => {
    if (run.id === id) return []
    const about = { seq: 0, id: '' }
    const said = turns
      .slice(run.firstTurn, run.turns)
      .map((turn) => ({ type: 'turn' as const, turn, at: turn.createdAt }))
    const started = { type: 'run_started' as const, runId: run.id, model: run.model, at: run.startedAt }
    const ended = { type: 'run_ended' as const, runId: run.id, status: 'completed' as const, stop: 'end' }
    const entries = [started, ...said, { ...ended, at: run.endedAt ?? run.startedAt }]
    return entries.map((entry) => ({ ...about, ...entry }))
  })
}

/** Runs of children, by the runs they worked for. */
function startedBy(parents: readonly RunTally[], children: readonly RunTally[]): RunTally[] {
  const byParent = Map.groupBy(children, ({ parentRunId }) => parentRunId)
  const found: RunTally[] = []
  const waiting = [...parents]
  for (const { runId } of waiting)
    for (const child of byParent.get(runId) ?? []) {
      found.push(child)
      waiting.push(child)
    }
  return found
}

async function sumOf(run: Run, tallies: readonly RunTally[]): Promise<Omit<Spent, 'timeMs'>> {
  const sum = { cost: 0, tokens: 0, turns: 0 }
  const calls = new Set<string>()
  const add = ({ cost, tokens, turns }: Amounts): void => {
    sum.cost += cost
    sum.tokens += tokens
    sum.turns += turns
  }
  for (const tally of tallies) {
    for (const used of tally.replies) add(amountsOf(await priced(run, used), 1))
    for (const used of tally.wasted) add(amountsOf(await priced(run, used), 0))
    for (const lost of tally.lost) add(lost)
    for (const call of tally.calls) calls.add(call)
  }
  return { ...sum, calls }
}

/** Calls that were made before there was a limit may have no price yet. */
export async function priced({ provider }: Run, { usage, model }: Used): Promise<Used['usage']> {
  if (usage.cost !== undefined) return usage
  const cost = await priceOf(provider, model, usage)
  return cost === undefined ? usage : { ...usage, cost }
}

/** What runs of this process used up, by the logs of the agents they were for. A log takes it along when it goes. */
const ledgers = new WeakMap<Log, Ledger>()

interface Ledger {
  readonly own: Map<string, RunTally>
  readonly children: RunTally[]
}

function ledgerOf(log: Log): Ledger {
  let ledger = ledgers.get(log)
  if (!ledger) ledgers.set(log, (ledger = { own: new Map(), children: [] }))
  return ledger
}

/** A tally to keep while a run goes on. Where there is a session, its log tells more. */
export function keepTally(run: Run): RunTally {
  const tally = newTally(run.id, run.parent?.id, hasPrompt(run))
  if (run.session) return tally
  ledgerOf(run.log).own.set(run.id, tally)
  for (let above = run.parent; above; above = above.parent) ledgerOf(above.log).children.push(tally)
  return tally
}
