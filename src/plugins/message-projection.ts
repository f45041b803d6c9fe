import { goOnNote } from '../core/interrupted-turn.ts'
import { isRecord } from '../core/is-record.ts'
import type { EntryOf, LogEntry } from '../core/log.ts'
import { toolResultToText } from '../core/tool-output.ts'
import { type SessionContentBlock, type SessionTurn, type ToolCallBlock, textOf, toolCallsOf } from '../core/turn.ts'
import { AgentStanding } from './agent-standing.ts'
import { contentOfMessage, readAttachments } from './attachments.ts'
import { CallWaits, type WaitChange } from './call-waits.ts'
import { KeptMessages } from './kept-messages.ts'
import type { AgentInstanceLatestStatus, AgentInstanceMessage, MessageCall, UserContent } from './message.ts'
import { partialOf } from './partial-note.ts'
import { type SnapshotNote, snapshotOf } from './snapshot-note.ts'
import { errorResultDuration, marksOf } from './tool-marks.ts'
import { TurnSnapshots } from './turn-snapshots.ts'
import { type HandlerMessage, yieldOf } from './yield-note.ts'

/** How long results are sent that say nothing of it themselves; `null` means for ever. */
export interface ProjectionOptions {
  readonly agentId: string
  readonly resultDuration: number | null
}

/**
 * The messages and the state that a log amounts to. Fed entry by entry, live and on reading alike; each entry says what
 * it changed, so that a screen draws no more than that.
 */
export class MessageProjection {
  /** What is known of the files around messages. */
  readonly files = new TurnSnapshots()
  readonly #options: ProjectionOptions
  readonly #messages: KeptMessages
  readonly #calls = new Map<string, { readonly call: ToolCallBlock; readonly messageId: string }>()
  /** What waits to be said to the model. */
  readonly #letters = new Map<string, Letter>()
  /** The turns of which people see several messages, by the ids of those after the first. */
  readonly #turns = new Map<string, string>()
  readonly #waits = new CallWaits()
  #standing = new AgentStanding()
  /** Model calls so far. */
  rounds = 0
  #roundsBefore = 0
  #lastAnswer: string | undefined
  /** A run has begun and nobody has spoken in it yet. */
  #isBeginning = false
  /** Between `run_started` and `run_ended`. */
  #isUnderWay = false
  /** What a rewind goes back to. */
  #entries: LogEntry[] = []

  constructor(options: ProjectionOptions) {
    this.#options = options
    this.#messages = new KeptMessages(options.agentId)
  }

  /** In the order in which they were said. The same list as long as nothing changes. */
  get messages(): readonly AgentInstanceMessage[] {
    return this.#messages.list
  }

  get status(): AgentInstanceLatestStatus {
    const { state, modified } = this.#standing
    const message = this.#lastAnswer === undefined ? undefined : this.#messages.get(this.#lastAnswer)
    return { state, modified, ...(message && { message }) }
  }

  get(id: string): AgentInstanceMessage | undefined {
    return this.#messages.get(id)
  }

  /** What people said with a turn: one message, or several that waited together. */
  saidIn(turnId: string): readonly AgentInstanceMessage[] {
    const said: AgentInstanceMessage[] = []
    for (;;) {
      const message = this.get(idInTurn(turnId, said.length))
      if (message?.role !== 'user' || message.hidden) return said
      said.push(message)
    }
  }

  /**
   * What a person said, and where a rewind goes to so that it is taken back, with the run that it began. What reached
   * the model in one turn goes as one.
   */
  saidBefore(messageId: string): { readonly content: UserContent; readonly toSeq: number } | undefined {
    const message = this.#messages.get(messageId)
    if (message?.role !== 'user' || message.hidden) return undefined
    const turnId = this.#turns.get(messageId) ?? messageId
    const at = this.#entries.findLastIndex((entry) => entry.type === 'turn' && entry.turn.id === turnId)
    const before = this.#entries.slice(0, at).findLast(({ type }) => type !== 'input')
    const first = before?.type === 'run_started' ? before : this.#entries[at]!
    return { content: contentOfMessage(message), toSeq: first.seq - 1 }
  }

  /** The messages that are new or other than before. */
  apply(entry: LogEntry): readonly AgentInstanceMessage[] {
    if (entry.type === 'rewind') this.#rewind(entry)
    else if (isTold(entry)) this.#entries.push(entry)
    return this.#take(entry)
  }

  #take(entry: LogEntry): readonly AgentInstanceMessage[] {
    switch (entry.type) {
      case 'run_started':
        this.#isBeginning = true
        this.#isUnderWay = true
        this.#roundsBefore = this.rounds
        this.#standing.begin(entry.at)
        return []
      case 'input':
        this.#letters.set(entry.id, entry)
        return []
      case 'turn':
        return entry.turn.role === 'user' ? this.#hear(entry) : this.#say(entry.turn)
      case 'approval_requested':
        return this.#tellWaits(this.#waits.ask(entry))
      case 'call_started':
        this.#waits.begin(entry.callId)
        return []
      case 'call_result':
        return this.#answer(entry)
      case 'state':
        return [...this.#note(entry), ...this.#tellVoid()]
      case 'run_ended':
        return [...this.#tellWaits(this.#waits.end(entry)), ...this.#end(entry), ...this.#tellVoid()]
      default:
        return []
    }
  }

  #hear({ turn, consumed = [], clientKey }: EntryOf<'turn'>): readonly AgentInstanceMessage[] {
    const results = turn.content.filter((block) => block.type === 'tool_result')
    if (results.length > 0 && results.length === turn.content.length) return []
    const isBare = consumed.length === 0 && clientKey === undefined
    const isNote = isBare && (!this.#isBeginning || textOf(turn) === goOnNote)
    // What an earlier run said is no answer to this.
    if (!isNote && (this.#isBeginning || !this.#isUnderWay)) this.#lastAnswer = undefined
    this.#isBeginning = false
    this.#standing.hear()
    const letters = this.#takeLetters(consumed)
    if (letters.length === 0) return [this.#putSaid(turn, turn.content, { isHidden: isNote })]
    const { meta: _, ...shared } = turn
    const said = letters.map(({ content, meta }, at) => {
      const id = idInTurn(turn.id, at)
      if (at > 0) this.#turns.set(id, turn.id)
      return this.#putSaid({ ...shared, id, ...(meta && { meta }) }, content, { isHidden: false })
    })
    // Plugins may have had something to say in the same turn.
    const notes = turn.content.slice(letters.flatMap(({ content }) => content).length)
    if (notes.length === 0) return said
    return [...said, this.#putSaid({ ...shared, id: `${turn.id}.note` }, notes, { isHidden: true })]
  }

  /** None where the log does not have them all, as where it was brought in from elsewhere. */
  #takeLetters(consumed: readonly string[]): readonly Letter[] {
    const letters = consumed.flatMap((id) => this.#letters.get(id) ?? [])
    for (const id of consumed) this.#letters.delete(id)
    return letters.length === consumed.length ? letters : []
  }

  #putSaid(
    of: Pick<SessionTurn, 'id' | 'createdAt' | 'meta'>,
    content: readonly SessionContentBlock[],
    { isHidden }: { readonly isHidden: boolean },
  ): AgentInstanceMessage {
    const { text, ...attached } = readAttachments(content)
    const metadata = { ...attached, ...(of.meta && { meta: of.meta }) }
    return this.#put(of, { role: 'user', content: text, metadata, ...(isHidden && { hidden: true }) })
  }

  #say(turn: SessionTurn): readonly AgentInstanceMessage[] {
    this.#isBeginning = false
    this.rounds++
    const calls = toolCallsOf(turn)
    this.#standing.say({ hasMore: calls.length > 0 || turn.interrupted === true })
    for (const call of calls) this.#calls.set(call.id, { call, messageId: turn.id })
    const reasoning = thoughtsIn(turn.content)
    const [first] = calls
    const called = first && {
      containsToolCall: true,
      callId: first.id,
      toolId: first.name,
      toolParameters: first.input,
      calls: calls.map(({ id, name, input }) => ({ callId: id, toolId: name, parameters: input })),
    }
    if (!turn.interrupted) this.#lastAnswer = turn.id
    return [
      this.#put(turn, {
        role: 'assistant',
        content: textOf(turn),
        ...(reasoning !== '' && { reasoning_content: reasoning }),
        metadata: { ...called, ...(turn.interrupted && { interrupted: true }) },
        ...(called && { duration: 1 }),
      }),
    ]
  }

  #tellWaits(changes: readonly WaitChange[]): readonly AgentInstanceMessage[] {
    return changes.flatMap(([callId, waitsFor]) => this.#changeCall(callId, waitsFor ? { waitsFor } : {}) ?? [])
  }

  /** Who cancelled an agent is asked nothing any more. */
  #tellVoid(): readonly AgentInstanceMessage[] {
    return this.#standing.state === 'canceled' ? this.#tellWaits(this.#waits.cancel()) : []
  }

  #changeCall(callId: string, state: Pick<MessageCall, 'outcome' | 'waitsFor'>): AgentInstanceMessage | undefined {
    const known = this.#calls.get(callId)
    if (!known) return undefined // a tool has made it
    return this.#messages.change(known.messageId, ({ calls = [] }) => ({
      calls: calls.map((call) => {
        const { toolId, parameters } = call
        return call.callId === callId ? { callId, toolId, parameters, ...state } : call
      }),
    }))
  }

  #answer(entry: EntryOf<'call_result'>): readonly AgentInstanceMessage[] {
    const { callId, output, details, outcome, at } = entry
    this.#waits.settle(callId)
    const known = this.#calls.get(callId)
    if (!known) return [] // of a call that a tool made
    const { name, input } = known.call
    const isError = entry.isError === true
    const marks = marksOf(details)
    this.#standing.takeResult(marks)
    const { duration = isError ? errorResultDuration : this.#options.resultDuration, leavesTo } = marks
    const result = this.#put(
      { id: `${callId}.result`, createdAt: at },
      {
        role: 'tool',
        content: toolResultToText(output),
        metadata: {
          isToolResult: true,
          ...(isError && { isError }),
          toolId: name,
          callId,
          toolParameters: input,
          ...(details !== undefined && { details }),
          ...(isRecord(details) && 'questionId' in details && { askQuestionAnswered: true }),
        },
        ...(duration !== null && { duration }),
      },
    )
    if (leavesTo === 'end' && result.content !== '') this.#lastAnswer = result.id
    const asked = this.#changeCall(callId, { outcome })
    return asked ? [asked, result] : [result]
  }

  #note({ owner, value, at }: EntryOf<'state'>): readonly AgentInstanceMessage[] {
    const partial = partialOf(owner, value)
    if (partial) {
      const { id, text: content } = partial
      return [this.#put({ id, createdAt: at }, { role: 'assistant', content, duration: 0 })]
    }
    const yielded = yieldOf(owner, value)
    if (yielded) {
      const { to, message } = yielded
      this.#standing.yieldTo(to, at)
      return message ? [this.#ending(this.#putOwn(message, at))] : []
    }
    const snapshot = snapshotOf(owner, value)
    return snapshot ? this.#noteFiles(snapshot) : []
  }

  #noteFiles(note: SnapshotNote): readonly AgentInstanceMessage[] {
    this.files.apply(note)
    const { messageId, folder, before, isRolledBack, withIt = [] } = note
    return [messageId, ...withIt].flatMap((id) => {
      const changed = this.#messages.change(id, () => ({
        ...(before && { beforeCommitMap: { [folder]: before.id } }),
        ...(isRolledBack !== undefined && { rolledBack: isRolledBack }),
      }))
      return changed ?? []
    })
  }

  #end(entry: EntryOf<'run_ended'>): readonly AgentInstanceMessage[] {
    this.#isUnderWay = false
    if (!this.#standing.end(entry)) return []
    const { status, stop, error, runId, at } = entry
    const of = { id: `${runId}.end`, createdAt: at }
    const why = status === 'completed' ? this.#whyStopped(stop) : undefined
    if (why !== undefined) {
      const content = `Stopped: ${why}, and it was not done. Send a message to go on.`
      return [this.#ending(this.#put(of, { role: 'agent', content, metadata: {} }))]
    }
    if (status !== 'error' || stop === 'crashed') return []
    const { name = 'Error', message = 'the run failed', providerCode: code } = error ?? {}
    const errorDetail = { name, message, ...(code !== undefined && { code }) }
    return [
      this.#ending(
        this.#put(of, { role: 'error', content: message, metadata: { isError: true, errorDetail }, duration: 1 }),
      ),
    ]
  }

  #whyStopped(stop: string): string | undefined {
    if (stop === 'max_turns')
      return `it took ${this.rounds - this.#roundsBefore} rounds, as many as maxIterations allows`
    return stop === 'budget' ? 'a limit of what it may use up is reached' : undefined
  }

  #putOwn({ id, role, content, errorDetail }: HandlerMessage, at: number): AgentInstanceMessage {
    const failed = errorDetail && { metadata: { isError: true, errorDetail } }
    return this.#put({ id, createdAt: at }, { role, content, ...failed, duration: role === 'error' ? 1 : 0 })
  }

  #ending(message: AgentInstanceMessage): AgentInstanceMessage {
    this.#lastAnswer = message.id
    return message
  }

  /** All that is left is told again. Files do not go back with words. */
  #rewind({ toSeq, at }: EntryOf<'rewind'>): void {
    for (const kept of [this.#messages, this.#calls, this.#letters, this.#turns, this.#waits]) kept.clear()
    this.#standing = new AgentStanding()
    this.rounds = this.#roundsBefore = 0
    this.#lastAnswer = undefined
    this.#isBeginning = this.#isUnderWay = false
    this.#entries = leftAfter(this.#entries, toSeq)
    for (const entry of this.#entries) this.#take(entry)
    this.#standing.goBack({ isEmpty: this.messages.length === 0, at })
  }

  #put(
    of: { readonly id: string; readonly createdAt: number },
    own: Parameters<KeptMessages['put']>[1],
  ): AgentInstanceMessage {
    const { id, createdAt } = of
    return this.#messages.put({ id, createdAt, round: this.rounds }, own)
  }
}

type Letter = EntryOf<'input'>

/** The first has the name of its turn. */
const idInTurn = (turnId: string, at: number): string => (at === 0 ? turnId : `${turnId}.${at + 1}`)

/** What the messages come from. */
const toldTypes: ReadonlySet<string> = new Set([
  'run_started',
  'input',
  'turn',
  'approval_requested',
  'call_started',
  'call_result',
  'state',
  'run_ended',
])
const isTold = ({ type }: LogEntry): boolean => toldTypes.has(type)

/** As the conversation itself goes back: a call whose results are not all there goes too. */
function leftAfter(entries: readonly LogEntry[], toSeq: number): LogEntry[] {
  const left = entries.filter(({ seq }) => seq <= toSeq)
  const last = left.findLast((entry) => entry.type === 'turn')
  const calls = last ? toolCallsOf(last.turn).map(({ id }) => id) : []
  const answered = new Set(left.flatMap((entry) => (entry.type === 'call_result' ? [entry.callId] : [])))
  if (calls.every((id) => answered.has(id))) return left
  return left.filter((entry) => entry !== last && !(entry.type === 'call_result' && calls.includes(entry.callId)))
}

function thoughtsIn(content: readonly SessionContentBlock[]): string {
  return content.map((block) => (block.type === 'thinking' ? block.text : '')).join('')
}
