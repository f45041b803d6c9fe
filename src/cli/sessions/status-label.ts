import type { SessionSummary } from '../../core/store.ts'

type Shown = Pick<SessionSummary, 'status' | 'attention' | 'isHeld' | 'turns'>

/** The status of a session in words for people, as seen from a process that does not work on it. */
export function statusLabel({ status, attention, isHeld, turns }: Shown): string {
  if (isHeld && (status === 'working' || status === 'waiting')) return 'working elsewhere'
  if (attention === 'answered') return 'answered, resume it'
  if (attention === 'mail' && status !== 'waiting') return 'has messages, resume it'
  if (status === 'waiting') return 'waits for you'
  return status === 'idle' && turns === 0 ? 'empty' : status
}

/** The colour of a status; none for one that needs nothing. */
export function statusColour({ status, attention, isHeld }: Shown): 'yellow' | 'red' | 'cyan' | undefined {
  if (isHeld) return 'cyan'
  if (status === 'interrupted' || status === 'failed') return 'red'
  return status === 'waiting' || status === 'parked' || attention === 'mail' ? 'yellow' : undefined
}
