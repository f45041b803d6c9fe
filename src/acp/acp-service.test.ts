import { expect, test } from 'vitest'
import type { Chat } from '../chat/chat.ts'
import { emptyView } from '../view/session-view.ts'
import { AcpService } from './acp-service.ts'
import type { AcpHost } from './host.ts'
import type { AgentContext } from './protocol.ts'

/** Chats of a host, and which of them are closed. `more` is what a chat does in another way. */
function scene(more: Partial<Chat> = {}, host: Partial<AcpHost> = {}) {
  const closed: number[] = []
  let made = 0
  const service = new AcpService({
    createChat() {
      const number = ++made
      const state = {
        ...{ phase: 'idle', sessionId: 's', settings: { model: { provider: 'p', model: 'm' } } },
        ...{ view: emptyView, prompts: [], notices: [] },
      }
      return {
        ...{ state, subscribe: () => () => {}, open: async () => {}, readAll: async () => emptyView },
        async close() {
          state.phase = 'closed'
          closed.push(number)
        },
        async send() {
          if (state.phase === 'closed') throw new Error('This chat is closed')
        },
        ...more,
      } as unknown as Chat
    },
    ...{ has: async () => true, models: async () => [], commands: async () => [], titleOfStored: async () => '' },
    ...{ explain: (error) => ({ message: String(error) }), report() {}, titleOf: () => '' },
    ...host,
  } as Partial<AcpHost> as AcpHost)
  const client = { notify: async () => {} } as unknown as AgentContext
  const open = (request = {}) => service.open({ client, cwd: '/', mcpServers: [], ...request })
  return { service, closed, open, load: () => open({ sessionId: 's', isReplayed: true }) }
}

test('AC02 a session that could not be loaded is not open: a prompt is refused, and it can be loaded again', async () => {
  let isBroken = true
  let early: Promise<unknown> | undefined
  const readAll = async () => {
    if (!isBroken) return emptyView
    early = service.session('s').prompt({ text: 'hello' }, new AbortController().signal)
    early.catch(() => {})
    throw new Error('The log cannot be read')
  }
  const { service, closed, load } = scene({ readAll })
  await expect(load()).rejects.toThrow('cannot be read')
  await expect(early).rejects.toThrow('closed')
  expect(() => service.session('s')).toThrow('There is no open session')
  isBroken = false
  await load()
  expect(closed).toEqual([1])
  expect(service.session('s').id).toBe('s')
  await service.end()
  expect(closed).toEqual([1, 2])
})

test('AC02 sessions with any time in their log are listed', async () => {
  const sessions = [8.7e15, -8.7e15, 0].map((updatedAt, i) => ({ id: `s${i}`, updatedAt }))
  const { service } = scene({}, { sessions: async () => ({ sessions }) as never })
  expect((await service.list({})).sessions.map(({ updatedAt }) => updatedAt)).toEqual([
    '9999-12-31T00:00:00.000Z',
    '1970-01-01T00:00:00.000Z',
    '1970-01-01T00:00:00.000Z',
  ])
})

test.each([{}, { sessionId: 's' }])(
  'AC19 a client that goes while %o is opened leaves no chat open',
  async (request) => {
    const [begun, opening] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const { service, closed, open } = scene({
      open() {
        begun.resolve()
        return opening.promise
      },
    })
    const opened = open(request)
    await begun.promise
    const ended = service.end()
    opening.resolve()
    await ended
    expect(closed).toEqual([1])
    await opened
  },
)
