import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { EntryOf, LogEntry } from '../../src/core/log.ts'
import type { SessionStore } from '../../src/core/store.ts'
import {
  AgentAbortedError,
  type AgentHookMap,
  AgentProviderError,
  type Behavior,
  createAgent,
  loadSession,
} from '../../src/index.ts'
import { scripted, tool } from '../../src/testing/index.ts'
import { strictChat } from '../strict/openai-chat.ts'
import { type StrictServer, startStrict } from '../strict/strict-server.ts'
import { counterparts } from './poisons/counterparts.ts'
import { assistant, called, hi, image, png, result, type Said, storeWith, text, user } from './poisons/kit.ts'

const marker = 'XYZZY'

/** The one word, in every kind of block; the block that holds it is `turn` and `block` of the log. */
const places = [
  {
    what: 'a text of the user',
    turn: 2,
    block: 1,
    turns: [hi, assistant(text('Yes.')), user(text('A'), text(marker), text('B'))],
  },
  { what: 'a text of the assistant', turn: 1, block: 0, turns: [hi, assistant(text(marker)), user(text('So.'))] },
  { what: 'an image', turn: 0, block: 1, turns: [user(text('Look:'), image(marked())), assistant(text('Yes.'))] },
  { what: 'the input of a call', turn: 1, block: 2, turns: looked({ of: marker }, 'seen') },
  { what: 'a result', turn: 2, block: 1, turns: looked({}, marker) },
  { what: 'an image in a result', turn: 2, block: 1, turns: looked({}, [text('This:'), image(marked())]) },
]

describe.each(counterparts)('B1 FP-07 a conversation that $name refuses', (to) => {
  let server: StrictServer
  beforeAll(async () => {
    server = await startStrict(to.dialect())
  })
  afterAll(() => server.close())
  afterEach(() => {
    server.requests.splice(0)
    server.script.splice(0)
    server.offences.splice(0)
    Object.assign(server, { mood: undefined, outage: undefined, onRequest: undefined })
  })

  const open = async (store: SessionStore, hooks: AgentHookMap = {}, behavior: Behavior = {}) =>
    createAgent({
      provider: to.provider({ baseURL: server.url }),
      session: await loadSession(store, 's'),
      tools: { look: tool('look', () => 'seen') },
      hooks,
      behavior,
    })
  const probes = () => server.requests.filter(({ isProbe }) => isProbe)

  test.each(places)(
    'for $what is repaired without a probe, where the service names the block',
    async ({ turn, block, turns }) => {
      const store = await storeWith(turns)
      const before = JSON.stringify(await store.read('s'))
      server.offences.push({ marker, says: 'index' })

      const agent = await open(store)
      expect((await agent.run({ prompt: 'Go on.' })).text).toBe('ok')
      expect(server.requests.map(({ isProbe, refusal }) => [isProbe, refusal !== undefined])).toEqual([
        [false, true],
        [false, false],
      ])
      expect(editsIn(await store.read('s'))).toMatchObject([{ turnId: `t${turn}`, block, provider: to.by.provider }])
      expect(JSON.stringify(await store.read('s')).startsWith(before.slice(0, -1))).toBe(true)

      // It stays repaired, here and in another process, and another provider gets the whole conversation.
      expect((await agent.run({ prompt: 'And on.' })).text).toBe('ok')
      expect((await (await open(store)).run({ prompt: 'And on.' })).text).toBe('ok')
      expect(server.requests.filter(({ refusal }) => refusal !== undefined)).toHaveLength(1)
      const other = scripted('ok')
      await createAgent({ provider: other, session: await loadSession(store, 's') }).run({ prompt: 'And you?' })
      expect(JSON.stringify(other.requests[0]!.messages)).toContain(marker)
    },
  )

  test.each(places)(
    'a refusal of $what that does not say which is repaired with few requests',
    async ({ turn, block, turns }) => {
      const store = await storeWith(turns)
      const before = JSON.stringify(await store.read('s'))
      server.offences.push({ marker, says: 'nothing' })

      const stats = await (await open(store)).run({ prompt: 'Go on.' })
      expect(stats.text).toBe('ok')
      const blocks = turns.flatMap(({ content }) => content).length + 1
      expect(probes().length).toBeGreaterThan(0)
      expect(probes().length).toBeLessThanOrEqual(Math.ceil(Math.log2(blocks)))
      expect(server.requests.length).toBe(probes().length + 2)
      const entries = await store.read('s')
      expect(editsIn(entries)).toMatchObject([{ turnId: `t${turn}`, block, provider: to.by.provider }])
      expect(JSON.stringify(entries).startsWith(before.slice(0, -1))).toBe(true)

      // What was answered was paid for: it is in the log, and in what the run cost.
      const paid = entries.flatMap((entry) =>
        entry.type === 'usage' && entry.cause === 'quarantine' ? [entry.usage] : [],
      )
      expect(paid.map(({ output }) => output)).toEqual(probes().flatMap(({ refusal }) => (refusal ? [] : [1])))
      expect(stats.totalIn).toBe(7 * (paid.length + 1))
      expect(stats.totalOut).toBe(paid.length + 3)
      expect(stats.turnUsage).toHaveLength(paid.length + 1)
    },
  )

  test('is searched only in the message that it names', async () => {
    const many = Array.from({ length: 8 }, (_, i) => text(i === 5 ? marker : `part ${i}`))
    const store = await storeWith([hi, assistant(text('Yes.')), user(...many), assistant(text('So.'))])
    server.offences.push({ marker, says: 'message' })
    expect((await (await open(store)).run({ prompt: 'Go on.' })).text).toBe('ok')
    expect(editsIn(await store.read('s'))).toMatchObject([{ turnId: 't2', block: 5 }])
    expect(probes().length).toBeLessThanOrEqual(3)
  })

  test('is repaired although the service names the wrong block of a message', async () => {
    const store = await storeWith([hi, assistant(text('Yes.')), user(text('A'), text('B'), text(marker))])
    server.offences.push({ marker, says: 'neighbour' })
    expect((await (await open(store)).run({ prompt: 'Go on.' })).text).toBe('ok')
    const last = server.requests.at(-1)!.text
    expect([last.includes(marker), last.includes('"A"'), last.includes('"B"')]).toEqual([false, true, true])
  })

  test('for two, three blocks is repaired block by block', async () => {
    const bad = (n: number): Said[] => [user(text(`${marker} ${n}`)), assistant(text(`Yes ${n}.`))]
    for (const says of ['index', 'nothing'] as const) {
      const store = await storeWith([...bad(1), ...bad(2), ...bad(3)])
      server.offences.splice(0, 1, { marker, says })
      server.requests.splice(0)
      expect((await (await open(store)).run({ prompt: 'Go on.' })).text).toBe('ok')
      expect(editsIn(await store.read('s')).map(({ turnId }) => turnId)).toEqual(['t0', 't2', 't4'])
      expect(probes().length).toBeLessThanOrEqual(says === 'index' ? 0 : 3 * 3)
    }
  })

  test('for a call that is refused whatever its input goes on without the call', async () => {
    const store = await storeWith([
      hi,
      assistant(called('a'), called('b', marker)),
      user(result('a'), result('b')),
      assistant(text('So.')),
    ])
    server.offences.push({ marker, says: 'index' })
    expect((await (await open(store)).run({ prompt: 'Go on.' })).text).toBe('ok')
    expect(server.requests.at(-1)!.text).toContain('So.')
    expect(server.requests.at(-1)!.text).not.toContain(marker)
  })

  test('whatever it holds ends as the error that it is, with nothing set aside', async () => {
    const store = await storeWith([hi, assistant(text('Yes.')), user(text('A'), text('B')), assistant(text('No.'))])
    server.mood = 'unsupported_flavour: no such flavour'
    const agent = await open(store)
    const error = await agent.run({ prompt: 'Go on.' }).catch((error: unknown) => error)
    expect(error).toBeInstanceOf(AgentProviderError)
    expect(error).toMatchObject({ provider: to.by.provider, retryable: false })
    expect((error as Error).message).toContain('HTTP 400: unsupported_flavour: no such flavour')
    const blocks = 6
    expect(server.requests.length).toBeLessThanOrEqual(2 + 2 * Math.ceil(Math.log2(blocks)))

    // The session can be opened, and the service hears everything as soon as it wants to.
    server.mood = undefined
    expect((await (await open(store)).run({ prompt: 'And now?' })).text).toBe('ok')
    const said = server.requests.at(-1)!.text
    expect(['Hi', 'Yes.', 'A', 'B', 'No.', 'Go on.'].filter((words) => !said.includes(`"${words}"`))).toEqual([])
  })

  test('for too many blocks ends as the error that it is, with nothing set aside', async () => {
    const bad = (n: number): Said[] => [user(text(`${marker} ${n}`)), assistant(text(`Yes ${n}.`))]
    const store = await storeWith([1, 2, 3, 4, 5, 6].flatMap(bad))
    server.offences.push({ marker, says: 'index' })
    await expect((await open(store)).run({ prompt: 'Go on.' })).rejects.toThrow('could not be processed')
    expect(server.requests.length).toBeLessThanOrEqual(6)
    server.offences.splice(0)
    expect((await (await open(store)).run({ prompt: 'And now?' })).text).toBe('ok')
    const said = server.requests.at(-1)!.text
    expect([1, 2, 3, 4, 5, 6].filter((n) => !said.includes(`${marker} ${n}`))).toEqual([])
  })

  test('while it is out of order ends as the first error, with nothing set aside', async () => {
    const store = await storeWith(looked({}, marker))
    server.offences.push({ marker, says: 'nothing' })
    server.outage = 503
    await expect((await open(store)).run({ prompt: 'Go on.' })).rejects.toThrow('could not be processed')
    expect(probes()).toHaveLength(1)
    expect(editsIn(await store.read('s'))).toEqual([])
  })

  test('is unchanged if the search is aborted', async () => {
    const store = await storeWith(looked({}, marker))
    server.offences.push({ marker, says: 'nothing' })
    const agent = await open(store)
    server.onRequest = () => {
      if (server.requests.length === 1) agent.abort()
    }
    await expect(agent.run({ prompt: 'Go on.' })).rejects.toBeInstanceOf(AgentAbortedError)
    expect(editsIn(await store.read('s'))).toEqual([])
    server.onRequest = undefined
    expect((await agent.run({ prompt: 'Go on after all.' })).text).toBe('ok')
    expect(editsIn(await store.read('s'))).toMatchObject([{ turnId: 't2', block: 1 }])
  })

  test('because of what a hook made up ends as the error that it is, with nothing set aside', async () => {
    const store = await storeWith([hi, assistant(text('Yes.'))])
    server.offences.push({ marker, says: 'index' })
    const agent = await open(store, {
      'context:transform': (context) =>
        void context.messages.unshift({ role: 'user', content: [{ type: 'text', text: marker }] }),
    })
    await expect(agent.run({ prompt: 'Go on.' })).rejects.toThrow('could not be processed')
    expect(editsIn(await store.read('s'))).toEqual([])
  })

  test('is left to a handler that does something about it', async () => {
    const store = await storeWith([hi, assistant(text(marker))])
    server.offences.push({ marker, says: 'index' })
    const agent = await open(store, {
      'request:refused': (refused) => {
        server.offences.splice(0)
        refused.retry = true
      },
    })
    expect((await agent.run({ prompt: 'Go on.' })).text).toBe('ok')
    expect(editsIn(await store.read('s'))).toEqual([])
  })

  test('is repaired beside what a user has hidden or replaced', async () => {
    const store = await storeWith(
      [hi, assistant(text('Yes.')), user(text('secret'), text('old'), text(marker), text('B'))],
      [
        { type: 'context_edit', turnId: 't2', block: 0 },
        { type: 'context_edit', turnId: 't2', block: 1, replacement: text('new') },
      ],
    )
    server.offences.push({ marker, says: 'nothing' })
    expect((await (await open(store)).run({ prompt: 'Go on.' })).text).toBe('ok')
    const said = server.requests.at(-1)!.text
    const words = ['secret', 'old', 'new', marker, '"B"'].filter((one) => said.includes(one))
    expect(words).toEqual(['new', '"B"'])
    expect(editsIn(await store.read('s')).at(-1)).toMatchObject({ turnId: 't2', block: 2 })
  })
})

test('B1 FP-07 a host that wants the user to have the last word is asked no question that it would refuse for that', async () => {
  const { provider } = counterparts.find(({ name }) => name === 'an unknown host')!
  const server = await startStrict(strictChat({ endsWithUser: true }))
  server.offences.push({ marker, says: 'nothing' })
  const store = await storeWith([hi, assistant(text('A')), user(text(marker)), assistant(text('B')), user(text('C'))])
  const session = await loadSession(store, 's')
  await createAgent({ provider: provider({ baseURL: server.url }), session }).run({ prompt: 'Go on.' })
  expect(editsIn(await store.read('s'))).toMatchObject([{ turnId: 't2', block: 0 }])
  await server.close()
})

function looked(input: Record<string, unknown>, output: unknown): Said[] {
  return [
    hi,
    assistant(text('I look.'), called('a'), called('b', 'look', input)),
    user(result('a'), result('b', output)),
    assistant(text('So.')),
  ]
}

/** An image with the marker in its data. */
function marked(): string {
  return `${png().slice(0, 60)}${marker}AAA`
}

const editsIn = (entries: readonly LogEntry[]): EntryOf<'context_edit'>[] =>
  entries.filter((entry) => entry.type === 'context_edit')
