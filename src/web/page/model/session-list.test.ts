import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type RemoteChange, type RemoteClient, RemoteProblem } from '../libero.ts'
import { createSessionList } from './session-list.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A server with one session, whose stream tells what is put into `told`. */
function kit() {
  const server = { status: 200 }
  const connected = { count: 0 }
  const told: RemoteChange[] = []
  const connections: (RemoteProblem | undefined)[] = []
  const answer = async <T>(value: T): Promise<T> => {
    if (server.status === 200) return value
    throw new RemoteProblem({ status: server.status, code: 'failed', detail: 'It failed' })
  }
  const client = {
    sessions: { list: () => answer({ sessions: [{ id: 'a', updatedAt: 1 }] }) },
    pending: () => answer([]),
    async *allEvents({ signal }: { signal: AbortSignal }) {
      connected.count++
      yield { type: 'connected' }
      for (; !signal.aborted; await new Promise((resolve) => void setTimeout(resolve, 10))) yield* told.splice(0)
    },
  } as unknown as RemoteClient
  const list = createSessionList(client, { onConnection: (problem) => connections.push(problem) })
  return { list, server, told, connected, connections, ids: () => list.state.sessions?.map(({ id }) => id) }
}

const changed = (id: string) => ({ type: 'session', session: { id, updatedAt: 2 } }) as RemoteChange

test('WB137 a list that the server failed to give is read again, and live changes go on after that', async () => {
  const { list, server, told, connections, ids } = kit()
  server.status = 500
  list.start()
  await vi.advanceTimersByTimeAsync(2000)
  expect([ids(), connections.at(-1)?.status]).toEqual([undefined, 500])
  server.status = 200
  await vi.advanceTimersByTimeAsync(10_000)
  expect(ids()).toEqual(['a'])
  told.push(changed('b'))
  await vi.advanceTimersByTimeAsync(100)
  expect(ids()).toEqual(['b', 'a'])
  list.stop()
})

test('WB121 a list that was refused is followed again after the next login', async () => {
  const { list, server, ids } = kit()
  server.status = 401
  list.start()
  await vi.advanceTimersByTimeAsync(100)
  server.status = 200
  list.start()
  await vi.advanceTimersByTimeAsync(100)
  expect(ids()).toEqual(['a'])
  list.stop()
})

test('WB88 a list that was asleep connects anew at once; one that is not followed does not', async () => {
  const { list, connected, ids } = kit()
  list.wake()
  expect(connected.count).toBe(0)
  list.start()
  await vi.advanceTimersByTimeAsync(10)
  list.wake()
  await vi.advanceTimersByTimeAsync(10)
  expect([connected.count, ids()]).toEqual([2, ['a']])
  list.stop()
})
