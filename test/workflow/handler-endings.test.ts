import { describe, expect, test, vi } from 'vitest'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { call, texts } from '../../src/testing/scripted.ts'
import type { WorkflowUpdate } from '../../src/workflow/listeners.ts'
import type { AgentHandler } from '../../src/workflow/workflow-contract.ts'
import { definition, short, withTool, world } from './kit.ts'

const throwing: AgentHandler = async function* () {
  yield { state: 'working', modified: 0 }
  throw new RangeError('handler broke')
}
const throwingAfter: AgentHandler = async function* ({ execute, prompt }) {
  yield* execute({ ...(prompt && { prompt }) })
  throw new Error('after broke')
}
const answering: AgentHandler = async function* ({ agent }) {
  const message = { id: 'm', agentId: agent.id, role: 'assistant', content: 'mine' } as const
  yield { state: 'completed', modified: 0, message }
}
const handingOver: AgentHandler = async function* ({ execute, prompt }) {
  yield* execute({ ...(prompt && { prompt }) })
  yield { state: 'input-required', modified: 0 }
}
const silent: AgentHandler = async function* () {}
const handlers = { throwing, throwingAfter, answering, handingOver, silent }

async function agentWith(handlerId: string, steps: Parameters<typeof world>[0] = [], more: object = {}) {
  const made = world(steps, { handlers, ...more })
  const { id } = await made.workflow.createAgent('helper', { handlerId })
  return { ...made, id }
}

const states = (updates: readonly WorkflowUpdate[]): string[] =>
  updates.flatMap((one) => (one.type === 'status' ? [one.status.state] : []))
const shown = (updates: readonly WorkflowUpdate[]): string[] =>
  updates.flatMap((one) => (one.type === 'message' ? short([one.message]) : []))

describe('a handler that throws', () => {
  test('D042 before it executes anything loses neither the message nor the error', async () => {
    const made = await agentWith('throwing')
    const { workflow, id, updates, errors } = made
    const said = ['user: IMPORTANT', 'error/1: handler broke']
    expect(await workflow.sendMsgToAgent(id, 'IMPORTANT')).toMatchObject({
      state: 'failed',
      message: { role: 'error', metadata: { errorDetail: { name: 'RangeError', message: 'handler broke' } } },
    })
    expect(short(await workflow.getMessages(id))).toEqual(said)
    expect(shown(updates)).toEqual(said)
    expect(states(updates)).toEqual(['failed'])
    expect(errors[0]).toMatchObject({
      message: `the handler of agent ${id} failed`,
      cause: { message: 'handler broke' },
    })
    const again = made.again().workflow
    await again.start()
    expect((await again.getStatus(id)).state).toBe('failed')
    expect(short(await again.getMessages(id))).toEqual(said)
  })

  test('D042 after it executed has failed, with any result of the engine', async () => {
    const made = await agentWith('throwingAfter', ['Hello.'])
    const { workflow, id, updates } = made
    expect((await workflow.sendMsgToAgent(id, 'Hi')).state).toBe('failed')
    expect(short(await workflow.getMessages(id))).toEqual(['user: Hi', 'assistant: Hello.', 'error/1: after broke'])
    expect(states(updates)).toEqual(['working', 'completed', 'failed'])
    expect((await made.again().workflow.getStatus(id)).state).toBe('failed')
  })

  test('D042 because there is no engine to execute with loses nothing either', async () => {
    const provider = (): never => {
      throw new Error('no such model')
    }
    const { workflow } = world([], { provider })
    const { id } = await workflow.createAgent('helper')
    expect((await workflow.sendMsgToAgent(id, 'Hi')).state).toBe('failed')
    expect(short(await workflow.getMessages(id))).toEqual(['user: Hi', 'error/1: no such model'])
  })

  test('D042 with an empty prompt keeps the message, and shows each message once', async () => {
    const forgetful: AgentHandler = ({ execute }) => execute()
    const made = await agentWith('forgetful', [], { handlers: { forgetful } })
    const { workflow, id, updates } = made
    expect((await workflow.sendMsgToAgent(id, 'Hi')).state).toBe('failed')
    const said = ['user: Hi', expect.stringContaining('error/1: Nothing to do')]
    expect(short(await workflow.getMessages(id))).toEqual(said)
    const errors = updates.flatMap((one) => (one.type === 'message' && one.message.role === 'error' ? [one] : []))
    expect(new Set(errors.map(({ message }) => message.id)).size).toBe(1)
    expect((await made.again().workflow.getStatus(id)).state).toBe('failed')
  })

  test('because it was cancelled was cancelled, and has not failed', async () => {
    const begun = Promise.withResolvers<void>()
    const heeding: AgentHandler = async function* ({ isCancelled }) {
      begun.resolve()
      await vi.waitFor(() => expect(isCancelled()).toBe(true))
      yield* []
      throw new Error('stopped')
    }
    const { workflow, id, errors } = await agentWith('heeding', [], { handlers: { heeding } })
    const sent = workflow.sendMsgToAgent(id, 'Hi')
    await begun.promise
    await workflow.cancelAgent(id)
    expect((await sent).state).toBe('canceled')
    expect(short(await workflow.getMessages(id))).toEqual(['user: Hi'])
    expect(errors).toEqual([])
  })

  test('an unknown state is such an error', async () => {
    const wrong = async function* () {
      yield { state: 'done', modified: 0 }
    } as unknown as AgentHandler
    const { workflow, id } = await agentWith('wrong', [], { handlers: { wrong } })
    const { state, message } = await workflow.sendMsgToAgent(id, 'Hi')
    expect(state).toBe('failed')
    expect(message?.content).toContain(
      'yielded the state "done"; yield { state, modified, message? } with one of submitted,',
    )
  })
})

describe('a handler that answers by itself', () => {
  test('has the message and its answer kept and shown, also after a restart', async () => {
    const made = await agentWith('answering')
    const { workflow, id, updates } = made
    expect(await workflow.sendMsgToAgent(id, 'Hi')).toMatchObject({ state: 'completed', message: { content: 'mine' } })
    expect(short(await workflow.getMessages(id))).toEqual(['user: Hi', 'assistant: mine'])
    expect(shown(updates)).toEqual(['user: Hi', 'assistant: mine'])
    expect(states(updates)).toEqual(['completed'])
    const again = made.again().workflow
    await again.start()
    expect(await again.getStatus(id)).toMatchObject({ state: 'completed', message: { content: 'mine' } })
    expect(short(await again.getMessages(id))).toEqual(['user: Hi', 'assistant: mine'])
  })

  test('under the same id is logged each time, for the model too', async () => {
    const first = await agentWith('answering')
    const { workflow, id } = first
    await workflow.sendMsgToAgent(id, 'One')
    await workflow.sendMsgToAgent(id, 'Two')
    await workflow.close()
    const { workflow: later, provider } = first.again({
      handlers: { ...handlers, answering: ({ execute, prompt }) => execute({ ...(prompt && { prompt }) }) },
    })
    provider.push('Three it is.')
    await later.sendMsgToAgent(id, 'Three')
    expect(texts(provider.requests[0]!.messages)).toEqual([
      'user: One',
      'assistant: mine',
      'user: Two',
      'assistant: mine',
      'user: Three',
    ])
  })

  test('while a call waits for a person leaves the call to wait', async () => {
    let isFirst = true
    const sometimes: AgentHandler = async function* (context) {
      yield* isFirst ? handlers.handingOver(context) : answering(context)
      isFirst = false
    }
    const { workflow, id } = await agentWith('sometimes', [[call('1', 'ask-question', { question: 'Which?' })]], {
      handlers: { sometimes },
      definitions: [definition('ask-question')],
    })
    await workflow.sendMsgToAgent(id, 'Take one')
    await workflow.sendMsgToAgent(id, 'Hm')
    expect(short(await workflow.getMessages(id)).slice(-2)).toEqual(['user: Hm', 'assistant/0: mine'])
    expect(await workflow.pending(id)).toMatchObject([{ callId: '1' }])
  })

  test('with nothing keeps the message', async () => {
    const { workflow, id } = await agentWith('silent')
    expect((await workflow.sendMsgToAgent(id, 'Hi')).state).toBe('completed')
    expect(short(await workflow.getMessages(id))).toEqual(['user: Hi'])
  })
})

describe('the last state of a handler', () => {
  test('counts over that of the engine: for the sender, for readers and listeners, and after a restart', async () => {
    const made = await agentWith('handingOver', ['Which one?'])
    const { workflow, id, updates } = made
    expect((await workflow.sendMsgToAgent(id, 'Take it')).state).toBe('input-required')
    expect(await workflow.getStatus(id)).toMatchObject({
      state: 'input-required',
      message: { content: 'Which one?' },
    })
    expect(states(updates).at(-1)).toBe('input-required')
    const again = made.again().workflow
    await again.start()
    expect((await again.getStatus(id)).state).toBe('input-required')
  })

  test('does not count over a cancellation', async () => {
    const reached = Promise.withResolvers<void>()
    const { workflow, id } = await agentWith('handingOver', [
      (_, signal) => {
        reached.resolve()
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      },
    ])
    const sent = workflow.sendMsgToAgent(id, 'Take it')
    await reached.promise
    await workflow.cancelAgent(id)
    expect((await sent).state).toBe('canceled')
    expect((await workflow.getStatus(id)).state).toBe('canceled')
  })

  test('after work that came to its limit, what a handler did by itself is not done again', async () => {
    let isFirst = true
    let calls = 0
    const limited: AgentHandler = async function* ({ execute, prompt }) {
      calls++
      if (isFirst) yield* execute({ ...(prompt && { prompt }) })
      isFirst = false
    }
    const definitions = [{ ...definition('look'), config: { ...definition('look').config, maxIterations: 1 } }]
    const plugins = [withTool('look', () => 'x')]
    const more = { handlers: { limited }, definitions, plugins, clock: fakeClock(0) }
    const { workflow, id } = await agentWith('limited', [[call('1', 'look')]], more)
    await workflow.sendMsgToAgent(id, 'go')
    const before = calls
    await workflow.sendMsgToAgent(id, 'and now')
    expect(calls - before).toBe(1)
  })
})
