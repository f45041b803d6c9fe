import { isChildOf } from '../../../core/children.ts'
import type { EditDecision } from '../../../core/edit-outcomes.ts'
import { SessionNotFoundError } from '../../../core/errors.ts'
import type { CallOutcome, LogEntry } from '../../../core/log.ts'
import type { SessionStore, SessionSummary } from '../../../core/store.ts'
import { type SessionContentBlock, type SessionTurn, type ToolOutput, textOf } from '../../../core/turn.ts'
import { createRedactor, type Redactor } from '../../../platform/redact.ts'
import { descendantsOf } from '../../../sessions/family.ts'
import type { CallRow, Row } from '../../../view/rows.ts'
import { emptyView, foldEntries } from '../../../view/session-view.ts'
import { titleWithoutSecrets } from '../session-title.ts'
import { addTotals, type Totals, totalsOf } from './totals.ts'

/** A session for display in any format: messages, calls with their results, and approvals. */
export interface TranscriptView extends SessionSummary {
  readonly title: string
  readonly models: readonly string[]
  /** Children included. */
  readonly totals: Totals
  readonly parts: readonly TranscriptPart[]
  readonly children: readonly ChildTranscriptView[]
}

/** The transcript of a sub-agent, with the call that started it. */
export interface ChildTranscriptView extends TranscriptView {
  readonly callId?: string
}

export type TranscriptPart = MessagePart | CallPart | NotePart

export interface MessagePart {
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
  readonly approvals: readonly CallApproval[]
  readonly isWaiting?: true
  readonly output?: ToolOutput
  readonly isError?: boolean
  readonly outcome?: CallOutcome
}

/** `asked` means that there is no answer yet. */
export interface CallApproval {
  readonly decision: 'asked' | 'allow' | 'deny' | 'expired' | 'reply'
  readonly by?: string
  readonly note?: string
  /** The decision about each edit, if some were denied. */
  readonly edits?: readonly EditDecision[]
}

interface NotePart {
  readonly type: 'note'
  readonly seq: number
  readonly at: number
  readonly text: string
}

/** Reads a session with its children. A redactor removes secrets first. */
export async function readTranscriptView(
  store: SessionStore,
  id: string,
  redactor?: Redactor,
): Promise<TranscriptView> {
  const root = await store.find(id)
  if (!root) throw new SessionNotFoundError(id)
  const descendants = await descendantsOf(store, id)
  const family = Map.groupBy(descendants, ({ parent }) => parent)
  const logs = new Map<SessionSummary, readonly LogEntry[]>()
  for (const session of [root, ...descendants]) logs.set(session, await store.read(session.id))
  // The redactor learns from all logs first, so that a secret found in one is removed from the others too.
  if (redactor) for (const entries of logs.values()) redactor.learn(entries)
  const build = (info: SessionSummary): TranscriptView => {
    const entries = logs.get(info) ?? []
    const children = (family.get(info.id) ?? []).map((child) => ({
      ...build(child),
      ...callOf(child.id, info.id, entries),
    }))
    const safe = { ...info, title: titleWithoutSecrets(info.title, redactor ?? createRedactor()) }
    return buildTranscriptView(safe, redactor ? redactor.json(entries) : entries, children)
  }
  return build(root)
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

export function buildTranscriptView(
  session: SessionSummary,
  entries: readonly LogEntry[],
  children: readonly ChildTranscriptView[] = [],
): TranscriptView {
  const view = foldEntries(emptyView, entries)
  const rows = [...view.rows]
  const models = new Set(rows.flatMap((row) => (row.kind === 'answer' ? (row.model ?? []) : [])))
  const totals = children.reduce((sum, child) => addTotals(sum, child.totals), totalsOf(view.usage))
  const { title = '' } = session
  return { ...session, title, models: [...models], totals, parts: rows.flatMap(partOf), children }
}

function partOf(row: Row): TranscriptPart | [] {
  const { seq, at } = row
  switch (row.kind) {
    case 'message':
      return { type: 'said', seq, at, who: 'user', content: row.content.filter(isSaid) }
    case 'answer':
      if (row.content.length === 0) return []
      return { type: 'said', seq, at, who: 'assistant', content: row.content, ...(row.model && { model: row.model }) }
    case 'call':
      return callPart(row)
    case 'notice':
      return { type: 'note', seq, at, text: row.text }
    case 'compaction': {
      const summary = textOf({ role: 'user', content: row.summary })
      return { type: 'note', seq, at, text: `Everything above was summarised for the model:\n${summary}` }
    }
  }
}

const isSaid = (block: SessionContentBlock): block is MessagePart['content'][number] =>
  block.type !== 'tool_call' && block.type !== 'tool_result'

function callPart({ seq, at, id, name, input, raw, state, approvals = [], result }: CallRow): CallPart {
  return {
    ...{ type: 'call', seq, at, id, name, input: raw === undefined ? input : { raw } },
    approvals: approvals.map(({ answer }) => {
      if (!answer) return { decision: 'asked' }
      const { decision, by, edits } = answer
      const note = textOf({ role: 'user', content: answer.note ?? [] })
      return {
        decision,
        ...(by !== undefined && { by }),
        ...(note !== '' && { note }),
        ...(edits && { edits }),
      }
    }),
    ...(state === 'waiting' && { isWaiting: true }),
    ...(result && { output: result.output, outcome: result.outcome, ...(result.isError && { isError: true }) }),
  }
}

/** Sub-agents whose call is not in the transcript, for instance after a rewind. They are shown at its end. */
export function unplacedChildren({
  parts,
  children,
}: Pick<TranscriptView, 'parts' | 'children'>): ChildTranscriptView[] {
  const known = new Set(parts.flatMap((part) => (part.type === 'call' ? [part.id] : [])))
  return children.filter(({ callId }) => callId === undefined || !known.has(callId))
}
