import type { EntryBody, EntryOf, InboxItem, LogEntry } from '../core/log.ts'
import { blocksOf, foldStatus, type StatusFacts, setStatus } from '../core/session-status.ts'
import type { Attention, SessionDetails, SessionSummary } from '../core/store.ts'
import { isProgress } from '../core/transcript.ts'
import { toolCallsOf } from '../core/turn.ts'
import { agentDetails, statusOfYield } from './agent-states.ts'
import { plainText, readableDetails, titleOf } from './summary-texts.ts'

/**
 * The part of a session's summary that is computed from its entries alone. A store updates it with each append and keeps it
 * beside the log, so that lists need not read the log. Stores keep it under the name `record`.
 */
export interface StoredSummary extends SessionDetails, StatusFacts {
  readonly head: number
  readonly createdAt: number
  readonly updatedAt: number
  readonly turns: number
  readonly calls: number
  readonly tokens: number
  readonly cost: number
  readonly bytes: number
  /** The process of the last run. */
  readonly processId?: string
  /** Accepted messages that no turn has delivered yet: the id and the number of each entry. */
  readonly undelivered: readonly (readonly [id: string, seq: number])[]
  readonly checkpoint?: number
  /**
   * Crashes for which this session may be to blame: its process died while it held several sessions, and the run of this one had made
   * no progress. Set to 0 when a run begins, unless there is a count already; absent once a run has made progress or ended without a
   * crash.
   */
  readonly suspicions?: number
}

export const emptySummary: StoredSummary = {
  ...{ head: 0, createdAt: 0, updatedAt: 0, turns: 0, calls: 0, tokens: 0, cost: 0, bytes: 0 },
  status: 'idle',
  undelivered: [],
}

/** The summary of a session to which these entries were appended. `bytes` is their approximate size in the store. */
export function applyEntries(summary: StoredSummary, entries: readonly LogEntry[], bytes: number): StoredSummary {
  const first = entries[0]
  if (!first) return summary
  const draft: Draft = { ...summary, createdAt: summary.head === 0 ? numberIn(first.at) : summary.createdAt }
  for (const entry of entries) {
    draft.head = entry.seq
    draft.updatedAt = numberIn(entry.at) || draft.updatedAt
    fold(draft, entry)
  }
  draft.bytes += bytes
  return draft
}

type Draft = { -readonly [Key in keyof StoredSummary]: StoredSummary[Key] }

/** Entries of other versions and imported ones may lack fields or have wrong ones, so nothing is taken for granted. */
function fold(draft: Draft, entry: LogEntry): void {
  const change = changes[entry.type] as ((draft: Draft, entry: LogEntry) => void) | undefined
  try {
    if (draft.suspicions !== undefined && isProgress(entry)) delete draft.suspicions
    foldStatus(draft, entry)
    change?.(draft, entry)
  } catch {
    // A malformed entry changes nothing here; reading the log reports it.
  }
}

/** At most this many are remembered, because the summary is written with each append. */
const maxUndelivered = 200

const changes: { readonly [Type in EntryBody['type']]?: (draft: Draft, entry: EntryOf<Type>) => void } = {
  details(draft, entry) {
    Object.assign(draft, readableDetails(entry))
  },
  run_started(draft, { processId }) {
    draft.suspicions ??= 0
    if (typeof processId === 'string') draft.processId = processId
    else delete draft.processId
  },
  run_ended(draft, { status, stop, dropsTo, sharedCrash }) {
    if (dropsTo !== undefined) draft.undelivered = draft.undelivered.filter(([, seq]) => seq > dropsTo)
    if (sharedCrash && draft.suspicions !== undefined) draft.suspicions++
    if (stop !== 'crashed' && status !== 'left') delete draft.suspicions // its process has outlived the run
  },
  input(draft, { mode, id, seq, content }) {
    if (mode === 'answer' || mode === 'stop' || typeof id !== 'string') return
    draft.undelivered = [...draft.undelivered, [id, seq] as const].slice(-maxUndelivered)
    draft.title ||= titleOf(content)
  },
  withdrawn(draft, { input }) {
    draft.undelivered = draft.undelivered.filter(([id]) => id !== input)
  },
  turn(draft, { turn, consumed }) {
    const { role, usage } = turn
    draft.turns++
    addUsage(draft, usage)
    if (consumed) draft.undelivered = draft.undelivered.filter(([id]) => !consumed.includes(id))
    const content = blocksOf(turn)
    if (role === 'user') draft.title ||= titleOf(content)
    else draft.calls += toolCallsOf({ role, content }).length
  },
  usage(draft, { usage }) {
    addUsage(draft, usage)
  },
  rewind(draft, { toSeq }) {
    draft.undelivered = draft.undelivered.filter(([, seq]) => seq <= toSeq)
  },
  unparked(draft) {
    delete draft.suspicions
  },
  checkpoint(draft, { seq }) {
    draft.checkpoint = seq
  },
  state(draft, { owner, value }) {
    if (owner === 'workflow:agent') Object.assign(draft, agentDetails(value, draft))
    if (owner === 'workflow:yield') noteYield(draft, value)
    // The command line of earlier versions recorded the folder as its state.
    const cwd = owner === 'cli' ? (value as { readonly cwd?: unknown } | null)?.cwd : undefined
    if (typeof cwd === 'string' && cwd !== '') draft.folder ??= plainText(cwd)
  },
}

function noteYield(draft: Draft, value: unknown): void {
  const status = statusOfYield(value)
  if (!status || draft.isActive) return
  setStatus(draft, status)
  delete draft.isAnswered
}

function addUsage(draft: Draft, usage: EntryOf<'usage'>['usage'] | undefined): void {
  draft.tokens += numberIn(usage?.input) + numberIn(usage?.output)
  draft.cost += numberIn(usage?.cost)
}

/** The number, or 0 if it is none. */
const numberIn = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) ? value : 0)

/** What a store knows of a session beside the stored summary. */
export interface SessionPresence {
  readonly id: string
  readonly parent?: string | undefined
  /** Whether a living process holds the lease. */
  readonly isHeld: boolean
  /** Messages in the inbox, and whether one of them is an answer. */
  readonly mail: 'none' | 'messages' | 'answer'
}

/** The mail of an inbox. */
export function mailIn(inbox: readonly Pick<InboxItem, 'mode'>[]): SessionPresence['mail'] {
  if (inbox.some(({ mode }) => mode === 'answer')) return 'answer'
  return inbox.length > 0 ? 'messages' : 'none'
}

/** The summary that a store gives to its callers: the stored one, with what the store knows now. */
export function summaryOf(stored: StoredSummary, { id, parent, isHeld, mail }: SessionPresence): SessionSummary {
  const { head, createdAt, updatedAt, turns, calls, tokens, cost, bytes, tags = [] } = stored
  const { title, tenant, kind, folder, checkpoint, suspicions } = stored
  const attention = isHeld ? undefined : attentionOf(stored, mail)
  return {
    ...{ id, head, createdAt, updatedAt, turns, calls, tokens, cost, bytes, tags },
    status: stored.isActive && !isHeld && stored.status !== 'parked' ? 'interrupted' : stored.status,
    ...(attention && { attention }),
    ...(isHeld && { isHeld }),
    ...(parent !== undefined && { parent }),
    ...(title && { title }),
    ...(tenant !== undefined && { tenant }),
    ...(kind !== undefined && { kind }),
    ...(folder !== undefined && { folder }),
    ...(checkpoint !== undefined && { checkpoint }),
    ...(suspicions !== undefined && { suspicions }),
  }
}

/** Why a session needs attention, if no living process holds its lease. */
export function attentionOf(stored: StoredSummary, mail: SessionPresence['mail']): Attention | undefined {
  if (stored.status === 'parked') return undefined
  if (stored.isActive) return 'owner_died'
  if (stored.status === 'interrupted') return 'interrupted'
  if (stored.isAnswered || mail === 'answer') return 'answered'
  return mail === 'messages' || stored.undelivered.length > 0 ? 'mail' : undefined
}
