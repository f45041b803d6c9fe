import { withInterruptionNote } from './interrupted-turn.ts'
import type { EntryOf, LogEntry, ParentCall } from './log.ts'
import type { Meta } from './meta.ts'
import { Pairs } from './pairing.ts'
import { type TouchedFile, touchedFileOf } from './tool.ts'
import {
  deepFreeze,
  type Message,
  type SessionContentBlock,
  type SessionTurn,
  type ToolCallBlock,
  type ToolResultBlock,
  toolCallsOf,
} from './turn.ts'

type ContextEdit = EntryOf<'context_edit'>

/** The conversation a log amounts to. Fed entry by entry, live and on replay alike, so that both give the same turns. */
export class Transcript {
  /** Grows and is never edited in place; a rewind puts another list here. */
  turns: readonly SessionTurn[] = []
  /** Accepted messages that were not delivered yet. */
  inbox: readonly EntryOf<'input'>[] = []
  /** The last word on each call that needed permission. */
  readonly approvals = new Map<string, EntryOf<'approval_requested'> | EntryOf<'approval_answered'>>()
  /** What each extension wrote last. */
  readonly states = new Map<string, unknown>()
  /** What each call did to a file, in the order of the results. */
  readonly touched = new Map<string, TouchedFile>()
  readonly runs: RunRecord[] = []
  /** What somebody answered to a question that a call put. */
  readonly answers = new Map<string, readonly SessionContentBlock[]>()
  readonly labels: EntryOf<'label'>[] = []
  /** Why nothing more is tried with this session; absent as long as something is. */
  parked: string | undefined
  /** Runs in a row that ended with their process and had got nowhere. */
  crashes = 0
  /** Whether a run of this process is under way. */
  isLive = false
  readonly #touchedAt = new Map<string, number>()
  #seqs: number[] = []
  #open: OpenTurn | undefined
  readonly #callIds = new Set<string>()
  readonly #clientKeys = new Set<string>()
  #compactions: EntryOf<'compaction'>[] = []
  #shown: { of: readonly SessionTurn[]; list: readonly SessionTurn[] } = { of: [], list: [] }
  #edits: ContextEdit[] = []
  #hasInterrupted = false
  #rewoundAt = 0
  #views = new Map<string, View>()

  /** The assistant turn that still waits for results. */
  get openTurn(): SessionTurn | undefined {
    return this.#open?.turn
  }

  get openCalls(): readonly ToolCallBlock[] {
    const open = this.#open
    return open ? open.calls.filter((call) => open.answers.get(call.id) === undefined) : []
  }

  /** The model has had its say and nobody has spoken since. */
  get isAnswered(): boolean {
    return !this.#open && this.turns.at(-1)?.role === 'assistant' && !this.isInterrupted
  }

  /** The model was interrupted, and the user has said nothing since. */
  get isInterrupted(): boolean {
    return this.turns.at(-1)?.interrupted === true
  }

  /** The run that has begun and not ended; after a crash, the one that never will. */
  get activeRun(): RunRecord | undefined {
    const last = this.runs.at(-1)
    return last && last.status === undefined ? last : undefined
  }

  /**
   * What a reader sees, as a list of his own: it does not grow under his hands, nor can he change the session with it.
   * Outside a run a turn that still waits for results is not history yet.
   */
  get completeTurns(): readonly SessionTurn[] {
    const length = this.#open && !this.isLive ? this.turns.length - 1 : this.turns.length
    if (this.#shown.of !== this.turns || this.#shown.list.length !== length)
      this.#shown = { of: this.turns, list: Object.freeze(this.turns.slice(0, length)) }
    return this.#shown.list
  }

  startOf(callId: string): EntryOf<'call_started'> | undefined {
    return this.#open?.starts?.get(callId)?.entry
  }

  /** Begun and neither ended nor suspended: its process died over it. */
  wasInterrupted(callId: string): boolean {
    return this.#open?.starts?.get(callId)?.isUnderWay ?? false
  }

  /** Calls made by a call of the open turn, and by those, that have begun and have no result. */
  nestedWithin(callId: string): string[] {
    const { starts, nested, answers } = this.#open ?? {}
    return [...(starts?.keys() ?? [])].filter(
      (id) => id.startsWith(`${callId}.`) && !nested?.has(id) && !answers?.has(id),
    )
  }

  /** The result of a call that a tool of the open turn made. */
  nestedResultOf(callId: string): EntryOf<'call_result'> | undefined {
    return this.#open?.nested?.get(callId)
  }

  hasCall(id: string): boolean {
    return this.#callIds.has(id)
  }

  hasClientKey(key: string): boolean {
    return this.#clientKeys.has(key)
  }

  /** What a model is shown. The turns themselves, the very same list, unless one was compacted, edited or interrupted. */
  messagesFor(provider: string): readonly Message[] {
    if (this.#compactions.length === 0 && this.#edits.length === 0 && !this.#hasInterrupted) return this.turns
    let view = this.#views.get(provider)
    if (!view) this.#views.set(provider, (view = this.#newView(provider)))
    for (; view.next < this.turns.length; view.next++) view.pairs.add(edited(this.turns[view.next]!, view.edits))
    return view.pairs.messages
  }

  /** The summary that stands for the beginning of the conversation, if there is one. */
  get compaction(): EntryOf<'compaction'> | undefined {
    return this.#compactions.at(-1)
  }

  /** The entry with which a turn was complete. */
  seqOf(turnId: string | undefined): number | undefined {
    return this.#seqs[this.turns.findLastIndex((turn) => turn.id === turnId)]
  }

  /** The turns a model is shown behind the summary, not yet paired; for who decides which of them to replace. */
  shownTurns(provider: string): ShownTurn[] {
    const { next, edits } = this.#newView(provider)
    return this.turns.slice(next).map((turn, i) => ({
      id: turn.id,
      role: turn.role,
      seq: this.#seqs[next + i]!,
      blocks: editedBlocks(turn, edits.get(turn.id)),
    }))
  }

  /** What changed, after `seq`, in what a model is shown of the past. */
  lastChange(seq: number): string | undefined {
    if (this.#rewoundAt > seq) return 'rewind'
    if (this.#compactions.some((one) => one.seq > seq)) return 'compaction'
    return this.#edits.some((one) => one.seq > seq) ? 'context edit' : undefined
  }

  apply(entry: LogEntry): void {
    switch (entry.type) {
      case 'run_started':
        this.runs.push(recordOf(entry, this.turns.length))
        break
      case 'run_ended':
        this.#endRun(entry)
        break
      case 'input':
        this.#clientKeys.add(entry.clientKey)
        if (entry.mode === 'stop') this.#noteStop(entry)
        else if (entry.mode !== 'answer') this.inbox = [...this.inbox, entry]
        else if (entry.callId !== undefined) this.answers.set(entry.callId, entry.content)
        break
      case 'turn':
        this.#addTurn(entry)
        break
      case 'call_started':
        if (this.#open) (this.#open.starts ??= new Map()).set(entry.callId, { entry, isUnderWay: true })
        break
      case 'call_result': {
        if (isProgress(entry)) this.crashes = 0
        const file = entry.isError ? undefined : touchedFileOf(entry.details)
        if (file) {
          this.touched.set(entry.callId, file)
          this.#touchedAt.set(entry.callId, entry.seq)
        }
        this.#addResult(entry)
        break
      }
      case 'approval_requested':
        this.approvals.set(entry.callId, entry)
        break
      case 'approval_answered':
        this.#approve(entry)
        break
      case 'label':
        this.labels.push(entry)
        break
      case 'parked':
        this.parked = entry.reason
        break
      case 'unparked':
        this.parked = undefined
        this.crashes = 0
        break
      case 'state':
        this.states.set(entry.owner, entry.value)
        break
      case 'compaction':
        this.#compactions.push(entry)
        this.#views.clear()
        break
      case 'context_edit':
        this.#edits.push(entry)
        this.#views.clear()
        break
      case 'rewind':
        this.#rewind(entry.toSeq)
        this.#rewoundAt = entry.seq
        break
    }
  }

  #push(turn: SessionTurn, seq: number): void {
    ;(this.turns as SessionTurn[]).push(turn)
    this.#seqs.push(seq)
  }

  #addTurn({ turn: stored, consumed, clientKey, seq }: EntryOf<'turn'>): void {
    const turn = readable(stored)
    this.#push(turn, seq)
    if (clientKey !== undefined) this.#clientKeys.add(clientKey)
    if (consumed) this.inbox = this.inbox.filter((item) => !consumed.includes(item.id))
    if (turn.role === 'user') {
      this.#hear(turn)
      return
    }
    this.crashes = 0
    if (turn.interrupted) this.#hasInterrupted = true
    const calls = toolCallsOf(turn)
    this.#open = undefined // who goes on does not wait for what was asked before
    if (calls.length === 0) return
    const answers = new Map<string, ToolResultBlock | undefined>()
    for (const { id } of calls) {
      this.#callIds.add(id)
      answers.set(id, undefined)
      // Nobody can have spoken about a call before it was made, whatever else bore its name.
      this.approvals.delete(id)
      this.answers.delete(id)
    }
    this.#open = { turn, calls, answers, left: answers.size }
  }

  /** The first answer wins; one to something else than what was asked is none. */
  #approve(entry: EntryOf<'approval_answered'>): void {
    if (entry.clientKey !== undefined) this.#clientKeys.add(entry.clientKey)
    const asked = this.approvals.get(entry.callId)
    if (asked?.type === 'approval_requested' && asked.digest === entry.digest) this.approvals.set(entry.callId, entry)
  }

  /** Turns that came from elsewhere bring their results along, perhaps in several pieces. */
  #hear({ content }: SessionTurn): void {
    const open = this.#open
    if (!open) return
    for (const block of content) {
      if (block.type !== 'tool_result' || !open.answers.has(block.callId) || open.answers.get(block.callId)) continue
      open.answers.set(block.callId, block)
      ;(open.brought ??= new Set()).add(block.callId)
      open.left--
    }
    if (open.left === 0) this.#open = undefined
  }

  /** Results arrive as they settle; the turn they form is in the order in which the model asked. */
  #addResult(entry: EntryOf<'call_result'>): void {
    const open = this.#open
    if (!open) return
    const { callId, output, isError } = entry
    const start = open.starts?.get(callId)
    if (start) start.isUnderWay = false
    if (!open.answers.has(callId)) (open.nested ??= new Map()).set(callId, entry)
    else if (open.answers.get(callId) === undefined) {
      open.answers.set(callId, { type: 'tool_result', callId, output, ...(isError && { isError }) })
      if (--open.left === 0) this.#closeTurn(open, entry)
    }
  }

  #closeTurn({ turn: { id, runId }, calls, answers, brought }: OpenTurn, { at, seq }: LogEntry): void {
    this.#open = undefined
    const content = calls.flatMap((call) => (brought?.has(call.id) ? [] : [answers.get(call.id)!]))
    this.#push(deepFreeze({ id: `${id}.results`, runId, role: 'user', content, createdAt: at }), seq)
  }

  /** It is for the run under way; whatever runs later has not been told. */
  #noteStop({ seq }: EntryOf<'input'>): void {
    const run = this.activeRun
    if (run) run.stopSeq ??= seq
  }

  #endRun(entry: EntryOf<'run_ended'>): void {
    const run = this.runs.findLast((one) => one.id === entry.runId)
    const { status, stop, at: endedAt, seq: endSeq } = entry
    if (run) Object.assign(run, { status, stop, endedAt, endSeq, turns: this.turns.length })
    const { dropsTo } = entry
    this.crashes = entry.stop === 'crashed' ? this.crashes + 1 : 0 // a process that lives to tell breaks the row
    if (dropsTo !== undefined) this.#keepMessages(({ seq }) => seq > dropsTo)
    // What a suspended run left open waits on purpose; only what a dying run left open was interrupted.
    if (entry.status === 'suspended') for (const start of this.#open?.starts?.values() ?? []) start.isUnderWay = false
  }

  /** A message that goes undelivered may be sent again, under the same key. */
  #keepMessages(isKept: (message: EntryOf<'input'>) => boolean): void {
    for (const message of this.inbox) if (!isKept(message)) this.#clientKeys.delete(message.clientKey)
    this.inbox = this.inbox.filter(isKept)
  }

  #rewind(toSeq: number): void {
    let keep = this.#seqs.filter((seq) => seq <= toSeq).length
    // Going back to the moment between a call and its results takes the call away too.
    if (keep > 0 && toolCallsOf(this.turns[keep - 1]!).length > 0) keep--
    this.turns = this.turns.slice(0, keep)
    this.#seqs = this.#seqs.slice(0, keep)
    this.#keepMessages(({ seq }) => seq <= toSeq)
    this.#open = undefined
    this.#edits = this.#edits.filter((edit) => edit.seq <= toSeq)
    this.#compactions = this.#compactions.filter((compaction) => compaction.seq <= toSeq)
    for (const [callId, seq] of this.#touchedAt) if (seq > toSeq) this.#forgetTouch(callId)
    this.#views.clear()
  }

  /** In place: whoever shares what was read holds the very same list. */
  #forgetTouch(callId: string): void {
    this.touched.delete(callId)
    this.#touchedAt.delete(callId)
  }

  #newView(provider: string): View {
    const edits = Map.groupBy(
      this.#edits.filter((edit) => edit.provider === undefined || edit.provider === provider),
      (edit) => edit.turnId,
    )
    const compaction = this.#compactions.at(-1)
    const pairs = new Pairs()
    if (!compaction) return { pairs, next: 0, edits }
    const { toSeq, summary, id, at } = compaction
    // Under the id of its entry it can be edited like a turn.
    pairs.add(edited({ id, runId: '', role: 'user', content: summary, createdAt: at }, edits))
    return { pairs, next: this.#seqs.filter((seq) => seq <= toSeq).length, edits }
  }
}

/** Whether a session got somewhere with this: the model replied, or a call really ran. */
export function isProgress(entry: LogEntry): boolean {
  if (entry.type === 'turn') return entry.turn.role === 'assistant'
  return entry.type === 'call_result' && hasRun.has(entry.outcome)
}

/** How a call ends that really ran. */
const hasRun: ReadonlySet<string> = new Set(['done', 'error', 'timeout', 'substituted', 'blocked'])

function recordOf({ runId: id, model, at, agent, parent, meta }: EntryOf<'run_started'>, firstTurn: number): RunRecord {
  const who = { ...(agent !== undefined && { agent }), ...(parent && { parent }), ...(meta && { meta }) }
  return { id, model, startedAt: at, firstTurn, ...who }
}

export interface RunRecord {
  readonly id: string
  readonly model: string
  /** The agent's name. */
  readonly agent?: string
  /** The call that a child works for. */
  readonly parent?: ParentCall
  /** What came with the message that it answers. */
  readonly meta?: Meta
  readonly startedAt: number
  readonly firstTurn: number
  endedAt?: number
  /** Absent while it runs. */
  status?: EntryOf<'run_ended'>['status']
  stop?: string
  /** The entry that says so. */
  endSeq?: number
  /** Number of turns when it ended. */
  turns?: number
  /** The entry that told it to stop, where one came through the inbox. */
  stopSeq?: number
}

/** A turn as a model is shown it. */
export interface ShownTurn {
  readonly id: string
  readonly role: SessionTurn['role']
  /** With this entry it was complete. */
  readonly seq: number
  /** Each at the index that a `context_edit` names; undefined where one is hidden. */
  readonly blocks: readonly (SessionContentBlock | undefined)[]
}

interface OpenTurn {
  readonly turn: SessionTurn
  readonly calls: readonly ToolCallBlock[]
  readonly answers: Map<string, ToolResultBlock | undefined>
  /** How many calls wait for an answer. */
  left: number
  /** Calls whose results stand in a turn already. */
  brought?: Set<string>
  /** Calls that have begun, nested ones too. */
  starts?: Map<string, { readonly entry: EntryOf<'call_started'>; isUnderWay: boolean }>
  nested?: Map<string, EntryOf<'call_result'>>
}

interface View {
  readonly pairs: Pairs
  next: number
  readonly edits: Map<string, ContextEdit[]>
}

/** A log may hold what nobody would write today; a block that is none says nothing. */
function readable(turn: SessionTurn): SessionTurn {
  const { content } = turn
  const isBlock = (block: unknown): boolean => typeof block === 'object' && block !== null
  if (Array.isArray(content) && content.every(isBlock)) return turn
  const blocks: readonly SessionContentBlock[] = Array.isArray(content) ? content : []
  return { ...turn, content: blocks.map((block) => (isBlock(block) ? block : { type: 'text', text: '' })) }
}

function edited(turn: SessionTurn, edits: Map<string, ContextEdit[]>): Message {
  const mine = edits.get(turn.id)
  if (!mine) return withInterruptionNote(turn)
  return withInterruptionNote({
    ...turn,
    content: editedBlocks(turn, mine).filter((block) => block !== undefined),
  })
}

function editedBlocks({ content }: SessionTurn, edits: readonly ContextEdit[] = []): ShownTurn['blocks'] {
  const blocks: (SessionContentBlock | undefined)[] = [...content]
  for (const { block, replacement } of edits) if (block < blocks.length) blocks[block] = replacement
  return blocks
}
