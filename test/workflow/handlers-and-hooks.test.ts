import { describe, expect, test } from 'vitest'
import { definePlugin } from '../../src/plugins/plugin.ts'
import { call, texts } from '../../src/testing/scripted.ts'
import type { AgentHandler } from '../../src/workflow/workflow-contract.ts'
import { definition, listening, short, withTool, world } from './kit.ts'

describe('which handler', () => {
  const naming = (name: string): AgentHandler =>
    async function* () {
      yield { state: 'completed', modified: 0, message: { id: name, agentId: '', role: 'agent', content: name } }
    }
  const handlers = { ofInstance: naming('ofInstance'), ofDefinition: naming('ofDefinition') }

  test.each([
    ['the instance', { handlerId: 'ofDefinition' }, { handlerId: 'ofInstance' }, 'ofInstance'],
    ['the definition', { handlerId: 'ofDefinition' }, {}, 'ofDefinition'],
    ['neither', {}, {}, 'Hello.'],
  ])('D001 %s chooses it', async (_, ofDefinition, ofInstance, answer) => {
    const { workflow } = world(['Hello.'], { definitions: [{ ...definition(), ...ofDefinition }], handlers })
    const { id } = await workflow.createAgent('helper', ofInstance)
    expect((await workflow.sendMsgToAgent(id, 'Hi')).message?.content).toBe(answer)
  })

  test('D001 a handler that is not registered is named when the workflow or the agent is made', async () => {
    const lost = 'wants the handler "ofDefinitoin", which is not registered with createWorkflow({ handlers })'
    const definitions = [{ ...definition(), handlerId: 'ofDefinitoin' }]
    expect(() => world([], { definitions, handlers })).toThrow(
      `definition "helper" ${lost}, did you mean "ofDefinition"?`,
    )
    const { workflow } = world([], { handlers })
    await expect(workflow.createAgent('helper', { handlerId: 'lost' })).rejects.toThrow(
      'wants the handler "lost", which is not registered with createWorkflow({ handlers })',
    )
    expect((await workflow.listAgents()).agents).toEqual([])
  })

  test('D001 a handler that is gone after a restart is named with the next message', async () => {
    const first = world([], { handlers })
    const { id } = await first.workflow.createAgent('helper', { handlerId: 'ofInstance' })
    const { workflow } = first.again({ handlers: {} })
    await expect(workflow.sendMsgToAgent(id, 'Hi')).rejects.toThrow('handler "ofInstance", which is not registered')
  })

  test.each([
    ['null', () => null],
    ['a promise', async () => Promise.reject(new Error('not heard'))],
  ])('a handler that gives %s instead of a generator is told what one is', async (given, handler) => {
    const { workflow, errors } = world([], { handlers: { wrong: handler as never } })
    const { id } = await workflow.createAgent('helper', { handlerId: 'wrong' })
    const { state, message } = await workflow.sendMsgToAgent(id, 'Hi')
    expect(state).toBe('failed')
    expect(message?.content).toContain(`the handler of agent ${id} gave ${given}; a handler is an async function*`)
    expect(errors).toHaveLength(1)
  })

  test('a custom handler runs the engine before and after its own work', async () => {
    const handler: AgentHandler = async function* ({ execute, prompt }) {
      yield* execute({ ...(prompt && { prompt }) })
      yield* execute({ prompt: 'And now shorter.' })
    }
    const { workflow, provider } = world(['A long answer.', 'Short.'], {
      definitions: [{ ...definition(), handlerId: 'twice' }],
      handlers: { twice: handler },
    })
    const { id } = await workflow.createAgent('helper')
    const status = await workflow.sendMsgToAgent(id, 'Say it')
    expect(status).toMatchObject({ state: 'completed', message: { content: 'Short.' } })
    expect(texts(provider.requests[1]!.messages)).toEqual([
      'user: Say it',
      'assistant: A long answer.',
      'user: And now shorter.',
    ])
  })
})

describe('hooks', () => {
  const all = [
    'userMessageReceived',
    'agentStatusChanged',
    'responseUpdate',
    'responseComplete',
    'toolExecuted',
  ] as const

  test('D004 hooks fire in order: the user message, the state, pieces, the answer, executed tools', async () => {
    const heard: string[] = []
    const { workflow } = world([{ text: 'Looking', calls: [call('1', 'look')] }, 'Found it.'], {
      definitions: [definition('look', 'listening')],
      plugins: [withTool('look', () => 'a ball'), listening(heard, ...all)],
    })
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'Find it')
    expect(heard).toEqual([
      'user Find it',
      'status working',
      'update Looking',
      'complete done Looking',
      'executed look true',
      'update Found it',
      'update Found it.',
      'complete done Found it.',
      'status completed',
    ])
  })

  test('D002 each execution has its own hooks and shares no state with the next', async () => {
    const counts: number[] = []
    const counting = definePlugin({
      toolId: 'counting',
      displayName: '',
      description: '',
      register(taps) {
        let count = 0
        taps.tap('responseComplete', () => void counts.push(++count))
      },
    })
    const { workflow } = world(['One.', 'Two.'], { definitions: [definition('counting')], plugins: [counting] })
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'a')
    await workflow.sendMsgToAgent(id, 'b')
    expect(counts).toEqual([1, 1])
  })

  test('D003 two conversations at the same time do not mix', async () => {
    const remembering = definePlugin({
      toolId: 'remembering',
      displayName: '',
      description: '',
      register(taps) {
        taps.tap('userMessageReceived', ({ metadata, content }) => void (metadata.word = content.text))
        taps.tap('processPrompts', (ctx) => {
          ctx.prompts.push({ id: 'word', text: `The word is ${ctx.metadata.word}.` })
        })
      },
    })
    let go = (): void => {}
    const gate = new Promise<void>((resolve) => {
      go = resolve
    })
    const { workflow, provider } = world(
      [() => gate.then(() => [call('1', 'look')]), () => gate.then(() => [call('2', 'look')]), 'done', 'done'],
      { definitions: [definition('remembering', 'look')], plugins: [remembering, withTool('look', () => 'x')] },
    )
    const [one, two] = [await workflow.createAgent('helper'), await workflow.createAgent('helper')]
    const both = [workflow.sendMsgToAgent(one.id, 'apple'), workflow.sendMsgToAgent(two.id, 'pear')]
    setTimeout(go, 20)
    await Promise.all(both)
    const words = provider.requests.map(({ system, messages }) => [
      /word is (\w+)/.exec(system)?.[1],
      texts(messages)[0],
    ])
    expect(words.sort()).toEqual([
      ['apple', 'user: apple'],
      ['apple', 'user: apple'],
      ['pear', 'user: pear'],
      ['pear', 'user: pear'],
    ])
    expect(short(await workflow.getMessages(one.id))[0]).toBe('user: apple')
    expect(short(await workflow.getMessages(two.id))[0]).toBe('user: pear')
  })

  test('D003 a sub-agent has its own id, so its state does not mix with that of its parent', async () => {
    const said = new Map<string, string[]>()
    const keeping = definePlugin({
      toolId: 'keeping',
      displayName: '',
      description: '',
      register(taps) {
        taps.tap('responseComplete', ({ agentFrameworkContext: { agent }, response }) => {
          said.set(agent.id, [...(said.get(agent.id) ?? []), response.content])
          for (const { agentId } of agent.messages) expect(agentId).toBe(agent.id)
        })
      },
    })
    const steps = [[call('1', 'spawn-agent', { task: 'Help' })], 'Helped.', 'Done.']
    const { workflow, errors } = world(steps, {
      definitions: [{ ...definition('spawn-agent', 'keeping'), approval: { 'spawn-agent': { mode: 'auto' } } }],
      plugins: [keeping],
    })
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'Go')
    const [child] = (await workflow.listAgents({ subAgents: true })).agents.filter(({ isSubAgent }) => isSubAgent)
    expect([...said]).toEqual([
      [id, ['', 'Done.']],
      [child!.id, ['Helped.']],
    ])
    expect(errors).toEqual([])
  })

  test('a plugin that throws is reported, and the others continue', async () => {
    const heard: string[] = []
    const broken = definePlugin({
      toolId: 'broken',
      displayName: '',
      description: '',
      register(taps) {
        taps.tap('processPrompts', (ctx) => {
          ctx.prompts.push({ id: 'half', text: 'half done' })
          throw new Error('bad prompt')
        })
        taps.tap('responseComplete', () => {
          throw new Error('bad response')
        })
      },
    })
    const { workflow, provider, errors } = world(['Fine.'], {
      definitions: [definition('broken', 'listening')],
      plugins: [broken, listening(heard, 'responseComplete')],
    })
    const { id } = await workflow.createAgent('helper')
    expect((await workflow.sendMsgToAgent(id, 'Hi')).state).toBe('completed')
    expect(errors.map(({ message }) => message)).toEqual([
      'plugin "broken" failed at processPrompts: bad prompt',
      'plugin "broken" failed at responseComplete: bad response',
    ])
    expect(heard).toEqual(['complete done Fine.'])
    expect(provider.requests[0]!.system).toBe('You help.')
  })

  test('postProcess is a waterfall: each gets what the one before it made of the answer', async () => {
    const seen: string[] = []
    const shouting = (toolId: string, mark: string) =>
      definePlugin({
        toolId,
        displayName: '',
        description: '',
        onPostProcess(ctx) {
          seen.push(ctx.responses[0]!.text)
          return { ...ctx, responses: [{ id: 'r', text: `${ctx.responses[0]!.text}${mark}` }] }
        },
      })
    const { workflow } = world(['Hi'], {
      definitions: [definition('a', 'b')],
      plugins: [shouting('a', '!'), shouting('b', '?')],
    })
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'x')
    expect(seen).toEqual(['Hi', 'Hi!'])
  })

  test('a plugin that is switched off is not there, and one that is unknown is named', async () => {
    const heard: string[] = []
    const { workflow } = world(['Fine.'], {
      definitions: [definition({ toolId: 'listening', enabled: false })],
      plugins: [listening(heard, 'responseComplete')],
    })
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'Hi')
    expect(heard).toEqual([])
    const wrong = world([], { definitions: [definition('wiki-serch')] }).workflow
    await expect(wrong.createAgent('helper')).rejects.toThrow('no plugin "wiki-serch", did you mean "wiki-search"?')
    expect((await wrong.listAgents()).agents).toEqual([])
  })
})

describe('who is next', () => {
  const yielding = (rounds: number, to: 'self' | 'human') =>
    definePlugin({
      toolId: 'yielding',
      displayName: '',
      description: '',
      onResponseComplete({ agentFrameworkContext, yieldToSelf, yieldToHuman }) {
        const said = agentFrameworkContext.agent.messages.filter(({ role }) => role === 'assistant').length
        if (said <= rounds) return to === 'self' ? yieldToSelf() : yieldToHuman()
      },
    })

  test('D005 yielding to self loops, and without a yield the work ends', async () => {
    const { workflow, provider } = world(['one', 'two', 'three'], {
      definitions: [definition('yielding')],
      plugins: [yielding(2, 'self')],
    })
    const { id } = await workflow.createAgent('helper')
    expect(await workflow.sendMsgToAgent(id, 'count')).toMatchObject({
      state: 'completed',
      message: { content: 'three' },
    })
    expect(provider.requests).toHaveLength(3)
    const messages = await workflow.getMessages(id)
    expect(messages.filter(({ hidden }) => hidden).map(({ content }) => content)).toEqual(['Go on.', 'Go on.'])
  })

  test('D005 yielding to human pauses, also after a restart', async () => {
    const options = { definitions: [definition('yielding')], plugins: [yielding(1, 'human')] }
    const first = world(['Which one?'], options)
    const { id } = await first.workflow.createAgent('helper')
    expect((await first.workflow.sendMsgToAgent(id, 'Take it')).state).toBe('input-required')
    const { workflow } = first.again()
    expect((await workflow.getStatus(id)).state).toBe('input-required')
  })

  test.each<[string, unknown, string]>([
    ['another agent', 'agent:b', 'got "agent:b", which does not count; agent:<id> is reserved for later'],
    ['a word that is none', 'Self', 'got "Self", which does not count'],
    ['nothing of the kind', 7, 'got 7, which does not count'],
  ])('D005 %s cannot be next: who said so is reported, and what was said before counts', async (_, to, words) => {
    const slip = definePlugin({
      toolId: 'slip',
      displayName: '',
      description: '',
      register: (taps) =>
        taps.tap('responseComplete', ({ actions }) => void Object.assign(actions, { yieldNextRoundTo: to })),
    })
    const { workflow, errors } = world(['Which one?'], {
      definitions: [definition('yielding', 'slip')],
      plugins: [yielding(1, 'human'), slip],
    })
    const { id } = await workflow.createAgent('helper')
    expect((await workflow.sendMsgToAgent(id, 'Take it')).state).toBe('input-required')
    const problem = 'plugin "slip" failed at responseComplete: actions.yieldNextRoundTo must be "self" or "human", '
    expect(errors.map(({ message }) => message)).toEqual([problem + words])
  })

  test('D005 the same with llmToolSchemas, and with actions that are set later', async () => {
    let kept: object = {}
    const older = definePlugin({
      toolId: 'older',
      displayName: '',
      description: '',
      llmToolSchemas: { roll: { type: 'object', properties: {} } },
      async onResponseComplete({ executeToolCall, actions, toolCall }) {
        if (!toolCall) return
        kept = actions
        Object.assign(actions, { yieldNextRoundTo: 'no one' })
        await executeToolCall('roll', () => 'a four')
      },
    })
    const later = withTool('later', () => JSON.stringify(Object.assign(kept, { yieldNextRoundTo: 'later' })))
    const { workflow, errors } = world([[call('1', 'roll'), call('2', 'later')], 'Four.'], {
      definitions: [definition('older', 'later')],
      plugins: [older, later],
    })
    const { id } = await workflow.createAgent('helper')
    expect((await workflow.sendMsgToAgent(id, 'Roll')).state).toBe('completed')
    const problem = 'actions.yieldNextRoundTo must be "self" or "human", got'
    expect(errors.map(({ message }) => message)).toEqual([
      `plugin "older" failed at responseComplete: ${problem} "no one", which does not count`,
      `${problem} "later", which does not count`,
    ])
  })

  test('D005 the message of a plugin goes to the model with the next round', async () => {
    const telling = definePlugin({
      toolId: 'telling',
      displayName: '',
      description: '',
      register(taps) {
        taps.tap('responseComplete', ({ actions, response }) => {
          if (response.content === 'draft')
            Object.assign(actions, { yieldNextRoundTo: 'self', newUserMessage: 'Make it final.' })
        })
      },
    })
    const { workflow, provider } = world(['draft', 'final'], {
      definitions: [definition('telling')],
      plugins: [telling],
    })
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'write')
    expect(texts(provider.requests[1]!.messages).at(-1)).toBe('user: Make it final.')
  })

  test('D007 maxIterations stops with a message that says so, and the next message continues', async () => {
    const steps = [[call('1', 'look')], [call('2', 'look')], 'Here.']
    const definitions = [{ ...definition('look'), config: { ...definition('look').config, maxIterations: 2 } }]
    const { workflow } = world(steps, { definitions, plugins: [withTool('look', () => 'nothing')] })
    const { id } = await workflow.createAgent('helper')
    const status = await workflow.sendMsgToAgent(id, 'search')
    expect(status).toMatchObject({
      state: 'completed',
      message: { role: 'agent', content: expect.stringContaining('it took 2 rounds') },
    })
    expect((await workflow.sendMsgToAgent(id, 'go on')).message?.content).toBe('Here.')
  })

  test('D030 summary ends the loop with its text, without a further request', async () => {
    const { workflow, provider } = world([[call('1', 'summary', { text: 'It is 42.' })], 'As I said.'], {
      definitions: [definition('summary')],
    })
    const { id } = await workflow.createAgent('helper')
    const status = await workflow.sendMsgToAgent(id, 'What is it?')
    expect(status).toMatchObject({ state: 'completed', message: { content: 'It is 42.' } })
    expect(provider.requests).toHaveLength(1)
    await workflow.sendMsgToAgent(id, 'Sure?')
    // What it said stays said, though the result of the call is never sent.
    expect(texts(provider.requests[1]!.messages)).toEqual(['user: What is it?', 'assistant: It is 42.', 'user: Sure?'])
  })
})
