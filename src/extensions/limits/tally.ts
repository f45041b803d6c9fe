import type { Limits } from '../../core/behavior.ts'
import { continueNote } from '../../core/interruption-note.ts'
import type { EntryOf, Log, LogEntry } from '../../core/log.ts'
import type { Run } from '../../core/run.ts'
import type { Session } from '../../core/store.ts'
import { type SessionTurn, type TurnUsage, textOf, toolCallsOf } from '../../core/turn.ts'
import { type Amounts, amountsOf, nothingSpent, priceOf, type Spent } from './meter.ts'

/** What one run used, according to its log. */
export interface RunTally {
  readonly runId: string
  readonly parentRunId: string | undefined
  /** The run began with a message of the user. */
  hasPrompt: boolean
  /** Model calls, with the model that was asked. */
  readonly replies: Used[]
  /** The usage of attempts without a reply. */
  readonly failed: Used[]
  /** Reservations of requests whose process died: their usage is unknown. */
  readonly lost: Amounts[]
  readonly calls: Set<string>
  timeMs: number
}

interface Used {
  readonly usage: TurnUsage
  readonly model: string
}

/** The state entry of a request under way; `null` for one that was never accepted. */
export interface RequestState {
  readonly reserved: Amounts | null
}

export const stateOwner = 'limits'
const failedCauses: ReadonlySet<string> = new Set(['failed attempt', 'aborted attempt'])

/** Makes the tallies of all runs of a log. Calls are identified by the log's id; that of a child is in its log. */
export class TallyReader {
  readonly tallies: RunTally[] = []
  #logId: string
  /** Messages that begin new work. */
  readonly #prompts = new Set<string>()
  /** The last turn is a complete reply. */
  #isAnswered = false
  /** And the run that gave it has ended. */
  #isFinished = false
  /** The latest run has only its first entries so far. */
  #isBeginning = false
  /** A user message was added while no run was under way. */
  #hasNewMessage = false
  #model = ''
  #startedAt = 0
  #lastAt = 0

  constructor(logId = '') {
    this.#logId = logId
  }

  read(entry: LogEntry): void {
    const wasBeginning = this.#isBeginning
    this.#isBeginning = entry.type === 'run_started' || (wasBeginning && isBeforePrompt(entry))
    switch (entry.type) {
      case 'run_started':
        this.#begin(entry)
        break
      case 'input':
        if (entry.mode === 'prompt' || this.#isFinished) this.#prompts.add(entry.id)
        break
      case 'turn':
        this.#turn(entry, wasBeginning)
        break
      case 'usage':
        this.#use(entry.runId, entry.usage, failedCauses.has(entry.cause) ? 'failed' : 'replies')
        break
      case 'state':
        if (entry.owner === stateOwner) this.#request(entry.value as RequestState)
        break
      case 'call_started':
        this.tallies.at(-1)?.calls.add(`${this.#logId}/${entry.callId}`)
        break
      case 'call_result':
        if (passedItsGate.has(entry.outcome)) this.tallies.at(-1)?.calls.add(`${this.#logId}/${entry.callId}`)
        break
      case 'run_ended':
        this.#end(entry)
        return // another process may have written it long after the run
    }
    if (isWrittenLater(entry)) return
    this.#lastAt = Math.max(this.#lastAt, entry.at) // a clock may be set back
    const latest = this.tallies.at(-1)
    if (latest && this.#startedAt > 0) latest.timeMs = this.#lastAt - this.#startedAt
  }

  #begin({ runId, parent, model, at }: EntryOf<'run_started'>): void {
    this.#model = model
    this.#startedAt = this.#lastAt = at
    if (parent?.session !== undefined) this.#logId = `${parent.session}/${parent.callId}`
    this.tallies.push(newTally(runId, parent?.runId, this.#hasNewMessage))
    this.#hasNewMessage = false
  }

  #turn({ turn, consumed = [] }: EntryOf<'turn'>, wasBeginning: boolean): void {
    const latest = this.tallies.at(-1)
    this.#isAnswered = turn.role === 'assistant' && !turn.interrupted && toolCallsOf(turn).length === 0
    this.#isFinished = this.#isAnswered && turn.runId === ''
    if (turn.role === 'assistant') {
      this.#hasNewMessage = false
      if (turn.usage) this.#use(turn.runId, turn.usage, 'replies', turn)
    } else if (turn.runId === '') this.#hasNewMessage = true
    else if (latest?.runId === turn.runId && this.#isPrompt(consumed, wasBeginning && textOf(turn) !== continueNote))
      latest.hasPrompt = true
  }

  /** Steering continues the same work, even if it is the first message of the run, unless that work was finished. */
  #isPrompt(consumed: readonly string[], mayBePrompt: boolean): boolean {
    return consumed.length > 0 ? consumed.some((id) => this.#prompts.has(id)) : mayBePrompt
  }

  #use(runId: string, usage: TurnUsage, kind: 'replies' | 'failed', turn?: SessionTurn): void {
    const tally = this.tallies.findLast((one) => one.runId === runId)
    if (!tally) return // an imported turn cost nothing here
    tally[kind].push({ usage, model: usage.model ?? turn?.model ?? this.#model })
    dropLeast(tally.lost)
  }

  #request(state: RequestState | null): void {
    const lost = this.tallies.at(-1)?.lost
    if (!lost || typeof state !== 'object' || state === null) return
    if (state.reserved) lost.push(state.reserved)
    else dropLeast(lost)
  }

  #end({ at, stop }: EntryOf<'run_ended'>): void {
    const latest = this.tallies.at(-1)
    // After a crash or a fork, the last entry of the run itself tells how long it ran.
    const last = endedByOthers.has(stop) ? this.#lastAt : Math.max(this.#lastAt, at)
    if (latest && this.#startedAt > 0) latest.timeMs = last - this.#startedAt
    this.#startedAt = 0
    this.#isFinished = this.#isAnswered
  }
}

/** A prompt skips calls that waited, and comes after the first states of extensions and the messages that waited. */
const isBeforePrompt = (entry: LogEntry): boolean =>
  entry.type === 'state' ||
  (entry.type === 'call_result' && entry.outcome === 'skipped') ||
  (entry.type === 'turn' && entry.consumed !== undefined)

/** Entries that other processes may write long after the run's process died. */
const isWrittenLater = (entry: LogEntry): boolean =>
  entry.type === 'input' ||
  entry.type === 'approval_answered' ||
  (entry.type === 'call_result' && entry.outcome === 'unknown')
const endedByOthers: ReadonlySet<string> = new Set(['crashed', 'forked'])

function newTally(runId: string, parentRunId: string | undefined, hasPrompt: boolean): RunTally {
  return { runId, parentRunId, hasPrompt, replies: [], failed: [], lost: [], calls: new Set(), timeMs: 0 }
}

/** The log does not say which of several requests was answered: the largest ones count as lost. */
function dropLeast(lost: Amounts[]): void {
  if (lost.length === 0) return
  const least = lost.reduce((a, b) => (b.cost < a.cost || (b.cost === a.cost && b.tokens < a.tokens) ? b : a))
  lost.splice(lost.indexOf(least), 1)
}

const passedItsGate: ReadonlySet<string> = new Set([
  'done',
  'error',
  'timeout',
  'substituted',
  'unknown_tool',
  'invalid',
  'unknown',
])

/** The usage that counts when a run begins: that of the whole session, or of the work that it continues. */
export async function spentBefore(run: Run, { since = 'prompt' }: Limits): Promise<Spent> {
  const isNew = since === 'prompt' && hasPrompt(run)
  if (isNew) return nothingSpent
  const { own, children } = run.session ? await fromSession(run, run.session) : fromMemory(run)
  const prompted = own.findLastIndex((tally) => tally.hasPrompt)
  const counted = since === 'session' || prompted < 0 ? own : own.slice(prompted)
  const timeMs = counted.reduce((sum, tally) => sum + tally.timeMs, 0) // children run within their parents' time
  return { ...(await sumOf(run, [...counted, ...startedBy(counted, children)])), timeMs }
}

/** Whether this run has a new message to answer. What was sent while the model still worked is part of that work. */
function hasPrompt({ id, log: { transcript } }: Run): boolean {
  const { turns, turnCount, turnWithOpenCalls, runs, inbox, isAnswered } = transcript
  const newest = turns.at(-1)
  if (newest?.role === 'user' && newest.runId === id) return true
  if (!turnWithOpenCalls && inbox.some(({ mode }) => mode === 'prompt')) return true
  if (isAnswered) {
    const finished = runs.findLast(({ firstTurn, turnCountAtEnd = 0 }) => turnCountAtEnd > firstTurn)
    return inbox.some(({ seq }) => seq > (finished?.endSeq ?? 0))
  }
  if (newest?.role !== 'user' || newest.runId !== '') return false
  const before = runs.at(-2)
  return !before || before.firstTurn < turnCount // otherwise it was for an earlier run
}

interface History {
  readonly own: readonly RunTally[]
  readonly children: readonly RunTally[]
}

async function fromSession({ id, log }: Run, session: Session): Promise<History> {
  const own = new TallyReader(log.id)
  const children: TallyReader[] = []
  for await (const one of session.tree()) {
    const reader = one.id === session.id ? own : new TallyReader()
    if (reader !== own) children.push(reader)
    for await (const entry of one.entries()) reader.read(entry)
  }
  return {
    own: own.tallies.filter(({ runId }) => runId !== id),
    children: children.flatMap(({ tallies }) => tallies),
  }
}

/** Without a session: what this process counted, and the usage in the turns of runs that were not counted. */
function fromMemory(run: Run): History {
  const known = ledgerOf(run.log)
  const reader = new TallyReader(run.log.id)
  for (const entry of entriesOf(run)) reader.read(entry)
  const own = reader.tallies.map((tally) => ({ ...tally, ...known.own.get(tally.runId), timeMs: tally.timeMs }))
  return { own, children: known.children }
}

function entriesOf({ id, log }: Run): LogEntry[] {
  const { runs, turns } = log.transcript
  return runs.flatMap((run) => {
    if (run.id === id) return []
    const base = { seq: 0, id: '' }
    const messages = turns
      .slice(run.firstTurn, run.turnCountAtEnd)
      .map((turn) => ({ type: 'turn' as const, turn, at: turn.createdAt }))
    const started = { type: 'run_started' as const, runId: run.id, model: run.model, at: run.startedAt }
    const ended = { type: 'run_ended' as const, runId: run.id, status: 'completed' as const, stop: 'end' }
    const entries = [started, ...messages, { ...ended, at: run.endedAt ?? run.startedAt }]
    return entries.map((entry) => ({ ...base, ...entry }))
  })
}

/** The runs of all descendants of these runs. */
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
    for (const used of tally.failed) add(amountsOf(await priced(run, used), 0))
    for (const lost of tally.lost) add(lost)
    for (const call of tally.calls) calls.add(call)
  }
  return { ...sum, calls }
}

/** Adds the price to a usage that has none: calls before the limit was set. */
export async function priced({ provider }: Run, { usage, model }: Used): Promise<Used['usage']> {
  if (usage.cost !== undefined) return usage
  const cost = await priceOf(provider, model, usage)
  return cost === undefined ? usage : { ...usage, cost }
}

/** The tallies of this process, by log. */
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

/** Starts the tally of a run. With a session, the log has all that is needed, so it is not kept. */
export function keepTally(run: Run): RunTally {
  const tally = newTally(run.id, run.parent?.id, hasPrompt(run))
  if (run.session) return tally
  ledgerOf(run.log).own.set(run.id, tally)
  for (let above = run.parent; above; above = above.parent) ledgerOf(above.log).children.push(tally)
  return tally
}
