import { isChildOf } from '../../../core/children.ts'
import { SessionNotFoundError } from '../../../core/errors.ts'
import type { CallOutcome, LogEntry } from '../../../core/log.ts'
import type { SessionStore, SessionSummary } from '../../../core/store.ts'
import type { SessionContentBlock, SessionTurn, ToolOutput } from '../../../core/turn.ts'
import { createRedactor, type Redactor } from '../../../platform/redact.ts'
import { descendantsOf } from '../../../sessions/family.ts'
import { titleWithoutSecrets } from '../session-title.ts'
import { addTotals, type Totals, totalsOf } from './totals.ts'
import { TranscriptViewBuilder } from './transcript-view-builder.ts'

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
  readonly approvals: CallApproval[]
  output?: ToolOutput
  isError?: boolean
  outcome?: CallOutcome
}

/** `asked` means that there is no answer yet. */
export interface CallApproval {
  readonly decision: 'asked' | 'allow' | 'deny' | 'expired'
  readonly by?: string
  readonly note?: string
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
  const builder = new TranscriptViewBuilder()
  for (const entry of entries) builder.add(entry)
  const totals = children.reduce((sum, child) => addTotals(sum, child.totals), totalsOf(entries))
  const { title = '' } = session
  return { ...session, title, models: [...builder.models], totals, parts: builder.parts, children }
}

/** Sub-agents whose call is not in the transcript, for instance after a rewind. They are shown at its end. */
export function unplacedChildren({
  parts,
  children,
}: Pick<TranscriptView, 'parts' | 'children'>): ChildTranscriptView[] {
  const known = new Set(parts.flatMap((part) => (part.type === 'call' ? [part.id] : [])))
  return children.filter(({ callId }) => callId === undefined || !known.has(callId))
}
