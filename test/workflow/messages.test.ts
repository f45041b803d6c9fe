import { describe, expect, test, vi } from 'vitest'
import { AgentProviderError } from '../../src/core/errors.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { call, texts } from '../../src/testing/scripted.ts'
import { definition, failingStore, listening, short, withTool, world } from './kit.ts'

describe('what was said', () => {
  test('D008 a user message is saved once and shown once', async () => {
    const heard: string[] = []
    const { workflow, updates, log } = world(['Hello.'], {
      definitions: [definition('listening')],
      plugins: [listening(heard, 'userMessageReceived')],
    })
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'Hi', { clientKey: 'k' })
    await workflow.sendMsgToAgent(id, 'Hi', { clientKey: 'k' }).catch(() => {}) // sent twice by a shaky connection
    expect(heard).toEqual(['user Hi'])
    const shown = updates.filter((one) => one.type === 'message' && one.message.role === 'user')
    expect(shown).toHaveLength(1)
    const saved = (await log(id)).filter((entry) => entry.type === 'turn' && entry.turn.role === 'user')
    expect(saved).toHaveLength(1)
  })

  test('D008 messages that are sent while it works reach the model in one turn, and are one each for people', async () => {
    const heard: string[] = []
    const held = Promise.withResolvers<string>()
    const made = world([() => held.promise, 'Done.'], {
      definitions: [definition('listening')],
      plugins: [listening(heard, 'userMessageReceived')],
    })
    const { workflow, provider, updates } = made
    const { id } = await workflow.createAgent('helper')
    const working = workflow.sendMsgToAgent(id, 'start')
    await expect.poll(() => provider.requests.length).toBe(1)
    const file = (name: string) => ({ mediaType: 'text/plain', data: 'aGk=', name })
    const steering = [
      workflow.sendMsgToAgent(id, 'first'),
      workflow.sendMsgToAgent(id, { text: 'second', file: file('a.txt') }),
      workflow.sendMsgToAgent(id, { text: 'third', file: file('b.txt') }),
    ]
    await expect.poll(async () => (await made.log(id)).filter(({ type }) => type === 'input').length).toBe(3)
    held.resolve('Working.')
    await Promise.all([working, ...steering])

    expect(provider.requests).toHaveLength(2)
    expect(heard).toEqual(['user start', 'user first', 'user second', 'user third'])
    const messages = await workflow.getMessages(id)
    expect(short(messages)).toEqual([
      ...['user: start', 'assistant: Working.', 'user: first', 'user: second', 'user: third', 'assistant: Done.'],
    ])
    expect(messages.slice(2, 5).map(({ metadata }) => metadata?.file?.name)).toEqual([undefined, 'a.txt', 'b.txt'])
    const shown = updates.flatMap((one) => (one.type === 'message' && one.message.role === 'user' ? [one.message] : []))
    expect(shown).toEqual(messages.filter(({ role }) => role === 'user'))
    expect(await made.again().workflow.getMessages(id)).toEqual(messages)
  })

  test('E16 the sender of a message is in the run, in the log and in the message for people, also during work', async () => {
    const held = Promise.withResolvers<string>()
    const made = world([() => held.promise, 'Done.'])
    const { workflow, provider } = made
    const { id } = await workflow.createAgent('helper')
    const working = workflow.sendMsgToAgent(id, 'start', { meta: { sender: 'ada' } })
    await expect.poll(() => provider.requests.length).toBe(1)
    const steering = workflow.sendMsgToAgent(id, 'more', { meta: { sender: 'bob' } })
    await expect.poll(async () => (await made.log(id)).some(({ type }) => type === 'input')).toBe(true)
    held.resolve('Working.')
    await Promise.all([working, steering])
    const said = (await workflow.getMessages(id)).filter(({ role }) => role === 'user')
    expect(said.map(({ metadata }) => metadata?.meta)).toEqual([{ sender: 'ada' }, { sender: 'bob' }])
    const begun = (await made.log(id)).filter(({ type }) => type === 'run_started')
    expect(begun).toMatchObject([{ agent: 'helper', meta: { sender: 'ada' } }])
    await expect(workflow.sendMsgToAgent(id, 'x', { meta: 'ada' as never })).rejects.toThrow(
      'meta of sendMsgToAgent must be',
    )
  })

  test('D009 an answer is shown with its first piece, then every 300 ms, and is complete at the end', async () => {
    const clock = fakeClock(1000)
    const { workflow, updates } = world(
      [
        [
          { type: 'start' },
          { type: 'text', delta: 'a' },
          ...Array.from('bcdef', (delta) => ({ type: 'text', delta }) as const),
          { type: 'reply', content: [{ type: 'text', text: 'abcdef' }], usage: { input: 1, output: 1 }, stop: 'end' },
        ],
      ],
      { clock, plugins: [slowly(clock, 100)], definitions: [definition('slowly')] },
    )
    const { id } = await workflow.createAgent('helper')
    const sending = workflow.sendMsgToAgent(id, 'go')
    await clock.advance(2000)
    await sending
    const seen = updates.flatMap((one) =>
      one.type === 'message' && one.message.role === 'assistant' ? [one.message] : [],
    )
    expect(seen.map(({ content, metadata }) => [content, metadata?.isComplete, metadata?.isPersisted])).toEqual([
      ['a', false, false],
      ['abcd', false, false],
      ['abcdef', true, true],
    ])
    expect(new Set(seen.map(({ id: one }) => one)).size).toBe(1)
  })

  test('D010 the result of a tool is a message of its own, marked and saved once', async () => {
    const { workflow, log } = world([[call('1', 'look', { at: 'sky' })], 'Blue.'], {
      definitions: [definition('look')],
      plugins: [withTool('look', () => 'blue')],
    })
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'Look up')
    const results = (await workflow.getMessages(id)).filter(({ metadata }) => metadata?.isToolResult)
    expect(results).toEqual([
      expect.objectContaining({
        role: 'tool',
        content: 'blue',
        duration: 1,
        metadata: expect.objectContaining({
          isPersisted: true,
          toolId: 'look',
          toolParameters: { at: 'sky' },
          callId: '1',
        }),
      }),
    ])
    expect((await log(id)).filter(({ type }) => type === 'call_result')).toHaveLength(1)
  })

  test('messages are the same after a restart, and a new process shows them by reading', async () => {
    const first = world([{ thinking: 'hm', text: 'Let me see', calls: [call('1', 'look')] }, 'Blue.'], {
      definitions: [definition('look')],
      plugins: [withTool('look', () => 'blue')],
    })
    const { id } = await first.workflow.createAgent('helper', { name: 'Painter' })
    await first.workflow.sendMsgToAgent(id, { text: 'Look', file: { mediaType: 'image/png', data: 'AAAA' } })
    const before = await first.workflow.getMessages(id)
    const { workflow } = first.again()
    expect(await workflow.getMessages(id)).toEqual(before)
    expect(await workflow.getAgent(id)).toMatchObject({ name: 'Painter', definitionId: 'helper', closed: false })
    expect(short(before)).toEqual(['user: Look', 'assistant/1: Let me see', 'tool/1: blue', 'assistant: Blue.'])
    expect(before[0]!.metadata).toMatchObject({ file: { mediaType: 'image/png', data: 'AAAA' } })
    expect(before[1]).toMatchObject({
      reasoning_content: 'hm',
      metadata: { containsToolCall: true, calls: [{ callId: '1', toolId: 'look', outcome: 'done' }] },
    })
  })

  test('D042 a failed request leaves an error message of duration 1, after the results that were there', async () => {
    const { workflow } = world(
      [[call('1', 'look')], new AgentProviderError('the service is down', { provider: 'scripted' })],
      {
        definitions: [definition('look')],
        plugins: [withTool('look', () => 'blue')],
      },
    )
    const { id } = await workflow.createAgent('helper')
    const status = await workflow.sendMsgToAgent(id, 'Look')
    expect(status).toMatchObject({ state: 'failed', message: { role: 'error', duration: 1 } })
    expect(short(await workflow.getMessages(id))).toEqual([
      'user: Look',
      'assistant/1: ',
      'tool/1: blue',
      expect.stringMatching(/^error\/1: .*the service is down/),
    ])
  })

  test('D050 with a store that cannot write, people still see the message and the error', async () => {
    const broken: { is: boolean } = { is: false }
    const { workflow, updates } = world(['Hello.'], { store: failingStore(broken) })
    const { id } = await workflow.createAgent('helper')
    broken.is = true
    const status = await workflow.sendMsgToAgent(id, 'Do not lose this')
    expect(status).toMatchObject({ state: 'failed', message: { content: expect.stringContaining('the disk is full') } })
    const seen = updates.flatMap((one) => (one.type === 'message' ? [one.message] : []))
    expect(seen).toContainEqual(
      expect.objectContaining({
        role: 'user',
        content: 'Do not lose this',
        metadata: expect.objectContaining({ isPersisted: false }),
      }),
    )
    expect(updates.at(-1)).toMatchObject({ type: 'status', status: { state: 'failed' } })
    broken.is = false
    expect((await workflow.sendMsgToAgent(id, 'Again')).state).toBe('completed')
  })

  test('a listener that fails is reported, and the others are called', async () => {
    const { workflow, errors } = world(['Hello.'])
    const heard = vi.fn()
    const { id } = await workflow.createAgent('helper')
    workflow.subscribe(id, () => {
      throw new Error('bad screen')
    })
    workflow.subscribe(id, heard)
    await workflow.sendMsgToAgent(id, 'Hi')
    expect(heard).toHaveBeenCalled()
    expect(errors[0]?.message).toBe('a listener of the workflow failed')
  })
})

describe('what is still sent', () => {
  const look = (execute: (input: Record<string, unknown>) => unknown) =>
    withTool('look', execute, { isConcurrencySafe: true })
  const sent = (requests: readonly { messages: Parameters<typeof texts>[0] }[]) =>
    requests.map(({ messages }) => texts(messages))

  test('D011 D049 with a duration of 1 a call and its result are sent with the next request and not after it', async () => {
    const { workflow, provider } = world([[call('1', 'look')], [call('2', 'look')], 'Done.'], {
      definitions: [definition('look')],
      plugins: [look(() => 'x')],
    })
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'go')
    expect(sent(provider.requests)).toEqual([
      ['user: go'],
      ['user: go', 'assistant: →look({})', 'user: ←x'],
      ['user: go', 'assistant: →look({})', 'user: ←x'],
    ])
    expect(provider.requests[2]!.messages[1]).toMatchObject({ content: [{ id: '2' }] })
  })

  test.each([
    [null, [0, 1, 2, 3]],
    [2, [0, 1, 2, 2]],
    [1, [0, 1, 1, 1]],
    [0, [0, 0, 0, 0]],
  ])('D011 a duration of %s sends %j results with the requests that follow', async (toolResultDuration, counts) => {
    const steps = ['1', '2', '3'].map((id) => [call(id, 'look')])
    const definitions = [{ ...definition('look'), config: { ...definition('look').config, toolResultDuration } }]
    const { workflow, provider } = world([...steps, 'Done.'], { definitions, plugins: [look(() => 'x')] })
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'go')
    const results = provider.requests.map(({ messages }) => texts(messages).filter((text) => text.includes('←')).length)
    expect(results).toEqual(counts)
  })

  test('D011 three results of one answer are all sent with the next request, and none after it', async () => {
    const { workflow, provider } = world(
      [
        [call('1', 'look', { n: 1 }), call('2', 'look', { n: 2 }), call('3', 'look', { n: 3 })],
        [call('4', 'look', { n: 4 })],
        'Done.',
      ],
      { definitions: [definition('look')], plugins: [look(({ n }) => `x${n}`)] },
    )
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'go')
    expect(sent(provider.requests)[1]).toEqual(['user: go', expect.any(String), 'user: ←x1 ←x2 ←x3'])
    expect(sent(provider.requests)[2]).toEqual(['user: go', 'assistant: →look({"n":4})', 'user: ←x4'])
  })

  test('D012 a call is kept for as long as its result, and one of a batch without the others', async () => {
    const keeping = withTool('keep', () => ({ output: 'kept', details: { duration: null } }), {
      isConcurrencySafe: true,
    })
    const { workflow, provider } = world(
      [{ text: 'Two things', calls: [call('1', 'look'), call('2', 'keep')] }, [call('3', 'look')], 'Done.'],
      { definitions: [definition('look', 'keep')], plugins: [look(() => 'x'), keeping] },
    )
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'go')
    expect(sent(provider.requests)[2]).toEqual([
      'user: go',
      'assistant: Two things →keep({})',
      'user: ←kept',
      'assistant: →look({})',
      'user: ←x',
    ])
  })

  test('D011 an error is sent with two requests', async () => {
    const { workflow, provider } = world([[call('1', 'look')], [call('2', 'look')], [call('3', 'look')], 'Done.'], {
      definitions: [definition('look')],
      plugins: [
        look(() => {
          throw new Error('too dark')
        }),
      ],
    })
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'go')
    expect(sent(provider.requests).map((texts) => texts.filter((text) => text.includes('too dark')).length)).toEqual([
      0, 1, 2, 2,
    ])
  })

  test('texts stay, and if nothing expires, each request begins with the bytes of the one before', async () => {
    const { workflow, provider } = world(['One.', 'Two.', 'Three.'])
    const { id } = await workflow.createAgent('helper')
    for (const word of ['a', 'b', 'c']) await workflow.sendMsgToAgent(id, word)
    const [first, second, third] = provider.requests
    expect(JSON.stringify(third!.messages).startsWith(JSON.stringify(second!.messages).slice(0, -1))).toBe(true)
    expect(JSON.stringify(second!.messages).startsWith(JSON.stringify(first!.messages).slice(0, -1))).toBe(true)
    expect(new Set(provider.requests.map(({ system }) => system))).toEqual(new Set(['You help.']))
  })
})

/** Makes each piece of an answer take its time. */
function slowly(clock: ReturnType<typeof fakeClock>, ms: number) {
  return {
    toolId: 'slowly',
    displayName: '',
    description: '',
    register: (taps: { tap(name: 'responseUpdate', handler: () => Promise<void>): void }) =>
      taps.tap('responseUpdate', () => new Promise<void>((resolve) => void clock.timer(ms, resolve))),
  }
}

test('M10 a screen asks for the ids of all messages first, and for the contents of those in sight', async () => {
  const { workflow, again } = world(Array.from({ length: 30 }, (_, i) => `Answer ${i}.`))
  const { id } = await workflow.createAgent('helper')
  for (let i = 0; i < 30; i++) await workflow.sendMsgToAgent(id, `Message ${i}`)
  const ids = await workflow.getMessageIds(id)
  expect(ids).toEqual((await workflow.getMessages(id)).map((message) => message.id))
  const inSight = await again().workflow.getMessages(id, { from: 20, to: 24 })
  expect(inSight.map((message) => message.id)).toEqual(ids.slice(20, 24))
  expect(await workflow.getMessages(id, { from: ids.length - 1 })).toHaveLength(1)
})
