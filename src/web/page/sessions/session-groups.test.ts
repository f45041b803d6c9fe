import { expect, test } from 'vitest'
import type { RemoteSession } from '../libero.ts'
import { groupSessions } from './session-groups.ts'

const now = new Date(2026, 10, 18, 12, 0).getTime()
const hour = 60 * 60 * 1000
const session = (id: string, status: string, hoursAgo: number) =>
  ({ id, status, updatedAt: now - hoursAgo * hour }) as unknown as RemoteSession

test('what needs the person comes first, then what works or stopped, then the others by day', () => {
  const groups = groupSessions(
    [
      ...[session('a', 'idle', 1), session('b', 'idle', 13), session('c', 'working', 30), session('d', 'idle', 60)],
      ...[session('e', 'waiting', 900), session('f', 'failed', 900), session('g', 'idle', 900)],
    ],
    now,
  )
  expect(groups.map(({ name, sessions }) => `${name}: ${sessions.map(({ id }) => id)}`)).toEqual([
    ...['Waits for you: e', 'Works: c', 'Stopped: f', 'Today: a', 'Yesterday: b', 'This week: d', 'Earlier: g'],
  ])
})
