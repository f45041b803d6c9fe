import type { LogEntry } from '../../core/log.ts'
import type { WebhookEvent } from './webhook.ts'

/** An entry that webhooks can report. */
export type EventEntry = Extract<LogEntry, { readonly type: WebhookEvent }>

/** The request about one entry. */
export interface WebhookMessage {
  /** The same for every try, so that a receiver can drop doubles. */
  readonly id: string
  readonly body: string
}

/** Whether an entry is an event. Of a sub-agent only what waits for a person is. */
export function isEvent(entry: LogEntry, events: readonly WebhookEvent[], isChild: boolean): entry is EventEntry {
  if (!(events as readonly string[]).includes(entry.type)) return false
  // A run that its process left, or died in, is continued; the end of that is the event.
  if (entry.type === 'run_ended' && (entry.status === 'left' || entry.stop === 'crashed')) return false
  return !isChild || entry.type === 'approval_requested'
}

/** The message about an entry. Session and root are names as the client knows them. */
export function webhookMessage(entry: EventEntry, session: string, root: string | undefined): WebhookMessage {
  const { seq, type } = entry
  const at = Number.isFinite(entry.at) ? entry.at : 0
  const data = { session, ...(root !== undefined && { root }), seq, ...factsOf(entry) }
  // The time tells a session from one that was deleted and had the same id.
  const id = `${encodeURIComponent(session.toWellFormed()).replaceAll('.', '%2E')}-${seq}-${at.toString(36)}`
  return { id, body: JSON.stringify({ type, timestamp: new Date(at).toISOString(), data }) }
}

function factsOf(entry: EventEntry): object {
  if (entry.type === 'parked') return { reason: short(entry.reason) }
  if (entry.type === 'approval_requested') {
    const { callId, digest, reason } = entry
    return { callId, digest, ...(reason !== undefined && { reason: short(reason) }) }
  }
  const { runId, status, stop, error } = entry
  return { runId, status, stop, ...(error && { error: short(error.message) }) }
}

const short = (text: string): string => String(text).slice(0, 1000).toWellFormed()
