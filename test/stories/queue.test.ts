import { describe, expect, test } from 'vitest'
import { AgentAbortedError, loadSession } from '../../src/index.ts'
import { call, type Step, texts } from '../../src/testing/index.ts'
import type { HookContexts } from '../../src/types.ts'
import { calls, once, said, setUp } from './queue-kit.ts'

const lastMoments: (keyof HookContexts)[] = [
  'stream:text',
  'stream:end',
  'turn:after',
  'usage',
  'session:turns',
  'turn:next',
]
const tooLate: (keyof HookContexts)[] = ['agent:done', 'session:end']

describe.each(['in memory', 'in a session'] as const)('messages to an agent %s', (kind) => {
  test.each(lastMoments)('steering in %s of the last turn keeps the run alive', async (name) => {
    const { agent } = await setUp(kind, 'done', 'steered')
    // Not awaited: a screen does not wait either.
    const stats = await agent.run({ prompt: 'go', hooks: { [name]: onTurn(1, () => void agent.steer('wait')) } })
    expect(stats).toMatchObject({ turns: 2, text: 'steered' })
    expect(texts(agent.turns)).toEqual(['user: go', 'assistant: done', 'user: wait', 'assistant: steered'])
  })

  test.each(tooLate)('messages that come in %s are kept for the next run', async (name) => {
    const { agent } = await setUp(kind, 'done', 'one', 'two', 'three')
    const send = once(() => void [agent.steer('a'), agent.steer('b'), agent.followUp('c')])
    await agent.run({ prompt: 'go', hooks: { [name]: send } })
    expect(texts(agent.turns)).toEqual(['user: go', 'assistant: done'])
    await agent.run()
    expect(texts(agent.turns.slice(2))).toEqual(['user: a b', 'assistant: one', 'user: c', 'assistant: two'])
  })

  test('several steers in one turn are one user turn, in order, each with its own steer:inject', async () => {
    const { agent, provider } = await setUp(kind, calls('c1', 'c2'), 'steered')
    const injected: unknown[] = []
    agent.hooks.hook('steer:inject', (ctx) => void injected.push(ctx))
    const send = once(async () => {
      for (const word of ['one', 'two', 'three']) await agent.steer(word)
    })
    await agent.run({ prompt: 'go', hooks: { 'turn:after': send } })
    expect(texts(agent.turns.slice(2, 4))).toEqual([
      'user: ←Skipped: the user sent a new message ←Skipped: the user sent a new message',
      'user: one two three',
    ])
    expect(provider.requests).toHaveLength(2)
    expect(injected).toEqual(['one', 'two', 'three'].map((message) => ({ message, mode: 'steer' })))
  })

  test('follow-ups are delivered one at a time, each after the answer to the one before', async () => {
    const { agent } = await setUp(kind, 'zero', calls('c1'), 'one', 'two', 'three')
    const send = once(async () => {
      for (const word of ['a', 'b', 'c']) await agent.followUp(word)
    })
    await agent.run({ prompt: 'go', hooks: { 'turn:before': send } })
    expect(texts(agent.turns.slice(1))).toEqual([
      'assistant: zero',
      'user: a',
      'assistant: →noop({})',
      'user: ←ok',
      'assistant: one',
      'user: b',
      'assistant: two',
      'user: c',
      'assistant: three',
    ])
  })

  test('steering overtakes follow-ups that were sent before it', async () => {
    const { agent } = await setUp(kind, 'zero', 'one', 'two')
    const send = once(async () => {
      await agent.followUp('later')
      await agent.steer('now')
    })
    await agent.run({ prompt: 'go', hooks: { 'turn:before': send } })
    expect(said(agent)).toEqual(['go', 'now', 'later'])
  })

  test('a message may have parts', async () => {
    const { agent } = await setUp(kind, 'one', 'two')
    const image = { type: 'image', mediaType: 'image/png', data: 'iVBORw0=' } as const
    const parts = [{ type: 'text', text: 'look' }, image] as const
    await agent.run({ prompt: 'go', hooks: { 'turn:after': once(() => agent.followUp(parts)) } })
    expect(agent.turns[2]?.content).toEqual(parts)
  })

  test('an empty message is refused', async () => {
    const { agent } = await setUp(kind, 'one')
    await expect(agent.steer('')).rejects.toThrow(TypeError)
    await expect(agent.followUp([])).rejects.toThrow(TypeError)
    await agent.run({ prompt: 'go' })
    expect(said(agent)).toEqual(['go'])
  })

  test.each(['steer', 'followUp'] as const)('the same clientKey makes sending a %s again harmless', async (mode) => {
    const { agent } = await setUp(kind, 'one', 'two', 'three', 'four')
    const send = () => agent[mode]('more', { clientKey: 'k' })
    const twice = once(async () => {
      await send()
      await send()
    })
    await agent.run({ prompt: 'go', hooks: { 'turn:before': twice, 'steer:inject': send } })
    await send()
    await agent.run({ prompt: 'next' })
    expect(said(agent)).toEqual(['go', 'more', 'next'])
  })

  test.each(['steer', 'followUp'] as const)(
    'a %s sent again before it was written is the same message',
    async (mode) => {
      const { agent } = await setUp(kind, 'one', 'two', 'three')
      const send = () => agent[mode]('more', { clientKey: 'k' })
      await agent.run({ prompt: 'go', hooks: { 'turn:after': once(() => void [send(), send()]) } })
      expect(said(agent)).toEqual(['go', 'more'])
    },
  )

  test('the same clientKey makes sending a prompt again harmless', async () => {
    const { agent, provider } = await setUp(kind, new Error('down'), 'up', 'unused')
    const send = () => agent.run({ prompt: 'go', clientKey: 'k' })
    await expect(send()).rejects.toThrow('down')
    expect((await send()).text).toBe('up')
    expect(await send()).toMatchObject({ text: 'up', turns: 0, totalIn: 0 })
    expect(texts(agent.turns)).toEqual(['user: go', 'assistant: up'])
    expect(provider.requests).toHaveLength(2)
  })

  test('another clientKey is another message, and so is none', async () => {
    const { agent } = await setUp(kind, 'one', 'two', 'three')
    await agent.run({ prompt: 'go', clientKey: 'a' })
    await agent.run({ prompt: 'go', clientKey: 'b' })
    await agent.run({ prompt: 'go' })
    expect(said(agent)).toEqual(['go', 'go', 'go'])
  })

  test.each(['steer', 'followUp'] as const)('a %s to an idle agent is delivered in the next run', async (mode) => {
    const { agent } = await setUp(kind, 'zero', 'one', 'two', 'three')
    await agent.run({ prompt: 'go' })
    await agent[mode]('by the way')
    expect(said(agent)).toEqual(['go'])
    await agent.run({ prompt: 'next' })
    expect(said(agent)).toEqual(['go', 'next', 'by the way'])
    await agent[mode]('and without a prompt')
    expect((await agent.run()).text).toBe('three')
  })

  test.each(['steer', 'followUp'] as const)('a %s may be the first message of an agent', async (mode) => {
    const { agent, provider } = await setUp(kind, 'hi', 'unused')
    await agent[mode]('hello')
    expect((await agent.run()).text).toBe('hi')
    expect(provider.requests.map(({ messages }) => texts(messages))).toEqual([['user: hello']])
  })

  test.each(['steer', 'followUp'] as const)('E05 a %s that an abort overtook waits for the next run', async (mode) => {
    const { agent, store } = await setUp(kind, 'one', 'two')
    const send = () => agent[mode]('not lost', { clientKey: 'k' })
    const stop = once(async () => {
      await send()
      agent.abort()
    })
    const failure = await agent.run({ prompt: 'go', hooks: { 'turn:before': stop } }).catch((error) => error)
    expect(failure).toBeInstanceOf(AgentAbortedError)
    const message = { clientKey: 'k', mode, content: [{ type: 'text', text: 'not lost' }] }
    expect(failure.stats.undelivered).toEqual([message])
    await send() // the same message again is still the same message
    const injected: unknown[] = []
    const { undelivered } = await agent.run({
      prompt: 'next',
      hooks: { 'steer:inject': (ctx) => void injected.push(ctx) },
    })
    expect(texts(agent.turns)).toEqual(['user: go', 'user: not lost', 'user: next', 'assistant: one'])
    expect(injected).toEqual([{ message: 'not lost', mode }])
    expect(undelivered).toBe(undefined)
    if (kind === 'in a session') expect((await loadSession(store, 's')).log.transcript.inbox).toEqual([])
  })

  test('E05 without another prompt, what an abort overtook is what the next run is about', async () => {
    const { agent } = await setUp(kind, 'one', 'two')
    const stop = once(async () => {
      await agent.followUp('later')
      await agent.steer('now')
      agent.abort()
    })
    await agent.run({ prompt: 'go', hooks: { 'turn:before': stop } }).catch(() => {})
    await agent.run()
    expect(texts(agent.turns)).toEqual(['user: go', 'user: now', 'assistant: one', 'user: later', 'assistant: two'])
  })

  test('E05 a message that comes while the structured answer is made is answered in the same run', async () => {
    const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
    const steered = async () => {
      await agent.steer('one more')
      return [call('o1', '__output__', { n: 1 })]
    }
    const { agent } = await setUp(kind, 'one', steered, 'two', [call('o2', '__output__', { n: 2 })])
    const { output, undelivered } = await agent.run({ prompt: 'go', behavior: { schema } })
    expect([said(agent), undelivered, output]).toEqual([['go', 'one more'], undefined, { n: 2 }])
  })

  test('what is sent after an abort was asked for waits for the next run', async () => {
    const { agent } = await setUp(kind, 'one', 'two')
    const send = once(async () => {
      agent.abort()
      await agent.followUp('not lost', { clientKey: 'k' })
    })
    await expect(agent.run({ prompt: 'go', hooks: { 'turn:before': send } })).rejects.toThrow(AgentAbortedError)
    await agent.run({ prompt: 'next' })
    expect(said(agent)).toEqual(['go', 'not lost', 'next'])
  })

  test('after a provider error the queue waits for the next run', async () => {
    const { agent } = await setUp(kind, new Error('down'), 'zero', 'one', 'two')
    const send = once(async () => {
      await agent.steer('still wanted')
      await agent.followUp('this too')
    })
    await expect(agent.run({ prompt: 'go', hooks: { 'turn:before': send } })).rejects.toThrow('down')
    await agent.run()
    expect(said(agent)).toEqual(['go', 'still wanted', 'this too'])
  })

  test('E05 a follow-up that a turn limit overtook waits for the next run', async () => {
    const { agent } = await setUp(kind, calls('c1'), 'one', 'two')
    const send = once(() => agent.followUp('not lost'))
    const stats = await agent.run({ prompt: 'go', behavior: { maxTurns: 1 }, hooks: { 'turn:before': send } })
    expect(stats.stopReason).toBe('max_turns')
    await agent.run({ prompt: 'next' })
    expect(said(agent)).toEqual(['go', 'not lost', 'next'])
  })

  test.each([
    ['steering while the last allowed turn makes its calls', 'steer', calls('c1')],
    ['steering while the last allowed turn answers', 'steer', 'one'],
    ['a follow-up while the last allowed turn answers', 'followUp', 'one'],
  ] as const)('E05 %s is reported as undelivered and waits', async (_, mode, lastTurn) => {
    const { agent, provider } = await setUp(kind, lastTurn as Step, 'two')
    const injected: unknown[] = []
    const hooks = {
      'turn:before': once(() => agent[mode]('not lost')),
      'steer:inject': ({ message }: { message: string }) => void injected.push(message),
    }
    const stats = await agent.run({ prompt: 'go', behavior: { maxTurns: 1 }, hooks })
    expect(stats).toMatchObject({ stopReason: 'max_turns', undelivered: [{ mode }] })
    expect([said(agent), injected]).toEqual([['go'], []])
    expect(await agent.run({ hooks })).toMatchObject({ stopReason: 'end', text: 'two' })
    expect([injected, texts(provider.requests.at(-1)!.messages).at(-1)]).toEqual([['not lost'], 'user: not lost'])
  })

  test('steering that comes while a run is suspended answers its open call', async () => {
    const { agent } = await setUp(kind, [call('c1', 'wait')], 'as you wish')
    expect((await agent.run({ prompt: 'go' })).stopReason).toBe('for an answer')
    await agent.steer('never mind')
    await agent.run()
    expect(texts(agent.turns)).toEqual([
      'user: go',
      'assistant: →wait({})',
      'user: ←Skipped: the user sent a new message before this call ended. Its effects may or may not have happened; check before repeating it.',
      'user: never mind',
      'assistant: as you wish',
    ])
  })
})

describe('an agent without a session', () => {
  test('E05 that is destroyed tells which messages were not delivered, and takes no more', async () => {
    const { agent } = await setUp('in memory', 'one')
    const undelivered: unknown[] = []
    agent.hooks.hook('steer:undelivered', (ctx) => void undelivered.push(ctx))
    await agent.steer('too late', { clientKey: 'k' })
    await agent.destroy()
    const content = [{ type: 'text', text: 'too late' }]
    expect(undelivered).toEqual([{ clientKey: 'k', mode: 'steer', content, reason: 'destroyed' }])
    await expect(agent.steer('hello?')).rejects.toThrow('This agent was destroyed and has no session to keep')
  })

  test('E05 that is reset tells which messages it forgot, and the same key may be sent again', async () => {
    const { agent } = await setUp('in memory', 'one', 'two')
    const undelivered: unknown[] = []
    agent.hooks.hook('steer:undelivered', ({ clientKey, reason }) => void undelivered.push([clientKey, reason]))
    await agent.followUp('forget me', { clientKey: 'k' })
    await agent.reset()
    expect(undelivered).toEqual([['k', 'reset']])
    await agent.followUp('forget me not', { clientKey: 'k' })
    await agent.run({ prompt: 'go' })
    expect(said(agent)).toEqual(['go', 'forget me not'])
  })
})

/** The handler's first call that belongs to a turn of the model. */
function onTurn(n: number, act: () => void) {
  let count = 0
  return (ctx: object) => {
    const isOurs = !('turns' in ctx && (ctx as HookContexts['session:turns']).turns[0]?.role === 'user')
    if (isOurs && ++count === n) act()
  }
}
