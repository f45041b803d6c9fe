import type { RemoteSession } from '../libero.ts'

export interface SessionGroup {
  readonly name: string
  readonly sessions: readonly RemoteSession[]
}

/** Sessions under headings: first what needs the person, then what works, then the others by day. */
export function groupSessions(sessions: readonly RemoteSession[], now: number): readonly SessionGroup[] {
  const groups = new Map<string, RemoteSession[]>(order.map((name) => [name, []]))
  for (const session of sessions) groups.get(groupOf(session, now))!.push(session)
  return [...groups].flatMap(([name, found]) => (found.length > 0 ? [{ name, sessions: found }] : []))
}

const order = ['Waits for you', 'Works', 'Stopped', 'Today', 'Yesterday', 'This week', 'Earlier'] as const

function groupOf({ status, updatedAt }: RemoteSession, now: number): (typeof order)[number] {
  if (status === 'waiting') return 'Waits for you'
  if (status === 'working') return 'Works'
  if (status !== 'idle') return 'Stopped'
  const today = new Date(now).setHours(0, 0, 0, 0)
  const days = Math.ceil((today - updatedAt) / dayMs)
  if (days <= 0) return 'Today'
  if (days === 1) return 'Yesterday'
  return days < 7 ? 'This week' : 'Earlier'
}

const dayMs = 24 * 60 * 60 * 1000
