import { describe, expect, test } from 'vitest'
import { followEvents } from '../../src/events/index.ts'
import {
  type Agent,
  AgentAbortedError,
  createAgent,
  createMemoryStore,
  createSession,
  loadSession,
} from '../../src/index.ts'
import { exportSession, importSession } from '../../src/sessions/index.ts'
import { toAnthropic } from '../../src/sessions/interop/anthropic.ts'
import { toOpenAI } from '../../src/sessions/interop/openai.ts'
import { fakeClock, type Step, scripted, texts, tool } from '../../src/testing/index.ts'
import type { Behavior, Extension, ModelEvent, SessionTurn } from '../../src/types.ts'
import { counterparts } from '../faults/poisons/counterparts.ts'
import { strictBase, strictTransport } from '../strict/strict-transport.ts'

const delta = (text: string): ModelEvent => ({ type: 'text', delta: text })
/** A stream that thinks, says half of something, begins a call, and hangs. */
const half: Step = [
  { type: 'thinking', delta: 'hm' },
  delta('The answer '),
  delta('is'),
  { type: 'tool_start', id: 'c1', name: 'look' },
  { type: 'tool_args', id: 'c1', delta: '{"pa' },
]
const note = '[This reply was interrupted here, before it was complete.]'

/** Aborts as soon as the text is there. */
const abortAt = (agent: () => Agent, text: string) => ({
  'stream:text': ({ text: said }: { text: string }) => {
    if (said === text) agent().abort()
  },
})

async function aborted(...more: Step[]) {
  const store = createMemoryStore()
  const session = await createSession({ store, id: 's' })
  const provider = scripted(half, ...more)
  const agent = createAgent({ provider, session, tools: { look: tool('look', () => 'seen') } })
  const events: string[] = []
  followEvents(agent, (event) => {
    if (event.durable && event.entry.type === 'turn') events.push(`turn ${event.entry.turn.interrupted ?? false}`)
    else if (!event.durable && event.type === 'turn_failed') events.push(`failed ${event.partial}`)
  })
  const hooks = abortAt(() => agent, 'The answer is')
  const failure = await agent.run({ prompt: 'Well?', hooks }).catch((error) => error)
  return { store, session, provider, agent, failure, events }
}

describe('text that was streamed before an abort', () => {
  test('E06 is an interrupted turn of the log, without the thinking and the call that had no end', async () => {
    const { session, failure, events } = await aborted()
    expect(failure).toBeInstanceOf(AgentAbortedError)
    expect(failure.stats.text).toBe('The answer is')
    expect(session.turns.at(-1)).toMatchObject({
      role: 'assistant',
      content: [{ type: 'text', text: 'The answer is' }],
      interrupted: true,
    })
    expect(events).toEqual(['turn false', 'turn true', 'failed The answer is'])
  })

  test('E06 is counted, as an estimate that says so', async () => {
    const { session, failure } = await aborted()
    const usage = { estimated: true, output: 5 }
    expect([failure.stats.turnUsage, session.turns.at(-1)?.usage]).toMatchObject([[usage], usage])
    expect(failure.stats.totalIn).toBeGreaterThan(10)
  })

  test('E06 is counted with what the service said of the prompt, and with the arguments of calls', async () => {
    const usage = { input: 1000, cacheRead: 90_000, output: 1 }
    const args = { type: 'tool_args', id: 'c1', delta: 'x'.repeat(400) } as const
    const provider = scripted(
      [{ type: 'start', usage }, { type: 'tool_start', id: 'c1', name: 'look' }, args, delta('So'), delta(' be it')],
      [{ type: 'start', usage }],
    )
    const costOf = () => 0.5
    const agent = createAgent({ provider: { ...provider, costOf } })
    const first = await agent.run({ prompt: 'Well?', hooks: abortAt(() => agent, 'So') }).catch((error) => error)
    const counted = { ...usage, output: 101, cost: 0.5, estimated: true }
    expect(first.stats.turnUsage).toMatchObject([counted])
    // Nothing was said yet, and the prompt is paid for all the same.
    const hooks = { 'stream:start': () => agent.abort() }
    const second = await agent.run({ prompt: 'Well?', hooks }).catch((error) => error)
    expect(second.stats).toMatchObject({ text: '', turnUsage: [{ ...usage, estimated: true }] })
    const limited = createAgent({ provider: scripted([{ type: 'start', usage }, delta('So'), delta(' be it')]) })
    const limits = { behavior: { limits: { tokens: 200_000 } }, hooks: abortAt(() => limited, 'So') }
    const third = await limited.run({ prompt: 'Well?', ...limits }).catch((error) => error)
    expect(third.stats.turnUsage).toMatchObject([{ ...usage, output: 1 }])
  })

  test('E06 is in the next request, with a note, and people read it without', async () => {
    const { agent, provider } = await aborted('42.')
    await agent.run({ prompt: 'Go on.' })
    expect(texts(provider.requests[1]!.messages)).toEqual([
      'user: Well?',
      `assistant: The answer is\n\n${note}`,
      'user: Go on.',
    ])
    expect(texts(agent.turns)).toEqual(['user: Well?', 'assistant: The answer is', 'user: Go on.', 'assistant: 42.'])
  })

  test('E06 is gone on with by a run without a prompt', async () => {
    const { agent, provider } = await aborted('42.')
    expect((await agent.run()).text).toBe('42.')
    expect(texts(provider.requests[1]!.messages).at(-1)).toBe(
      'user: [Your last reply was interrupted. Go on from there.]',
    )
    expect(await agent.run()).toMatchObject({ turns: 0 })
  })

  test('E06 survives loading, exporting and forking, and a rewind takes it back', async () => {
    const { store, session, provider } = await aborted('42.', '43.')
    const pieces: string[] = []
    for await (const piece of exportSession(store, 's')) pieces.push(piece)
    const other = createMemoryStore()
    await importSession(other, pieces.join(''))
    const copies = [await loadSession(store, 's'), await loadSession(other, 's'), await session.fork()]
    for (const { turns } of copies) expect(turns).toEqual(session.turns)
    await createAgent({ provider, session: copies[2]! }).run({ prompt: 'Go on.' })
    expect(texts(provider.requests[1]!.messages)[1]).toContain(note)
    await session.rewind(session.log.transcript.seqOf(session.turns[0]!.id)!)
    await createAgent({ provider, session }).run()
    expect(texts(provider.requests[2]!.messages)).toEqual(['user: Well?'])
  })

  test('E06 is told as interrupted in the formats of other APIs', async () => {
    const { session } = await aborted()
    expect(JSON.stringify(toAnthropic(session.turns))).toContain(note)
    expect(JSON.stringify(toOpenAI(session.turns))).toContain(note)
  })
})

test('E06 text that a limit stopped in mid-stream is kept, and its tokens are counted once', async () => {
  const clock = fakeClock(1000)
  const hanging: Step = () => [delta('The answer is'), ...Array<ModelEvent>(3).fill({ type: 'alive' })]
  const provider = scripted(hanging)
  const agent = createAgent({ provider, clock, behavior: { limits: { timeMs: 50, tokens: 100_000 } } })
  const hooks = { 'stream:text': () => clock.advance(50) }
  const { stopReason, text, turnUsage } = await agent.run({ prompt: 'Well?', hooks })
  expect([stopReason, text, turnUsage.length]).toEqual(['budget', 'The answer is', 1])
  expect(agent.turns.at(-1)).toMatchObject({ interrupted: true })
})

describe('a stream that breaks off', () => {
  const cut = (retryable: boolean): Step => [delta('Half '), { type: 'boom', retryable } as unknown as ModelEvent]
  const agentOn = (...steps: Step[]) => {
    const classifyError = () => ({ kind: 'provider_error', retryable: true }) as const
    const provider = scripted(...steps, { options: { classifyError } })
    return { provider, agent: createAgent({ provider }) }
  }

  test('E06 and is not tried again leaves what it said', async () => {
    const { agent } = agentOn(cut(true), cut(true))
    await expect(agent.run({ prompt: 'Well?' })).rejects.toThrow('scripted')
    expect(texts(agent.turns)).toEqual(['user: Well?', 'assistant: Half '])
  })

  test('E06 and is tried again leaves only the second attempt', async () => {
    const { agent } = agentOn(cut(true), 'All of it.')
    await agent.run({ prompt: 'Well?' })
    expect(texts(agent.turns)).toEqual(['user: Well?', 'assistant: All of it.'])
  })
})

test('E06 a reply of which only thinking and half a call had come leaves no turn, and is counted', async () => {
  const provider = scripted([
    { type: 'thinking', delta: 'hm' },
    { type: 'tool_start', id: 'c1', name: 'look' },
  ])
  const agent = createAgent({ provider })
  const hooks = { 'stream:tool:start': () => agent.abort() }
  const failure = await agent.run({ prompt: 'Well?', hooks }).catch((error) => error)
  expect(texts(agent.turns)).toEqual(['user: Well?'])
  expect(failure.stats.turnUsage).toMatchObject([{ estimated: true, output: 1 }])
})

test.each(counterparts)('E06 $name takes a conversation with interrupted replies', async (to) => {
  const { transport, requests } = strictTransport(to.dialect())
  const agent = createAgent({ provider: to.provider({ transport, baseURL: strictBase }) })
  const interrupt = (prompt?: string) =>
    agent.run({ ...(prompt && { prompt }), hooks: abortAt(() => agent, 'ok') }).catch((error) => error)
  expect(await interrupt('Well?')).toBeInstanceOf(AgentAbortedError)
  expect(await interrupt()).toBeInstanceOf(AgentAbortedError)
  expect((await agent.run({ prompt: 'And now?' })).text).toBe('ok')
  const isInterrupted = agent.turns.map(({ interrupted }: SessionTurn) => interrupted ?? false)
  expect(isInterrupted).toEqual([false, true, false, true, false, false])
  expect(requests.at(-1)!.text.split('interrupted here').length - 1).toBe(2)
})

describe('a model call outside the conversation that gives no reply', () => {
  const begun: readonly ModelEvent[] = [{ type: 'start', usage: { input: 900, output: 0 } }, delta('Half a title')]
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'A title?' }] }] as const

  /** What is logged of an aside whose stream ends as given. `behavior` may have limits. */
  async function aside(script: Step, { isAborted = false, behavior = {} as Behavior } = {}) {
    const store = createMemoryStore()
    const { stream, ...scriptedProvider } = scripted(script, 'fin')
    const provider = {
      ...scriptedProvider,
      async *stream(...args: Parameters<typeof stream>) {
        yield* stream(...args)
        if (!isAborted) return
        agent.abort()
        await new Promise(() => {})
      },
    }
    const title: Extension = {
      name: 'title',
      start: (run) => run.askAside({ cause: 'title', messages }).then(undefined, () => {}),
    }
    const session = await createSession({ store, id: 's' })
    const agent = createAgent({ provider, session, extensions: [title], behavior })
    const stats = await agent.run({ prompt: 'Well?' }).catch((error) => error.stats)
    const logged = (await store.read('s')).flatMap((entry) => (entry.type === 'usage' ? [entry] : []))
    return { stats, logged }
  }

  test('E06 because it broke off is counted, as an estimate that says so', async () => {
    const { stats, logged } = await aside(begun)
    const usage = { input: 900, output: 3, estimated: true }
    expect(logged).toMatchObject([{ cause: 'failed attempt', usage }])
    expect(stats.turnUsage[0]).toMatchObject(usage)
  })

  test('E06 because the run was aborted is counted before the run ends', async () => {
    const { stats, logged } = await aside(begun, { isAborted: true })
    expect(logged).toMatchObject([{ cause: 'aborted attempt', usage: { input: 900, output: 3 } }])
    expect(stats.totalIn).toBe(900)
  })

  test('E06 is counted as its error reports, and not at all if the service never answered', async () => {
    const failing = (usage?: object) => () => {
      throw Object.assign(new Error('cut'), usage && { usage })
    }
    const { logged } = await aside(failing({ input: 77, output: 3 }))
    expect(logged).toMatchObject([{ cause: 'failed attempt', usage: { input: 77, output: 3 } }])
    expect((await aside(failing())).logged).toEqual([])
  })

  test('E06 is counted once under limits', async () => {
    const { logged } = await aside(begun, { behavior: { limits: { tokens: 100_000 } } })
    expect(logged).toMatchObject([{ cause: 'failed attempt', usage: { input: 900 } }])
  })
})
