import { describe, expect, test, vi } from 'vitest'
import type { LogEntry } from '../../src/core/log.ts'
import type { SessionStore } from '../../src/core/store.ts'
import { createMemoryStore } from '../../src/sessions/memory-store.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { call, type Step, texts } from '../../src/testing/scripted.ts'
import { definition, short, withTool, world } from './kit.ts'

describe('restarts', () => {
  test('a process that dies at any entry of the log loses nothing: the next one continues to the same result', async () => {
    const script = () => [[call('1', 'look', { n: 1 })], [call('2', 'look', { n: 2 })], 'Two balls.']
    const plugins = [withTool('look', ({ n }) => `ball ${n}`)]
    const definitions = [definition('look')]
    const whole = world(script(), { plugins, definitions })
    const { id } = await whole.workflow.createAgent('helper', { id: 'agent-x' })
    await whole.workflow.sendMsgToAgent(id, 'Count')
    const entries = await whole.log(id)
    const messages = short(await whole.workflow.getMessages(id))
    expect(entries.length).toBeGreaterThan(10)

    const begun = entries.findIndex(({ type }) => type === 'turn')
    for (let at = begun + 1; at < entries.length; at++) {
      const left = entries.slice(0, at)
      const asked = left.filter((entry) => entry.type === 'turn' && entry.turn.role === 'assistant').length
      const { workflow, provider } = world(script().slice(asked), {
        plugins,
        definitions,
        store: await storeWith(id, left),
      })
      await workflow.start()
      await vi.waitFor(async () => expect((await workflow.getStatus(id)).state).toBe('completed'))
      expect([at, short(await workflow.getMessages(id))]).toEqual([at, messages])
      expect(provider.requests).toHaveLength(3 - asked)
      await workflow.close()
    }
  })

  test('a workflow that is closed during work continues with the next start, and waiting messages are not lost', async () => {
    let reached = (): void => {}
    const inside = new Promise<void>((resolve) => {
      reached = resolve
    })
    const first = world([
      async (_, signal) => {
        reached()
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
        return ''
      },
    ])
    const { id } = await first.workflow.createAgent('helper')
    void first.workflow.sendMsgToAgent(id, 'Long work')
    await inside
    void first.workflow.sendMsgToAgent(id, 'And this').catch(() => {})
    await new Promise((resolve) => setTimeout(resolve, 5))
    await first.workflow.close()
    const second = first.again()
    second.provider.push('All done.', 'Really.')
    await second.workflow.start()
    await vi.waitFor(async () => expect((await second.workflow.getStatus(id)).state).toBe('completed'))
    expect(second.provider.requests.flatMap(({ messages }) => texts(messages)).join('\n')).toMatch(
      /Long work[\s\S]*And this/,
    )
  })

  test('two processes over one store: a message reaches the process that runs the agent', async () => {
    const store = createMemoryStore()
    let reached = (): void => {}
    let go = (): void => {}
    const inside = new Promise<void>((resolve) => {
      reached = resolve
    })
    const gate = new Promise<void>((resolve) => {
      go = resolve
    })
    const waiting = (): Promise<Step> => {
      reached()
      return gate.then(() => [call('1', 'look')])
    }
    const one = world([waiting, 'Heard both.'], {
      store,
      definitions: [definition('look')],
      plugins: [withTool('look', () => 'x')],
    })
    const { id } = await one.workflow.createAgent('helper')
    const working = one.workflow.sendMsgToAgent(id, 'First')
    await inside
    const two = one.again()
    expect((await two.workflow.sendMsgToAgent(id, 'Second')).state).toBe('submitted')
    go()
    expect((await working).message?.content).toBe('Heard both.')
    expect(texts(one.provider.requests.at(-1)!.messages).join()).toContain('Second')
  })
})

describe('side by side', () => {
  const overlapping = () => {
    let now = 0
    const most = { side: 0 }
    const work = async () => {
      most.side = Math.max(most.side, ++now)
      await new Promise((resolve) => setTimeout(resolve, 5))
      now--
      return 'done'
    }
    return { most, work }
  }
  const older = (work: () => Promise<string>) => ({
    toolId: 'older',
    displayName: 'Older',
    description: 'Works in the older way.',
    llmToolSchemas: {
      dig: { type: 'object', properties: { depth: { type: 'number' } }, required: ['depth'] },
      fill: { type: 'object', properties: {} },
    },
    async onResponseComplete(ctx: { executeAllMatchingToolCalls(all: object): Promise<number> }) {
      await ctx.executeAllMatchingToolCalls({ dig: work, fill: work })
    },
  })
  const said = (...calls: string[]) =>
    calls.map((name) => `<tool_use name="${name}">{"depth": 1}</tool_use>`).join('\n')

  test.each([
    [
      'D015 inside the wrapper calls run together',
      `<parallel_tool_calls>${said('dig', 'fill')}</parallel_tool_calls>`,
      2,
    ],
    ['D015 without it one after the other', said('dig', 'fill'), 1],
  ])('%s', async (_, text, side) => {
    const { most, work } = overlapping()
    const definitions = [{ ...definition('older'), textTools: true }]
    const { workflow, provider } = world([text, 'Done.'], { definitions, plugins: [older(work) as never] })
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'Dig and fill')
    expect(most.side).toBe(side)
    expect(provider.requests[0]!.tools).toEqual([])
    expect(texts(provider.requests[1]!.messages).at(-1)).toContain('<functions_result>')
  })

  test.each([
    ['D015 so it is with tools that may run beside others: together inside the wrapper', true, 2],
    ['D015 and one after the other without it', false, 1],
  ])('%s', async (_, isWrapped, side) => {
    const { most, work } = overlapping()
    const plugins = [withTool('dig', work, { isConcurrencySafe: true })]
    const calls = said('dig', 'dig')
    const text = isWrapped ? `<parallel_tool_calls>${calls}</parallel_tool_calls>` : calls
    const definitions = [{ ...definition('dig'), textTools: true }]
    const { workflow } = world([text, 'Done.'], { definitions, plugins })
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'Dig twice')
    expect(most.side).toBe(side)
  })

  test('a plugin with llmToolSchemas offers several tools; a throw is an error for the model', async () => {
    const { workflow, provider } = world([[call('1', 'dig', { depth: 1 })], [call('2', 'dig', {})], 'Enough.'], {
      definitions: [definition('older')],
      plugins: [older(() => Promise.reject(new Error('rock'))) as never],
    })
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'Dig')
    expect(provider.requests[0]!.tools.map(({ name }) => name)).toEqual(['dig', 'fill'])
    expect(texts(provider.requests[1]!.messages).at(-1)).toBe('user: ←Tool error: rock')
    expect(texts(provider.requests[2]!.messages).at(-1)).toContain('missing required property "depth"')
  })

  test('D016 D017 every call has an outcome: done, failed, too late by its own limit, too late for the batch', async () => {
    const clock = fakeClock(0)
    const delayed = (ms: number) => () => new Promise((resolve) => clock.timer(ms, () => resolve(`after ${ms}`)))
    const safe = { isConcurrencySafe: true }
    const aborted: string[] = []
    const forever = withTool('forever', () => new Promise(() => {}), {
      ...safe,
      timeoutMs: 600_000,
      execute: (_: unknown, { signal }: { signal: AbortSignal }) =>
        new Promise((resolve) => signal.addEventListener('abort', () => resolve(String(aborted.push('forever'))))),
    })
    const plugins = [
      withTool('quick', delayed(1_000), safe),
      withTool('broken', () => Promise.reject(new Error('no')), safe),
      withTool('slow', delayed(50_000), safe),
      forever,
    ]
    const { workflow, provider } = world(
      [[call('1', 'quick'), call('2', 'broken'), call('3', 'slow'), call('4', 'forever')], 'Done.'],
      { clock, plugins, definitions: [definition('quick', 'broken', 'slow', 'forever')] },
    )
    const { id } = await workflow.createAgent('helper')
    const sending = workflow.sendMsgToAgent(id, 'All')
    const log = () => workflow.getMessages(id)
    await vi.waitFor(async () => expect((await log()).some(({ content }) => content === 'Tool error: no')).toBe(true))
    await clock.advance(31_000)
    expect(short(await log()).filter((text) => text.startsWith('tool'))).toEqual([
      'tool/2: Tool error: no',
      'tool/1: after 1000',
      expect.stringMatching(/^tool\/2: .*30.?000 ms|30 s/),
    ])
    await clock.advance(90_000)
    await sending
    const last = texts(provider.requests[1]!.messages).at(-1)!
    expect(last).toContain('←after 1000')
    expect(last).toContain('may work 120 s together')
    expect(aborted).toEqual(['forever'])
  })
})

test('D017 an entry sets the time limit of its plugin, 0 for none, and others keep theirs', async () => {
  const clock = fakeClock(0)
  const safe = { isConcurrencySafe: true }
  const late = (ms: number) => () => new Promise((resolve) => clock.timer(ms, () => resolve(`after ${ms}`)))
  const { workflow } = world([[call('1', 'short'), call('2', 'long'), call('3', 'usual')], 'Done.'], {
    clock,
    plugins: [
      withTool('short', late(5_000), safe),
      withTool('long', late(60_000), safe),
      withTool('usual', late(20_000), safe),
    ],
    definitions: [definition({ toolId: 'short', timeoutMs: 2_000 }, { toolId: 'long', timeoutMs: 0 }, 'usual')],
  })
  const { id } = await workflow.createAgent('helper')
  const sending = workflow.sendMsgToAgent(id, 'All')
  await clock.advance(70_000)
  await sending
  const results = (await workflow.getMessages(id)).filter(({ role }) => role === 'tool')
  expect(results.map(({ content }) => content)).toEqual([
    expect.stringMatching(/2.?000 ms|2 s/),
    'after 20000',
    'after 60000',
  ])
})

async function storeWith(id: string, entries: readonly LogEntry[]): Promise<SessionStore> {
  const store = createMemoryStore()
  const { epoch } = await store.lease(id, { owner: 'the one that died', ttlMs: 1000, create: true })
  await store.append(id, entries, { epoch, head: 0 })
  await store.lease(id, { owner: 'the one that died', ttlMs: 0, epoch })
  return store
}
