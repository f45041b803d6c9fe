import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type RemoteChange, type RemoteClient, type RemotePendingCall, RemoteProblem } from '../libero.ts'
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
  /** What is asked about waiting calls, until it is answered. */
  const asked: PromiseWithResolvers<RemotePendingCall[]>[] = []
  const isHeld = { pending: false }
  const client = {
    sessions: { list: () => answer({ sessions: [{ id: 'a', updatedAt: 1 }] }) },
    pending() {
      if (!isHeld.pending) return answer([])
      asked.push(Promise.withResolvers())
      return asked.at(-1)!.promise
    },
    async *allEvents({ signal }: { signal: AbortSignal }) {
      connected.count++
      yield { type: 'connected' }
      for (; !signal.aborted; await new Promise((resolve) => void setTimeout(resolve, 10))) yield* told.splice(0)
    },
  } as unknown as RemoteClient
  const list = createSessionList(client, { onConnection: (problem) => connections.push(problem) })
  const ids = () => list.state.sessions?.map(({ id }) => id)
  return { list, server, told, connected, connections, asked, isHeld, ids }
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

const waits = (session: string, root = session) => ({ session, root, callId: 'c' }) as RemotePendingCall

test('WB94 of several questions about what waits the last one counts, one that failed is asked again, and sub-agents are asked about', async () => {
  const { list, told, asked, isHeld } = kit()
  list.start()
  await vi.advanceTimersByTimeAsync(10)
  isHeld.pending = true
  const child = (status: string) =>
    ({ type: 'session', session: { id: 'a/1', parent: 'a', status, updatedAt: 2 } }) as RemoteChange
  told.push(child('waiting'), child('waiting'))
  await vi.advanceTimersByTimeAsync(20)
  expect(asked).toHaveLength(2)
  asked[1]!.reject(new Error('lost'))
  await vi.advanceTimersByTimeAsync(1000)
  asked[2]!.resolve([waits('a/1', 'a')])
  asked[0]!.resolve([])
  await vi.advanceTimersByTimeAsync(10)
  expect(list.state.pending).toEqual([waits('a/1', 'a')])
  expect(list.state.sessions?.map(({ id }) => id)).toEqual(['a'])
  told.push(child('idle'))
  await vi.advanceTimersByTimeAsync(20)
  asked[3]!.resolve([waits('b')])
  await vi.advanceTimersByTimeAsync(10)
  expect(list.state.pending).toEqual([waits('b')])
  list.forget('b')
  expect(list.state.pending).toEqual([])
  list.stop()
})
