import type { EntryOf, LogEntry } from '../../core/log.ts'
import type { SessionTurn, TurnUsage } from '../../core/turn.ts'
import type { Amounts } from './meter.ts'

/** What one run used up, as its log tells. */
export interface RunTally {
  readonly runId: string
  readonly parentRunId: string | undefined
  /** It began with something that the user said. */
  hasPrompt: boolean
  /** Model calls, with the model that was asked. */
  readonly replies: Used[]
  /** What attempts used up that gave no reply. */
  readonly wasted: Used[]
  /** What was reserved for requests that nothing is known about: their process died over them. */
  readonly lost: Amounts[]
  readonly calls: Set<string>
  timeMs: number
}

export interface Used {
  readonly usage: TurnUsage
  readonly model: string
}

/** What stands in the log while a request is under way; without amounts: one that was never accepted. */
export interface RequestState {
  readonly reserved: Amounts | null
}

export const stateOwner = 'limits'
export const wastedCauses: ReadonlySet<string> = new Set(['failed attempt', 'aborted attempt'])

/** The runs of one log. Calls are told apart by its id; a child's log tells its own. */
export function tallyLog(entries: readonly LogEntry[], logId = ''): RunTally[] {
  const reader = new LogReader(logId)
  for (const entry of entries) reader.read(entry)
  return reader.tallies
}

class LogReader {
  readonly tallies: RunTally[] = []
  #logId: string
  readonly #prompts = new Set<string>()
  /** Nothing has happened in the latest run but that it was told what to do. */
  #isBeginning = false
  /** Somebody spoke while no run was under way. */
  #isSpokenTo = false
  #model = ''
  #startedAt = 0
  #lastAt = 0

  constructor(logId: string) {
    this.#logId = logId
  }

  read(entry: LogEntry): void {
    const wasBeginning = this.#isBeginning
    this.#isBeginning = entry.type === 'run_started' || (wasBeginning && isSkipped(entry))
    switch (entry.type) {
      case 'run_started':
        this.#begin(entry)
        break
      case 'input':
        if (entry.mode === 'prompt') this.#prompts.add(entry.id)
        break
      case 'turn':
        this.#turn(entry, wasBeginning)
        break
      case 'usage':
        this.#use(entry.runId, entry.usage, wastedCauses.has(entry.cause) ? 'wasted' : 'replies')
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
        return // somebody may have written this one long after the run
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
    this.tallies.push(newTally(runId, parent?.runId, this.#isSpokenTo))
    this.#isSpokenTo = false
  }

  #turn({ turn, consumed = [] }: EntryOf<'turn'>, wasBeginning: boolean): void {
    const latest = this.tallies.at(-1)
    if (turn.role === 'assistant') {
      this.#isSpokenTo = false
      if (turn.usage) this.#use(turn.runId, turn.usage, 'replies', turn)
    } else if (turn.runId === '') this.#isSpokenTo = true
    else if (latest?.runId === turn.runId && this.#isPrompt(consumed, wasBeginning)) latest.hasPrompt = true
  }

  /** Who is steered goes on with the same work, even where that is the first thing that happens. */
  #isPrompt(consumed: readonly string[], wasBeginning: boolean): boolean {
    return consumed.length > 0 ? consumed.some((id) => this.#prompts.has(id)) : wasBeginning
  }

  #use(runId: string, usage: TurnUsage, kind: 'replies' | 'wasted', turn?: SessionTurn): void {
    const tally = this.tallies.findLast((one) => one.runId === runId)
    if (!tally) return // a turn from elsewhere cost nobody here anything
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
    // Of a process that died, or a run that was forked, only its last word tells how long it lived.
    const last = endedByOthers.has(stop) ? this.#lastAt : Math.max(this.#lastAt, at)
    if (latest && this.#startedAt > 0) latest.timeMs = last - this.#startedAt
    this.#startedAt = 0
  }
}

/** A prompt takes the place of calls that waited. */
const isSkipped = (entry: LogEntry): boolean => entry.type === 'call_result' && entry.outcome === 'skipped'

/** What others say to a run, and what they say of its calls, may come long after it died. */
const isWrittenLater = (entry: LogEntry): boolean =>
  entry.type === 'input' ||
  entry.type === 'approval_answered' ||
  (entry.type === 'call_result' && entry.outcome === 'unknown')
const endedByOthers: ReadonlySet<string> = new Set(['crashed', 'forked'])

export function newTally(runId: string, parentRunId: string | undefined, hasPrompt: boolean): RunTally {
  return { runId, parentRunId, hasPrompt, replies: [], wasted: [], lost: [], calls: new Set(), timeMs: 0 }
}

/** Which of several requests was answered is not in the log: the biggest counts as lost. */
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
