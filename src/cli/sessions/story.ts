import { isChildOf } from '../../core/abandoned-child.ts'
import type { CallOutcome, EntryOf, LogEntry } from '../../core/log.ts'
import type { SessionInfo, SessionStore } from '../../core/store.ts'
import {
  type SessionContentBlock,
  type SessionTurn,
  type ToolCallBlock,
  type ToolOutput,
  textOf,
} from '../../core/turn.ts'
import type { Redactor } from '../../platform/redact.ts'
import { withSpill } from '../../sessions/spill.ts'
import { type SessionSummary, summaryOf } from './summary.ts'
import { addTotals, type Totals, totalsOf } from './totals.ts'

/** A session as people read it, whatever it is shown on: what was said, what was done, and who allowed it. */
export interface Story extends SessionSummary {
  readonly models: readonly string[]
  /** Children included. */
  readonly totals: Totals
  readonly parts: readonly StoryPart[]
  readonly children: readonly ChildStory[]
}

/** A sub-agent's, with the call that began it. */
export interface ChildStory extends Story {
  readonly callId?: string
}

export type StoryPart = SaidPart | CallPart | NotePart

export interface SaidPart {
  readonly type: 'said'
  readonly seq: number
  readonly at: number
  readonly who: SessionTurn['role']
  readonly model?: string
  readonly content: readonly Exclude<SessionContentBlock, { type: 'tool_call' | 'tool_result' }>[]
}

export interface CallPart {
  readonly type: 'call'
  readonly seq: number
  readonly at: number
  readonly id: string
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
  readonly approvals: CallApproval[]
  output?: ToolOutput
  isError?: boolean
  outcome?: CallOutcome
}

/** `asked` is one that nobody has answered. */
export interface CallApproval {
  readonly decision: 'asked' | 'allow' | 'deny' | 'expired'
  readonly by?: string
  readonly note?: string
}

export interface NotePart {
  readonly type: 'note'
  readonly seq: number
  readonly at: number
  readonly text: string
}

/** Reads a session with its children. A redactor takes out the secrets before anything else looks at it. */
export async function readStory(store: SessionStore, id: string, redactor?: Redactor): Promise<Story> {
  const all = await store.list()
  const family = Map.groupBy(all, ({ parent }) => parent)
  const logs = new Map<SessionInfo, readonly LogEntry[]>()
  const queue = [all.find((one) => one.id === id) ?? { id, head: 0 }]
  for (const info of queue) {
    logs.set(info, await withSpill(store).read(info.id))
    queue.push(...(family.get(info.id) ?? []))
  }
  // All of them first: what one of them gives away is taken out of the others too.
  if (redactor) for (const entries of logs.values()) redactor.learn(entries)
  const build = (info: SessionInfo): Story => {
    const entries = logs.get(info) ?? []
    const children = (family.get(info.id) ?? []).map((child) => ({
      ...build(child),
      ...callOf(child.id, info.id, entries),
    }))
    return storyOf(info, redactor ? redactor.json(entries) : entries, children)
  }
  return build(queue[0]!)
}

function callOf(child: string, parent: string, entries: readonly LogEntry[]): { callId?: string } {
  const name = child.slice(parent.length + 1)
  for (const entry of entries) {
    if (entry.type !== 'turn') continue
    for (const block of entry.turn.content)
      if (block.type === 'tool_call' && isChildOf(name, block.id)) return { callId: block.id }
  }
  return {}
}

export function storyOf(info: SessionInfo, entries: readonly LogEntry[], children: readonly ChildStory[] = []): Story {
  const teller = new Teller()
  for (const entry of entries) teller.hear(entry)
  const totals = children.reduce((sum, child) => addTotals(sum, child.totals), totalsOf(entries))
  return { ...summaryOf(info, entries), models: [...teller.models], totals, parts: teller.parts, children }
}

class Teller {
  parts: StoryPart[] = []
  readonly models = new Set<string>()
  readonly #calls = new Map<string, CallPart>()

  hear(entry: LogEntry): void {
    if (entry.type === 'turn') this.#turn(entry)
    else if (entry.type === 'call_result') this.#result(entry.callId, entry)
    else if (entry.type === 'approval_requested') this.#callOf(entry.callId)?.approvals.push({ decision: 'asked' })
    else if (entry.type === 'approval_answered') this.#answered(entry)
    else if (entry.type === 'rewind') this.#rewind(entry)
    else {
      const text = noteOf(entry)
      if (text !== undefined) this.parts.push({ type: 'note', seq: entry.seq, at: entry.at, text })
    }
  }

  #turn({ seq, at, turn }: EntryOf<'turn'>): void {
    const { role, model, content } = turn
    if (model !== undefined) this.models.add(model)
    if (!Array.isArray(content)) return
    const blocks = content as readonly SessionContentBlock[]
    const said = blocks.filter((block) => block.type !== 'tool_call' && block.type !== 'tool_result')
    if (said.length > 0)
      this.parts.push({ type: 'said', seq, at, who: role, content: said, ...(model !== undefined && { model }) })
    for (const block of blocks) {
      if (block.type === 'tool_call') this.#call(block, seq, at)
      if (block.type === 'tool_result') this.#result(block.callId, block)
    }
  }

  #call({ id, name, input, raw }: ToolCallBlock, seq: number, at: number): void {
    const part: CallPart = {
      type: 'call',
      seq,
      at,
      id,
      name,
      input: raw === undefined ? input : { raw },
      approvals: [],
    }
    this.#calls.set(id, part)
    this.parts.push(part)
  }

  /** A call that a tool made counts as part of that tool's own. */
  #callOf(id: string): CallPart | undefined {
    for (let end = id.length; end > 0; end = id.lastIndexOf('.', end - 1)) {
      const call = this.#calls.get(id.slice(0, end))
      if (call) return call
    }
    return undefined
  }

  #result(id: string, { output, isError, outcome }: Pick<CallPart, 'output' | 'isError' | 'outcome'>): void {
    const call = this.#calls.get(id)
    if (!call || call.output !== undefined) return
    Object.assign(call, { output, ...(isError && { isError }), ...(outcome && { outcome }) })
  }

  #answered({ callId, decision, by, note = [] }: EntryOf<'approval_answered'>): void {
    const approvals = this.#callOf(callId)?.approvals
    const asked = approvals?.findIndex((one) => one.decision === 'asked') ?? -1
    if (!approvals || asked < 0) return
    const said = textOf({ role: 'user', content: note })
    approvals[asked] = { decision, by, ...(said !== '' && { note: said }) }
  }

  #rewind({ seq, at, toSeq }: EntryOf<'rewind'>): void {
    this.parts = this.parts.filter((part) => part.seq <= toSeq)
    this.parts.push({
      type: 'note',
      seq,
      at,
      text: `Went back to entry ${toSeq}; what came after it is no longer part of the conversation`,
    })
  }
}

function noteOf(entry: LogEntry): string | undefined {
  switch (entry.type) {
    case 'run_ended':
      return endingOf(entry)
    case 'compaction':
      return `Everything above was summarised for the model:\n${textOf({ role: 'user', content: entry.summary })}`
    case 'label':
      return `Label: ${entry.text}`
    case 'parked':
      return `Parked: ${entry.reason}`
    case 'state':
      return entry.owner === 'fork' ? forkedFrom(entry.value) : undefined
    default:
      return undefined
  }
}

function endingOf({ status, stop, error }: EntryOf<'run_ended'>): string | undefined {
  if (status === 'completed') return undefined
  if (status === 'suspended') return 'The run ended here, to wait for an answer'
  if (status === 'aborted') return stop === 'forked' ? undefined : 'Stopped'
  if (stop === 'crashed') return 'The process ended in the middle of this'
  return `The run failed: ${error?.message ?? stop}`
}

function forkedFrom(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || !('session' in value)) return undefined
  return `A copy of session ${String(value.session)} up to here`
}
