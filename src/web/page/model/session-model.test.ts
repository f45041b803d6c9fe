import { expect, test, vi } from 'vitest'
import { type LogEntry, type RemoteClient, RemoteProblem } from '../libero.ts'
import { createOutbox } from './outbox.ts'
import { createSessionModel } from './session-model.ts'

/** A server that refuses messages while `refuses` is set, and the browser's storage, which outlives a page. */
function kit() {
  const storage = new Map<string, string>()
  const sent: unknown[] = []
  const log: LogEntry[] = []
  const server = { refuses: false }
  const client = {
    async send(_: string, message: unknown) {
      sent.push(message)
      if (server.refuses) throw new RemoteProblem({ status: 409, code: 'parked', detail: 'It is parked' })
      return {}
    },
    sessions: { entries: async () => ({ entries: log }), get: async () => ({}) },
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
