import { describe, expect, test, vi } from 'vitest'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { call, texts } from '../../src/testing/scripted.ts'
import type { AgentHandler } from '../../src/workflow/workflow-contract.ts'
import { definition, short, withTool, world } from './kit.ts'

const ask = (id = 'q1') =>
  call(id, 'ask-question', { question: 'Which colour?', options: [{ label: 'red' }, { label: 'blue' }] })

describe('questions', () => {
  test('D032 a question pauses with its options, and the answer is the result of the same turn', async () => {
    const { workflow, provider } = world([[ask()], 'Blue it is.'], { definitions: [definition('ask-question')] })
    const { id } = await workflow.createAgent('helper')
    expect((await workflow.sendMsgToAgent(id, 'Paint')).state).toBe('input-required')
    expect(await workflow.pending(id)).toEqual([
      expect.objectContaining({
        callId: 'q1',
        isQuestion: true,
        name: 'ask-question',
        input: expect.objectContaining({ question: 'Which colour?' }),
      }),
    ])
    const status = await workflow.answerQuestion(id, 'q1', 'blue')
    expect(status).toMatchObject({ state: 'completed', message: { content: 'Blue it is.' } })
    expect(texts(provider.requests[1]!.messages)).toEqual([
      'user: Paint',
      expect.stringContaining('→ask-question'),
      expect.stringMatching(/^user: ←.*blue/s),
    ])
    expect(await workflow.pending(id)).toEqual([])
    const result = (await workflow.getMessages(id)).find(({ role }) => role === 'tool')
    expect(result).toMatchObject({ duration: 3, metadata: { askQuestionAnswered: true } })
  })

  test('D032 it survives a restart, and is answered in another process', async () => {
    const first = world([[ask()]], { definitions: [definition('ask-question')] })
    const { id } = await first.workflow.createAgent('helper')
    await first.workflow.sendMsgToAgent(id, 'Paint')
    await first.workflow.close()
    const second = first.again()
    second.provider.push('Red then.')
    await second.workflow.start()
    expect(second.provider.requests).toEqual([]) // there is no answer yet
    expect((await second.workflow.answerQuestion(id, 'q1', 'red')).message?.content).toBe('Red then.')
  })

  test('D032 of two processes that answer at once, the second gets an error', async () => {
    const one = world([[ask()], 'Thanks.'], { definitions: [definition('ask-question')] })
    const two = one.again()
    two.provider.push('Thanks.')
    const { id } = await one.workflow.createAgent('helper')
    await one.workflow.sendMsgToAgent(id, 'Paint')
    expect(await two.workflow.pending(id)).toHaveLength(1)
    const both = await Promise.allSettled([
      one.workflow.answerQuestion(id, 'q1', 'red'),
      two.workflow.answerQuestion(id, 'q1', 'blue'),
    ])
    const [lost, ...more] = both.flatMap((each) => (each.status === 'rejected' ? [String(each.reason)] : []))
    expect(more).toEqual([])
    const taken = (await one.workflow.getMessages(id)).find(({ role }) => role === 'tool')!.content
    expect(lost).toContain(`call "q1" was answered before, with "${taken.includes('red') ? 'red' : 'blue'}"`)
  })

  test('a question of a cancelled agent cannot be answered', async () => {
    const { workflow } = world([[ask()], 'Hello again.'], { definitions: [definition('ask-question')] })
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'Paint')
    await workflow.cancelAgent(id)
    expect(await workflow.pending(id)).toEqual([])
    await expect(workflow.answerQuestion(id, 'q1', 'red')).rejects.toThrow('none waits')
    expect((await workflow.sendMsgToAgent(id, 'Hi')).message?.content).toBe('Hello again.')
  })

  test('a message in place of an answer skips the question', async () => {
    const { workflow, provider } = world([[ask()], 'Fine, nothing.'], { definitions: [definition('ask-question')] })
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'Paint')
    expect((await workflow.sendMsgToAgent(id, 'Never mind')).state).toBe('completed')
    expect(texts(provider.requests[1]!.messages).slice(-2)).toEqual([
      'user: ←Skipped: the user sent a new message before this call ended. Its effects may or may not have happened; check before repeating it.',
      'user: Never mind',
    ])
    await expect(workflow.answerQuestion(id, 'q1', 'red')).rejects.toThrow(
      'no call "q1" that waits for an answer; none waits',
    )
  })
})

describe('permissions', () => {
  const tools = () => {
    const done: unknown[] = []
    const paint = withTool('paint', (input) => `painted ${done.push(input)}`, {
      effects: ['fs.write'],
      replay: 'opaque',
    })
    return { done, plugins: [paint], definitions: [definition({ toolId: 'paint', approval: { mode: 'confirm' } })] }
  }

  test('D020 a confirmation waits; allowed it runs, once', async () => {
    const { done, ...options } = tools()
    const { workflow } = world([[call('1', 'paint', { wall: 'north' })], 'Painted.'], options)
    const { id } = await workflow.createAgent('helper')
    expect((await workflow.sendMsgToAgent(id, 'Paint')).state).toBe('input-required')
    expect(done).toEqual([])
    expect(await workflow.pending()).toEqual([
      expect.objectContaining({ agentId: id, callId: '1', isQuestion: false, name: 'paint' }),
    ])
    expect((await workflow.resolveApproval(id, '1', 'allow')).state).toBe('completed')
    expect(done).toEqual([{ wall: 'north' }])
  })

  test('of several edits in a call, a person allows some; the tool gets each decision, the log the input as it was', async () => {
    const done: unknown[] = []
    const paint = withTool('paint', (input) => `painted ${done.push(input)}`, {
      ...{ effects: ['fs.write'], replay: 'opaque' },
      countEdits: ({ edits }: { edits?: unknown[] }) => edits?.length ?? 0,
    })
    const definitions = [definition({ toolId: 'paint', approval: { mode: 'confirm' } })]
    const input = { edits: ['north', 'south', 'west'] }
    const { workflow } = world([[call('1', 'paint', input)], 'Painted.'], { plugins: [paint], definitions })
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'Paint')
    const allow = { decision: 'allow' } as const
    await expect(workflow.resolveApproval(id, '1', 'allow', { edits: [allow] })).rejects.toThrow('a list of 3')
    expect(done).toEqual([])
    expect(await workflow.pending(id)).toHaveLength(1)
    const edits = [allow, { decision: 'deny', note: 'wet' } as const, allow]
    expect((await workflow.resolveApproval(id, '1', 'allow', { edits })).state).toBe('completed')
    expect(done).toEqual([{ ...input, _outcomes: edits }])
  })

  test('D020 of two decisions at once, the second gets an error', async () => {
    const first = world([[call('1', 'paint')], 'Fine.'], {
      definitions: [definition({ toolId: 'paint', approval: { mode: 'confirm' } })],
      plugins: [withTool('paint', () => 'painted')],
    })
    const second = first.again()
    const { id } = await first.workflow.createAgent('helper')
    await first.workflow.sendMsgToAgent(id, 'Paint')
    await second.workflow.pending(id)
    const both = await Promise.allSettled([
      first.workflow.resolveApproval(id, '1', 'deny'),
      second.workflow.resolveApproval(id, '1', 'allow'),
    ])
    const lost = both.flatMap((each) => (each.status === 'rejected' ? [String(each.reason)] : []))
    expect(lost).toEqual([expect.stringContaining('was answered before')])
  })

  test('D020 a denied call does not run, and the model is told why', async () => {
    const { done, ...options } = tools()
    const { workflow, provider } = world([[call('1', 'paint')], 'Then not.'], options)
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'Paint')
    expect((await workflow.resolveApproval(id, '1', 'deny', { note: 'wrong wall' })).message?.content).toBe('Then not.')
    expect(done).toEqual([])
    expect(texts(provider.requests[1]!.messages).at(-1)).toMatch(/Blocked: .*Denied/)
  })

  test('D020 a cancelled call is denied and never runs', async () => {
    const { done, ...options } = tools()
    const { workflow } = world([[call('1', 'paint')], 'Hello again.'], options)
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'Paint')
    await workflow.cancelAgent(id)
    expect((await workflow.getStatus(id)).state).toBe('canceled')
    expect(await workflow.pending(id)).toEqual([])
    await workflow.start()
    expect((await workflow.getStatus(id)).state).toBe('canceled')
    expect((await workflow.sendMsgToAgent(id, 'Hi')).state).toBe('completed')
    expect(done).toEqual([])
  })

  test('D020 with an interactor a person is asked, and after 120 s the call is denied', async () => {
    const clock = fakeClock(0)
    const { done, ...options } = tools()
    const asked: string[] = []
    const { workflow } = world([[call('1', 'paint')], 'No one was there.'], {
      ...options,
      clock,
      authority: { interactors: [({ payload }) => void asked.push(String(payload.toolId))] },
    })
    const { id } = await workflow.createAgent('helper')
    const sending = workflow.sendMsgToAgent(id, 'Paint')
    await vi.waitFor(() => expect(asked).toEqual(['paint']))
    await clock.advance(119_000)
    expect(await workflow.getStatus(id)).toMatchObject({ state: 'working' })
    await clock.advance(2_000)
    expect((await sending).message?.content).toBe('No one was there.')
    expect(done).toEqual([])
  })

  test('D018 D021 each call of an answer is decided separately, and a denial stays although the tool is set to auto', async () => {
    const done: unknown[] = []
    const paint = withTool('paint', ({ wall }) => `painted ${done.push(wall)}`, {
      effects: ['fs.write'],
      isConcurrencySafe: true,
    })
    const { workflow } = world(
      [[call('1', 'paint', { wall: 'north' }), call('2', 'paint', { wall: 'SOUTH' })], 'Half done.'],
      {
        plugins: [paint],
        definitions: [definition({ toolId: 'paint', approval: { mode: 'auto', denyPatterns: ['south'] } })],
      },
    )
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'Paint')
    expect(done).toEqual(['north'])
  })

  test('D019 an invalid pattern is refused before anything runs', async () => {
    const { workflow } = world(['x'], {
      plugins: tools().plugins,
      definitions: [definition({ toolId: 'paint', approval: { denyPatterns: ['('] } })],
    })
    await expect(workflow.createAgent('helper')).rejects.toThrow(/paint.*denyPatterns/)
    expect((await workflow.listAgents()).agents).toEqual([])
    await expect(workflow.updateSettings({ approval: { paint: { allowPatterns: ['['] } } })).rejects.toThrow(
      /paint.*allowPatterns/,
    )
    await expect(workflow.updateSettings({ retry: { maxAttempts: -1 } })).rejects.toThrow(/maxAttempts/)
    expect(workflow.settings).toEqual({})
  })

  test('D048 settings take effect with the next call: approvals, and time limits', async () => {
    const clock = fakeClock(0)
    const done: unknown[] = []
    const slow = withTool('slow', () => new Promise((resolve) => clock.timer(5_000, () => resolve('late'))))
    const paint = withTool('paint', ({ wall }) => `painted ${done.push(wall)}`, { effects: ['fs.write'] })
    const { workflow, provider } = world(
      [
        [call('1', 'paint', { wall: 1 })],
        'ok',
        [call('2', 'paint', { wall: 2 })],
        'no',
        [call('3', 'slow')],
        'too slow',
      ],
      { clock, plugins: [paint, slow], definitions: [definition('paint', 'slow')] },
    )
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'Paint')
    await workflow.updateSettings({ approval: { paint: { denyPatterns: ['"wall":2'] }, slow: { timeoutMs: 1_000 } } })
    await workflow.sendMsgToAgent(id, 'Again')
    expect(done).toEqual([1])
    const sending = workflow.sendMsgToAgent(id, 'Slowly')
    await clock.advance(1_500)
    await sending
    expect(texts(provider.requests.at(-1)!.messages).at(-1)).toMatch(/1.?000 ms|1 s/)
    await expect(workflow.updateSettings({ approval: { paint: { denyPatterns: ['('] } } })).rejects.toThrow(
      /denyPatterns/,
    )
    expect(workflow.settings.approval?.paint).toEqual({ denyPatterns: ['"wall":2'] })
  })

  test('D048 settings of retries apply to the next request', async () => {
    const clock = fakeClock(0)
    const down = Object.assign(new Error('overloaded'), { status: 503 })
    const { workflow, provider } = world([down, down, 'Here.'], { clock })
    const { id } = await workflow.createAgent('helper')
    expect((await workflow.sendMsgToAgent(id, 'a')).state).toBe('failed')
    expect(provider.requests).toHaveLength(1)
    await workflow.updateSettings({ retry: { maxAttempts: 2, initialDelayMs: 10 } })
    const sending = workflow.sendMsgToAgent(id, 'b')
    await clock.advance(60_000)
    expect((await sending).message?.content).toBe('Here.')
  })
})

describe('stopping', () => {
  test('cancel stops an answer; its text so far stays, for people and for the model', async () => {
    let stop = (): void => {}
    const { workflow, provider } = world([
      [{ type: 'start' }, { type: 'text', delta: 'Once upon' }, { type: 'text', delta: ' a time' }],
      'Yes?',
    ])
    const { id } = await workflow.createAgent('helper')
    workflow.subscribe(id, (update) => {
      if (update.type === 'message' && update.message.metadata?.isComplete === false) stop()
    })
    stop = () => void workflow.cancelAgent(id)
    expect((await workflow.sendMsgToAgent(id, 'Tell me')).state).toBe('canceled')
    expect(short(await workflow.getMessages(id))).toEqual([
      'user: Tell me',
      expect.stringMatching(/^assistant: Once upon/),
    ])
    await workflow.sendMsgToAgent(id, 'Hello?')
    expect(texts(provider.requests[1]!.messages)).toEqual([
      'user: Tell me',
      expect.stringMatching(/^assistant: Once upon.*interrupted/s),
      'user: Hello?',
    ])
  })

  test('a message that is cancelled before its run begins is logged, and no model is called', async () => {
    let go = (): void => {}
    const gate = new Promise<void>((resolve) => {
      go = resolve
    })
    const slow: AgentHandler = async function* ({ execute, prompt }) {
      await gate
      yield* execute({ ...(prompt && { prompt }) })
    }
    const { workflow, provider } = world(['Never said.'], { handlers: { basicPromptConcatHandler: slow } })
    const { id } = await workflow.createAgent('helper')
    const sending = workflow.sendMsgToAgent(id, 'Wait')
    await new Promise((resolve) => setTimeout(resolve, 5))
    const cancelling = workflow.cancelAgent(id)
    await new Promise((resolve) => setTimeout(resolve, 5))
    go()
    await cancelling
    expect((await sending).state).toBe('canceled')
    expect(provider.requests).toEqual([])
    expect(short(await workflow.getMessages(id))).toEqual(['user: Wait'])
  })

  test('the messages of an agent can be read after its definition was removed', async () => {
    const first = world(['Bye.'])
    const { id } = await first.workflow.createAgent('helper')
    await first.workflow.sendMsgToAgent(id, 'Hi')
    const { workflow } = first.again({ definitions: [] })
    expect(short(await workflow.getMessages(id))).toEqual(['user: Hi', 'assistant: Bye.'])
    await expect(workflow.sendMsgToAgent(id, 'Hi')).rejects.toThrow(
      'there is no definition "helper"; pass it to createWorkflow({ definitions })',
    )
  })

  test('an agent that waits for a permission can be closed after its definition was removed', async () => {
    const first = world([[call('1', 'paint')]], {
      definitions: [definition({ toolId: 'paint', approval: { mode: 'confirm' } })],
      plugins: [withTool('paint', () => 'painted')],
    })
    const { id } = await first.workflow.createAgent('helper')
    expect((await first.workflow.sendMsgToAgent(id, 'Paint')).state).toBe('input-required')
    await first.workflow.close()
    const { workflow } = first.again({ definitions: [] })
    await workflow.closeAgent(id)
    expect(await workflow.getAgent(id)).toMatchObject({ closed: true })
    expect((await workflow.listAgents()).agents).toEqual([])
  })

  test('a closed agent accepts no messages, is not listed, and its messages stay', async () => {
    const { workflow } = world(['Bye.'])
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'Hi')
    await workflow.closeAgent(id)
    await workflow.closeAgent(id)
    await expect(workflow.sendMsgToAgent(id, 'Hi')).rejects.toThrow(`agent "${id}" is closed`)
    expect((await workflow.listAgents()).agents).toEqual([])
    expect((await workflow.listAgents({ closed: true })).agents).toHaveLength(1)
    expect(short(await workflow.getMessages(id))).toEqual(['user: Hi', 'assistant: Bye.'])
  })

  test('a message during work is delivered in the same run', async () => {
    const { workflow, provider } = world(
      [
        async () => {
          void workflow.sendMsgToAgent(agent.id, 'And quickly')
          await new Promise((resolve) => setTimeout(resolve, 10))
          return [call('1', 'look')]
        },
        'Done.',
      ],
      { definitions: [definition('look')], plugins: [withTool('look', () => 'x')] },
    )
    const agent = await workflow.createAgent('helper')
    expect((await workflow.sendMsgToAgent(agent.id, 'Go')).message?.content).toBe('Done.')
    expect(texts(provider.requests[1]!.messages).at(-1)).toBe('user: And quickly')
  })

  test('invalid calls get an error', async () => {
    const { workflow } = world([])
    await expect(workflow.sendMsgToAgent('agent-none', 'Hi')).rejects.toThrow('there is no agent "agent-none"')
    await expect(workflow.createAgent('helpr')).rejects.toThrow('no definition "helpr", did you mean "helper"?')
    await expect(workflow.createAgent('helper', { id: '../x' })).rejects.toThrow('an agent\'s id must be "agent-"')
    const { id } = await workflow.createAgent('helper')
    await expect(workflow.sendMsgToAgent(id, 7 as never)).rejects.toThrow('sendMsgToAgent takes a text')
  })
})
