import type { EntryBody, EntryOf, LogEntry } from '../core/log.ts'
import type { Attention, SessionDetails, SessionStatus, SessionSummary } from '../core/store.ts'
import { oneLine } from '../core/text.ts'
import { isProgress } from '../core/transcript.ts'
import { textOf, toolCallsOf } from '../core/turn.ts'

/** What a store keeps about a session beside its log. It is computed from the entries alone, with each append. */
export interface SessionRecord extends SessionDetails {
  readonly head: number
  readonly createdAt: number
  readonly updatedAt: number
  readonly turns: number
  readonly calls: number
  readonly tokens: number
  readonly cost: number
  readonly bytes: number
  /** Without regard to the lease. */
  readonly status: SessionStatus
  /** A run has begun and not ended. */
  readonly isActive?: true
  /** The process of the last run. */
  readonly processId?: string
  /** An answer came after the run was suspended. */
  readonly isAnswered?: true
  /** Accepted messages that no turn has delivered yet: the id and the number of each entry. */
  readonly undelivered: readonly (readonly [id: string, seq: number])[]
  readonly checkpoint?: number
  readonly suspicions?: number
}

export const emptyRecord: SessionRecord = {
  ...{ head: 0, createdAt: 0, updatedAt: 0, turns: 0, calls: 0, tokens: 0, cost: 0, bytes: 0 },
  status: 'idle',
  undelivered: [],
}

/** The record after these entries were appended. `bytes` is their approximate size in the store. */
export function recordAfter(record: SessionRecord, entries: readonly LogEntry[], bytes: number): SessionRecord {
  const first = entries[0]
  if (!first) return record
  const draft: Draft = { ...record, createdAt: record.head === 0 ? timeOf(first) : record.createdAt }
  for (const entry of entries) {
    draft.head = entry.seq
    draft.updatedAt = timeOf(entry) || draft.updatedAt
    fold(draft, entry)
  }
  draft.bytes += bytes
  return draft
}

type Draft = { -readonly [Key in keyof SessionRecord]: SessionRecord[Key] }

const timeOf = ({ at }: LogEntry): number => (typeof at === 'number' && Number.isFinite(at) ? at : 0)

/** Entries of other versions may lack fields, so nothing is taken for granted. */
function fold(draft: Draft, entry: LogEntry): void {
  if (draft.suspicions !== undefined && isMeasuredProgress(entry)) delete draft.suspicions
  const change = changes[entry.type] as ((draft: Draft, entry: LogEntry) => void) | undefined
  try {
    change?.(draft, entry)
  } catch {
    // A malformed entry changes nothing here; reading the log reports it.
  }
}

function isMeasuredProgress(entry: LogEntry): boolean {
  try {
    return isProgress(entry)
  } catch {
    return false
  }
}

const changes: { readonly [Type in EntryBody['type']]?: (draft: Draft, entry: EntryOf<Type>) => void } = {
  details(draft, { title, tags, tenant, kind, folder }) {
    if (title !== undefined) draft.title = oneLine(title, maxTitleLength)
    if (tags !== undefined) draft.tags = tags
    if (tenant !== undefined) draft.tenant = tenant
    if (kind !== undefined) draft.kind = kind
    if (folder !== undefined) draft.folder = folder
  },
  run_started(draft, { processId }) {
    draft.status = 'working'
    draft.isActive = true
    delete draft.isAnswered
    if (processId === undefined) delete draft.processId
    else draft.processId = processId
  },
  run_ended(draft, { status, error, dropsTo, sharedCrash }) {
    delete draft.isActive
    draft.status = statusAfter(status, error !== undefined)
    if (dropsTo !== undefined) draft.undelivered = draft.undelivered.filter(([, seq]) => seq > dropsTo)
    if (sharedCrash) draft.suspicions = (draft.suspicions ?? 0) + 1
  },
  input(draft, { mode, id, seq, content }) {
    if (mode === 'answer') noteAnswer(draft)
    else if (mode !== 'stop') {
      draft.undelivered = [...draft.undelivered, [id, seq]]
      draft.title ||= titleOf(content)
    }
  },
  turn(draft, { turn, consumed }) {
    draft.turns++
    draft.calls += toolCallsOf(turn).length
    addUsage(draft, turn.usage)
    if (consumed) draft.undelivered = draft.undelivered.filter(([id]) => !consumed.includes(id))
    if (turn.role === 'user') draft.title ||= titleOf(turn.content)
  },
  usage(draft, { usage }) {
    addUsage(draft, usage)
  },
  approval_requested(draft) {
    if (draft.isActive) draft.status = 'waiting'
  },
  approval_answered(draft) {
    if (draft.isActive) draft.status = 'working'
    else noteAnswer(draft)
  },
  call_started(draft) {
    if (draft.isActive) draft.status = 'working'
  },
  rewind(draft, { toSeq }) {
    draft.undelivered = draft.undelivered.filter(([, seq]) => seq <= toSeq)
    delete draft.isAnswered
    if (!draft.isActive && draft.status !== 'parked') draft.status = 'idle'
  },
  parked(draft) {
    draft.status = 'parked'
  },
  unparked(draft) {
    draft.status = 'idle'
    delete draft.suspicions
  },
  checkpoint(draft, { seq }) {
    draft.checkpoint = seq
  },
  // The command line of earlier versions recorded the folder as its state.
  state(draft, { owner, value }) {
    const cwd = owner === 'cli' ? (value as { readonly cwd?: unknown } | null)?.cwd : undefined
    if (typeof cwd === 'string') draft.folder ??= cwd
  },
}

const maxTitleLength = 200

function titleOf(content: readonly { readonly type: string }[]): string {
  return oneLine(textOf({ role: 'user', content: content as never }).slice(0, 4 * maxTitleLength), maxTitleLength)
}

function statusAfter(status: EntryOf<'run_ended'>['status'], hasError: boolean): SessionStatus {
  if (status === 'suspended') return 'waiting'
  if (status === 'left') return 'interrupted'
  if (status !== 'error') return 'idle'
  return hasError ? 'failed' : 'interrupted'
}

function noteAnswer(draft: Draft): void {
  if (!draft.isActive && draft.status === 'waiting') draft.isAnswered = true
}

function addUsage(draft: Draft, usage: EntryOf<'usage'>['usage'] | undefined): void {
  draft.tokens += (usage?.input ?? 0) + (usage?.output ?? 0)
  draft.cost += usage?.cost ?? 0
}

/** What a store knows of a session beside its record. */
export interface SessionPresence {
  readonly id: string
  readonly parent?: string | undefined
  /** Whether a living process holds the lease. */
  readonly isHeld: boolean
  /** Messages in the inbox, and whether one of them is an answer. */
  readonly mail: 'none' | 'messages' | 'answer'
}

/** The summary that a store gives to its callers. */
export function summaryOf(record: SessionRecord, { id, parent, isHeld, mail }: SessionPresence): SessionSummary {
  const {
    isActive,
    processId: _processId,
    isAnswered: _answered,
    undelivered: _undelivered,
    tags = [],
    ...shown
  } = record
  const attention = isHeld ? undefined : attentionOf(record, mail)
  return {
    ...shown,
    id,
    tags,
    status: isActive && !isHeld && record.status !== 'parked' ? 'interrupted' : record.status,
    ...(parent !== undefined && { parent }),
    ...(attention && { attention }),
  }
}

/** Why a session needs attention, if no living process holds its lease. */
export function attentionOf(record: SessionRecord, mail: SessionPresence['mail']): Attention | undefined {
  if (record.status === 'parked') return undefined
  if (record.isActive) return 'owner_died'
  if (record.status === 'interrupted') return 'interrupted'
  if (record.isAnswered || mail === 'answer') return 'answered'
  return mail === 'messages' || record.undelivered.length > 0 ? 'mail' : undefined
}
