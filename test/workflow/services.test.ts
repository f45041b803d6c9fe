import { describe, expect, test, vi } from 'vitest'
import type { LogEntry } from '../../src/core/log.ts'
import type { SessionStore } from '../../src/core/store.ts'
import { createMemoryKnowledgeStore } from '../../src/plugins/wiki/stores/memory-store.ts'
import { createMemoryStore } from '../../src/sessions/memory-store.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { call, type Step, texts } from '../../src/testing/scripted.ts'
import type { AgentDefinition } from '../../src/workflow/definitions/definition.ts'
import type { WorkflowOptions } from '../../src/workflow/workflow.ts'
import { definition, short, withTool, world } from './kit.ts'

describe('sub-agents', () => {
  const reader: AgentDefinition = {
    id: 'reader',
    name: 'Reader',
    config: { prompts: [{ id: 's', text: 'You read.' }], plugins: [{ id: 'look', toolId: 'look' }] },
  }
  const parent = definition({ toolId: 'spawn-agent', approval: { mode: 'auto' } })
  const spawning = call('s1', 'spawn-agent', { task: 'Read it', context: 'Page 3', agentDefinitionId: 'reader' })

  test('D029 a sub-agent works by its own definition, is marked and hidden, and its report is the result', async () => {
    const { workflow, provider } = world([[spawning], [call('1', 'look')], 'Page 3 is empty.', 'It is empty.'], {
      definitions: [parent, reader],
      plugins: [withTool('look', () => 'nothing')],
    })
    const { id } = await workflow.createAgent('helper')
    expect((await workflow.sendMsgToAgent(id, 'What is on it?')).message?.content).toBe('It is empty.')
    expect(provider.requests[1]).toMatchObject({ system: 'You read.', tools: [{ name: 'look' }] })
    expect(texts(provider.requests[1]!.messages)).toEqual(['user: Read it\n\nPage 3'])
    expect(texts(provider.requests[3]!.messages).at(-1)).toBe('user: ←Page 3 is empty.')
    expect((await workflow.listAgents()).agents.map((one) => one.id)).toEqual([id])
    const [child] = (await workflow.listAgents({ subAgents: true })).agents.filter((one) => one.id !== id)
    expect(child).toMatchObject({
      isSubAgent: true,
      parentAgentId: id,
      definitionId: 'reader',
      title: 'Read it Page 3',
    })
    expect(await workflow.getAgent(child!.id)).toMatchObject({ name: 'Reader', parentAgentId: id })
    expect(short(await workflow.getMessages(child!.id)).at(-1)).toBe('assistant: Page 3 is empty.')
    await expect(workflow.sendMsgToAgent(child!.id, 'Hi')).rejects.toThrow(`is a sub-agent of "${id}"`)
    expect((await workflow.getMessages(id)).find(({ role }) => role === 'tool')).toMatchObject({ duration: 2 })
  })

  test.each([
    ['alone', [call('1', 'summary', { text: 'Page 3 is empty.' })]],
    ['beside words', { text: 'I have it.', calls: [call('1', 'summary', { text: 'Page 3 is empty.' })] }],
    ['in text', '<tool_use name="summary">{"text": "Page 3 is empty."}</tool_use>'],
  ])('D029 D030 a sub-agent that ends with a summary (%s) has said that', async (_, step) => {
    const config = { plugins: [{ id: 's', toolId: 'summary' }] }
    const { workflow, provider } = world([[spawning], step as Step, 'It is empty.'], {
      definitions: [parent, { id: 'reader', textTools: typeof step === 'string', config }],
    })
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'What is on it?')
    expect(texts(provider.requests[2]!.messages).at(-1)).toBe('user: ←Page 3 is empty.')
  })

  test('D029 D030 a sub-agent that ended with a summary before a crash is not run again', async () => {
    const store = createMemoryStore()
    const isDead = (id: string, entries: readonly LogEntry[]) =>
      !id.includes('/') && entries.some(({ type }) => type === 'call_result')
    const dying: SessionStore = {
      ...store,
      append: (id, entries, fence) =>
        isDead(id, entries) ? Promise.reject(new Error('dead')) : store.append(id, entries, fence),
    }
    const definitions = [parent, { id: 'reader', config: { plugins: [{ id: 's', toolId: 'summary' }] } }]
    const first = world([[spawning], [call('1', 'summary', { text: 'Page 3 is empty.' })]], {
      store: dying,
      definitions,
    })
    const { id } = await first.workflow.createAgent('helper')
    expect((await first.workflow.sendMsgToAgent(id, 'What is on it?')).state).toBe('failed')
    await first.workflow.close()
    const { workflow, provider } = first.again({ store })
    provider.push('It is empty.')
    await workflow.start()
    await vi.waitFor(async () => expect((await workflow.getStatus(id)).state).toBe('completed'))
    expect(provider.requests).toHaveLength(1)
    expect(texts(provider.requests[0]!.messages).at(-1)).toBe('user: ←Page 3 is empty.')
  })

  test('the state of a sub-agent can be read, and it is closed with its parent', async () => {
    const { workflow } = world([[spawning], 'Page 3 is empty.', 'It is empty.'], {
      definitions: [parent, reader],
      plugins: [withTool('look', () => 'nothing')],
    })
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'What is on it?')
    const child = `${id}/s1`
    expect(await workflow.getStatus(child)).toMatchObject({
      state: 'completed',
      message: { content: 'Page 3 is empty.' },
    })
    expect(await workflow.getTokens(child)).toBeUndefined()
    expect(await workflow.getAgent(child)).toMatchObject({ closed: false })
    expect((await workflow.listAgents({ subAgents: true })).agents).toHaveLength(2)
    await workflow.closeAgent(id)
    expect(await workflow.getAgent(child)).toMatchObject({ closed: true })
    expect((await workflow.listAgents({ subAgents: true })).agents).toEqual([])
    expect((await workflow.listAgents({ subAgents: true, closed: true })).agents).toHaveLength(2)
  })

  test('D029 a sub-agent runs on the model of its own definition, with tools in text where that says so', async () => {
    const speaking = { ...reader, model: 'small-1', textTools: true }
    const { workflow, provider } = world(
      [[spawning], '<tool_use name="look">{}</tool_use>', 'Nothing there.', 'Nothing.'],
      { definitions: [{ ...parent, model: 'big-1' }, speaking], plugins: [withTool('look', () => 'nothing')] },
    )
    const { id } = await workflow.createAgent('helper')
    expect((await workflow.sendMsgToAgent(id, 'Look')).message?.content).toBe('Nothing.')
    expect(provider.requests.map(({ model, tools }) => [model, tools.length])).toEqual([
      ['big-1', 1],
      ['small-1', 0],
      ['small-1', 0],
      ['big-1', 1],
    ])
  })

  test('D029 after 120 s the sub-agent is cancelled, and its parent is told', async () => {
    const clock = fakeClock(0)
    const cancelled = vi.fn()
    const { workflow, provider } = world(
      [
        [spawning],
        (_, signal) =>
          new Promise((_, reject) =>
            signal.addEventListener('abort', () => {
              cancelled()
              reject(signal.reason)
            }),
          ),
        'It took too long.',
      ],
      { clock, definitions: [parent, reader], plugins: [withTool('look', () => 'x')] },
    )
    const { id } = await workflow.createAgent('helper')
    const sending = workflow.sendMsgToAgent(id, 'Go')
    await vi.waitFor(() => expect(provider.requests).toHaveLength(2))
    await clock.advance(121_000)
    expect((await sending).message?.content).toBe('It took too long.')
    expect(cancelled).toHaveBeenCalledOnce()
  })

  test('D029 starting one needs an approval by default, and its questions are answered at its parent', async () => {
    const asking: AgentDefinition = { id: 'reader', config: { plugins: [{ id: 'q', toolId: 'ask-question' }] } }
    const { workflow } = world(
      [[spawning], [call('q', 'ask-question', { question: 'Which page?' })], 'Page 7 then.', 'Seven.'],
      { definitions: [definition('spawn-agent'), asking] },
    )
    const { id } = await workflow.createAgent('helper')
    expect((await workflow.sendMsgToAgent(id, 'Go')).state).toBe('input-required')
    const [permission] = await workflow.pending(id)
    expect(permission).toMatchObject({ callId: 's1', name: 'spawn-agent', isQuestion: false })
    expect((await workflow.resolveApproval(id, 's1', 'allow')).state).toBe('input-required')
    const [question] = await workflow.pending(id)
    expect(question).toMatchObject({ callId: 'q', isQuestion: true, sessionId: `${id}/s1` })
    expect((await workflow.answerQuestion(id, 'q', '7')).message?.content).toBe('Seven.')
  })

  describe('whose models use the same call id', () => {
    const worker = (toolId: string): AgentDefinition => ({ id: 'worker', config: { plugins: [{ id: 't', toolId }] } })
    const working = (task: string) => call(task, 'spawn-agent', { task, agentDefinitionId: 'worker' })

    async function waiting(step: Step, toolId: string, more: Partial<WorkflowOptions> = {}) {
      const definitions = [parent, worker(toolId)]
      const steps = [[working('dig'), working('sow')], step, step, 'Done.', 'Done.', 'All done.']
      const { workflow } = world(steps, { definitions, ...more })
      const { id } = await workflow.createAgent('helper')
      await workflow.sendMsgToAgent(id, 'Go')
      return { workflow, id, pending: await workflow.pending(id) }
    }

    test('D020 D029 each call has its own id, and only the named one runs', async () => {
      const done: unknown[] = []
      const plugin = withTool('risky', (input) => `did ${done.push(input.task)}`, { effects: ['exec'] })
      const plugins = [{ ...plugin, defaultApproval: { risky: { mode: 'confirm' as const } } }]
      const step: Step = ({ messages }) => [
        call('call_0', 'risky', { task: texts(messages).some((text) => text.includes('sow')) ? 'sow' : 'dig' }),
      ]
      const { workflow, id, pending } = await waiting(step, 'risky', { plugins })
      expect(pending.map(({ callId }) => callId)).toEqual(['call_0', 'call_0'])
      expect(pending.map(({ approvalId }) => approvalId).sort()).toEqual([`${id}/dig/call_0`, `${id}/sow/call_0`])
      await expect(workflow.resolveApproval(id, 'call_0', 'allow')).rejects.toThrow(
        /2 calls of agent .* are named "call_0"; say which one by its approvalId: .*(dig.*sow|sow.*dig)\/call_0" \(risky\)/,
      )
      expect(done).toEqual([])
      await workflow.resolveApproval(id, `${id}/sow/call_0`, 'allow')
      expect(done).toEqual(['sow'])
      expect((await workflow.resolveApproval(id, 'call_0', 'deny')).message?.content).toBe('All done.') // the only one left
      expect(done).toEqual(['sow'])
    })

    test('D020 D029 no call of an agent has the name of one of a sub-agent, whatever its id', async () => {
      const asking = call('sow/q', 'ask-question', { question: 'Deep?' })
      const { workflow } = world([[asking], 'Deep it is.'], { definitions: [definition('ask-question')] })
      const { id } = await workflow.createAgent('helper')
      await workflow.sendMsgToAgent(id, 'Go')
      expect(await workflow.pending(id)).toMatchObject([{ callId: 'sow/q', approvalId: `${id}/sow%2Fq` }])
      await expect(workflow.answerQuestion(id, `${id}/sow/q`, 'yes')).rejects.toThrow('has no call')
      expect((await workflow.answerQuestion(id, `${id}/sow%2Fq`, 'yes')).message?.content).toBe('Deep it is.')
    })

    test('D029 D032 an answer goes to the question that is named', async () => {
      const step = [call('call_0', 'ask-question', { question: 'How deep?' })]
      const { workflow, id } = await waiting(step, 'ask-question')
      await expect(workflow.answerQuestion(id, 'call_0', 'a foot')).rejects.toThrow('2 calls of agent')
      await workflow.answerQuestion(id, `${id}/sow/call_0`, 'an inch')
      expect((await workflow.pending(id)).map(({ approvalId }) => approvalId)).toEqual([`${id}/dig/call_0`])
    })
  })
})

test('D029 a volatile agent’s sub-agent asks and is answered, although neither is stored', async () => {
  const asking: AgentDefinition = { id: 'reader', config: { plugins: [{ id: 'q', toolId: 'ask-question' }] } }
  const spawning = call('s1', 'spawn-agent', { task: 'Read it', agentDefinitionId: 'reader' })
  const { workflow, store } = world(
    [[spawning], [call('q', 'ask-question', { question: 'Which page?' })], 'Page 7 then.', 'Seven.'],
    { definitions: [definition({ toolId: 'spawn-agent', approval: { mode: 'auto' } }), asking] },
  )
  const { id } = await workflow.createAgent('helper', { volatile: true })
  expect((await workflow.sendMsgToAgent(id, 'Go')).state).toBe('input-required')
  expect((await workflow.answerQuestion(id, 'q', '7')).message?.content).toBe('Seven.')
  await workflow.deleteAgent(id)
  expect((await workflow.listAgents()).agents).toEqual([])
  expect((await store.list()).sessions.filter((one) => one.id.startsWith('agent-'))).toEqual([])
})

describe('schedules', () => {
  test('D031 the alarm clock leaves the loop, wakes with its message, repeats, and survives a restart', async () => {
    const clock = fakeClock(Date.parse('2026-03-01T08:00:00Z'))
    const alarm = call('1', 'alarm-clock', {
      wakeAtISO: '2026-03-01T09:00:00Z',
      reminderMessage: 'Water the beds',
      repeatIntervalMinutes: 60,
    })
    const options = { clock, definitions: [definition('alarm-clock')] }
    const first = world([[alarm], 'Watered.'], options)
    const { id } = await first.workflow.createAgent('helper')
    expect((await first.workflow.sendMsgToAgent(id, 'Remind me')).state).toBe('completed')
    expect(first.provider.requests).toHaveLength(1) // it did not go on
    await first.workflow.start()
    await clock.advance(3_600_000 + 1000)
    await vi.waitFor(async () => expect((await first.workflow.getStatus(id)).message?.content).toBe('Watered.'))
    expect(texts(first.provider.requests[1]!.messages).at(-1)).toBe('user: [Alarm Clock] Water the beds')
    await first.workflow.close()

    const second = first.again()
    second.provider.push('Watered again.')
    await second.workflow.start()
    await clock.advance(3_600_000)
    await vi.waitFor(async () => expect((await second.workflow.getStatus(id)).message?.content).toBe('Watered again.'))
    expect(
      (await second.workflow.getMessages(id)).filter(({ content }) => content.startsWith('[Alarm Clock]')),
    ).toHaveLength(2)
    await second.workflow.closeAgent(id)
    expect(await second.workflow.schedules.list()).toEqual([])
  })

  test('D031 a missed alarm fires at the start', async () => {
    const clock = fakeClock(Date.parse('2026-03-01T08:00:00Z'))
    const alarm = call('1', 'alarm-clock', { wakeAtISO: '2026-03-01T09:00:00Z' })
    const first = world([[alarm]], { clock, definitions: [definition('alarm-clock')] })
    const { id } = await first.workflow.createAgent('helper')
    await first.workflow.sendMsgToAgent(id, 'Remind me')
    await first.workflow.close()
    await clock.advance(7_200_000)
    const second = first.again()
    second.provider.push('Late, but here.')
    await second.workflow.start()
    await clock.advance(1000)
    await vi.waitFor(async () => expect((await second.workflow.getStatus(id)).message?.content).toBe('Late, but here.'))
  })

  test('a heartbeat wakes its agent repeatedly, and a closed agent no more', async () => {
    const clock = fakeClock(0)
    const beating = { ...definition(), heartbeat: { intervalSeconds: 60, message: 'Look around.' } }
    const { workflow, provider } = world(['Nothing new.', 'Still nothing.'], { clock, definitions: [beating] })
    const { id } = await workflow.createAgent('helper')
    await workflow.start()
    for (const count of [1, 2]) {
      await clock.advance(60_000)
      await vi.waitFor(() => expect(provider.requests).toHaveLength(count))
      await vi.waitFor(async () => expect((await workflow.getStatus(id)).state).toBe('completed'))
    }
    await workflow.closeAgent(id)
    await clock.advance(600_000)
    expect(provider.requests).toHaveLength(2)
  })

  test('a volatile agent has no heartbeat, and ends with its process', async () => {
    const beating = { ...definition(), heartbeat: { intervalSeconds: 60, message: 'Look around.' } }
    const { workflow, store } = world(['Hi.'], { definitions: [beating] })
    const { id } = await workflow.createAgent('helper', { volatile: true })
    expect((await workflow.sendMsgToAgent(id, 'Hello')).message?.content).toBe('Hi.')
    expect(await workflow.schedules.list()).toEqual([])
    expect((await workflow.listAgents()).agents.map((one) => one.id)).toEqual([id])
    expect((await store.list()).sessions.filter((one) => one.id === id)).toEqual([])
  })
})

describe('what the model is shown', () => {
  test('D046 the todo list is in every request, after the conversation', async () => {
    const todos = [
      { content: 'Dig', status: 'completed' },
      { content: 'Sow', status: 'pending' },
    ]
    const { workflow, provider } = world(
      [[call('1', 'manage-todo', { todos })], [call('2', 'look')], 'Done.', 'Still.'],
      {
        definitions: [definition('manage-todo', 'look')],
        plugins: [withTool('look', () => 'x')],
      },
    )
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'Plan')
    await workflow.sendMsgToAgent(id, 'And?')
    const lists = provider.requests.map(({ messages }) => texts(messages).findIndex((text) => text.includes('[x] Dig')))
    expect(lists[0]).toBe(-1)
    expect(lists.slice(1)).toEqual([3, 3, 2])
    expect(texts(provider.requests[3]!.messages)).toEqual([
      'user: Plan',
      'assistant: Done.',
      expect.stringContaining('[ ] Sow'),
      'user: And?',
    ])
  })

  test('D036 wiki-search lists the wikis, finds pages, and the model continues with them', async () => {
    const knowledge = createMemoryKnowledgeStore({
      workspaces: { garden: [{ title: 'Tomatoes', text: 'Water them daily.', tags: ['plant'] }] },
    })
    const search = call('1', 'wiki-search', { workspaceName: 'garden', filter: '[tag[plant]]' })
    const { workflow, provider } = world([[search], 'Daily.'], { knowledge, definitions: [definition('wiki-search')] })
    const { id } = await workflow.createAgent('helper')
    expect((await workflow.sendMsgToAgent(id, 'How often?')).message?.content).toBe('Daily.')
    expect(provider.requests[0]!.system).toContain('garden')
    expect(texts(provider.requests[1]!.messages).at(-1)).toContain('Water them daily.')
  })

  test('attached pages are sent with the message, and shown as attachments', async () => {
    const knowledge = createMemoryKnowledgeStore({ workspaces: { garden: [{ title: 'Plan', text: 'Sow in May.' }] } })
    const { workflow, provider } = world(['In May.'], { knowledge })
    const { id } = await workflow.createAgent('helper')
    const wikiTiddlers = [{ workspaceName: 'garden', tiddlerTitle: 'Plan' }]
    await workflow.sendMsgToAgent(id, { text: 'When?', wikiTiddlers })
    expect(texts(provider.requests[0]!.messages)[0]).toContain('Sow in May.')
    expect((await workflow.getMessages(id))[0]).toMatchObject({ content: 'When?', metadata: { wikiTiddlers } })
  })

  test('the shipped shape of a definition, with the history in its place and a window, sends what it says', async () => {
    const shaped: AgentDefinition = {
      id: 'helper',
      config: {
        prompts: [
          { id: 'system', text: 'You help.', children: [{ id: 'tone', text: 'Kindly.' }] },
          { id: 'history', text: 'history' },
          { id: 'end', role: 'user', text: 'Answer in one line.' },
        ],
        plugins: [
          {
            id: 'h',
            toolId: 'fullReplacement',
            fullReplacementParam: { targetId: 'history', sourceType: 'historyOfSession' },
          },
          {
            id: 'p',
            toolId: 'dynamicPosition',
            content: 'And briefly.',
            dynamicPositionParam: { targetId: 'tone', position: 'after' },
          },
        ],
        contextWindowSize: 120_000,
      },
    }
    const { workflow, provider } = world(['One.', 'Two.'], { definitions: [shaped] })
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'a')
    await workflow.sendMsgToAgent(id, 'b')
    expect(provider.requests[1]!.system).toBe('You help.\nKindly.\nAnd briefly.')
    expect(texts(provider.requests[1]!.messages)).toEqual([
      'user: a',
      'assistant: One.',
      'user: Answer in one line.',
      'user: b',
    ])
    expect(short(await workflow.getMessages(id))).toHaveLength(4)
  })

  test('D026 the tokens of the last request are known by their use, exactly if the provider counts', async () => {
    const { workflow } = world([{ text: 'Hello there.', usage: { input: 70, cacheRead: 20 } }], {
      definitions: [{ ...definition(), config: { ...definition().config, contextWindowSize: 100 } }],
    })
    const { id } = await workflow.createAgent('helper')
    expect(await workflow.getTokens(id)).toBeUndefined()
    await workflow.sendMsgToAgent(id, 'Hello, who is there?')
    const tokens = await workflow.getTokens(id)
    expect(tokens).toMatchObject({
      total: 90,
      limit: 100,
      ratio: 0.9,
      level: 'warning',
      reported: true,
      tools: 0,
      toolResults: 0,
    })
    expect(tokens!.system + tokens!.user + tokens!.assistant).toBe(90)
  })
})
