import { expect, test, vi } from 'vitest'
import { type LogEntry, type RemoteClient, RemoteProblem } from '../libero.ts'
import { createOutbox } from './outbox.ts'
import { createSessionModel } from './session-model.ts'

/**
 * A server that refuses messages while `refuses` is set and answers with `endStatus` to a request for the end of the log, with
 * `status` to one for what is before it; and the browser's storage, which outlives a page.
 */
function kit() {
  const storage = new Map<string, string>()
  const sent: unknown[] = []
  const log: LogEntry[] = []
  const server = { refuses: false, status: 200, endStatus: 200 }
  const client = {
    async send(_: string, message: unknown) {
      sent.push(message)
      if (server.refuses) throw new RemoteProblem({ status: 409, code: 'parked', detail: 'It is parked' })
      return {}
    },
    sessions: {
      async entries(_: string, { fromEnd = false, after = 0, limit = 0 }) {
        const status = fromEnd ? server.endStatus : server.status
        if (status !== 200) throw new RemoteProblem({ status, code: 'failed', detail: 'It failed' })
        return { entries: fromEnd ? log.slice(-limit) : log.slice(after, after + limit) }
      },
      get: async () => ({}),
    },
    async *events() {},
  } as unknown as RemoteClient
  const open = () =>
    createSessionModel(client, 's', {
      nextFrame: (callback) => callback(),
      pause: async () => {},
      outbox: createOutbox('s', {
        getItem: (key) => storage.get(key) ?? null,
        setItem: (key, value) => void storage.set(key, value),
        removeItem: (key) => void storage.delete(key),
      }),
    })
  return { open, sent, log, server, storage }
}

test('WB69 a message that could not be sent survives a reload, waits for the person and is sent again under its key', async () => {
  const { open, sent, server, storage } = kit()
  server.refuses = true
  await expect(open().send('Keep me', { mode: 'followUp' })).rejects.toThrow('It is parked')
  const page = open()
  page.start()
  expect(page.state.sending).toMatchObject([{ content: 'Keep me', problem: 'It is parked' }])
  expect(sent).toHaveLength(1)
  server.refuses = false
  await page.sendAgain(page.state.sending[0]!.key)
  expect(sent[1]).toEqual(sent[0])
  expect(sent[1]).toMatchObject({ content: 'Keep me', mode: 'followUp' })
  expect(page.state.sending).toMatchObject([{ content: 'Keep me', isAccepted: true }])
  expect(storage.size).toBe(0)
})

test('WB69 a message that was under way when the page went is sent by the next one, and one that is dismissed is forgotten', async () => {
  const { open, sent, server, storage } = kit()
  storage.set('libero-outbox:s', JSON.stringify([{ key: 'k', content: 'Under way' }]))
  server.refuses = true
  const page = open()
  page.start()
  expect(sent).toEqual([{ key: 'k', content: 'Under way' }])
  await vi.waitFor(() => expect(page.state.sending).toMatchObject([{ problem: 'It is parked' }]))
  page.dismiss('k')
  expect([page.state.sending, storage.size]).toEqual([[], 0])
})

test('WB69 a message of which only the answer was lost is not shown as failed once the log has it', async () => {
  const { open, log, storage } = kit()
  storage.set('libero-outbox:s', JSON.stringify([{ key: 'k', content: 'Arrived', problem: 'No connection' }]))
  const content = [{ type: 'text', text: 'Arrived' }]
  log.push({ seq: 1, at: 1, type: 'input', id: 'i', clientKey: 'k', mode: 'prompt', content } as unknown as LogEntry)
  const page = open()
  page.start()
  await vi.waitFor(() => expect(page.state.view.queue).toHaveLength(1))
  expect([page.state.sending, storage.size]).toEqual([[], 0])
})

test('WB137 older entries that the server failed to give are read again, and the conversation stays', async () => {
  vi.useFakeTimers()
  const { open, log, server } = kit()
  for (let seq = 1; seq <= 300; seq++) log.push({ seq, at: seq, type: 'custom', kind: 'k' } as unknown as LogEntry)
  server.status = 500
  const page = open()
  page.start()
  await vi.advanceTimersByTimeAsync(2000)
  expect(page.state).toMatchObject({ head: 300, isWhole: false, isLoading: false })
  expect(page.state.problem).toBeUndefined()
  server.status = 200
  await vi.advanceTimersByTimeAsync(10_000)
  expect(page.state.isWhole).toBe(true)
  page.stop()
  vi.useRealTimers()
})

test('WB137 a session that could not be shown is read anew when the tab or the network comes back', async () => {
  const { open, log, server } = kit()
  log.push({ seq: 1, at: 1, type: 'custom', kind: 'k' } as unknown as LogEntry)
  server.endStatus = 500
  const page = open()
  page.start()
  await vi.waitFor(() => expect(page.state.problem).toMatchObject({ status: 500 }))
  server.endStatus = 200
  page.wake()
  await vi.waitFor(() => expect(page.state).toMatchObject({ head: 1, isLoading: false, problem: undefined }))
  page.stop()
})
