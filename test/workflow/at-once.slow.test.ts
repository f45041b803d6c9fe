import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { LogEntry } from '../../src/core/log.ts'
import type { SessionStore } from '../../src/core/store.ts'
import { createMemoryStore } from '../../src/sessions/memory-store.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { call, type Step, texts } from '../../src/testing/scripted.ts'
import type { AgentHandler } from '../../src/workflow/workflow-contract.ts'
import { definition, short, type World, withTool, world } from './kit.ts'

const unhandled: unknown[] = []
const remember = (reason: unknown): void => void unhandled.push(reason)
beforeEach(() => void process.on('unhandledRejection', remember))
afterEach(async () => {
  await new Promise((resolve) => setTimeout(resolve, 5))
  process.off('unhandledRejection', remember)
  expect(unhandled.splice(0)).toEqual([])
})

/** A model that answers whatever it is asked, for as long as it is asked. */
const always = (n: number, answer: Step = 'Yes.'): Step[] => Array.from({ length: n }, () => answer)
const userWords = (entries: readonly LogEntry[]): string[] =>
  entries.flatMap((entry) =>
    entry.type === 'turn' && entry.turn.role === 'user'
      ? entry.turn.content.flatMap((block) => (block.type === 'text' ? [block.text] : []))
      : [],
  )
const runsIn = (entries: readonly LogEntry[]): string =>
  entries.flatMap(({ type }) => (type === 'run_started' ? '(' : type === 'run_ended' ? ')' : [])).join('')
/** A model call that says when it has begun, and waits. */
function held(answer: Step = 'Done.'): { step: Step; begun: Promise<void>; go: () => void } {
  const begun = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const step: Step = async (_, signal) => {
    begun.resolve()
    await Promise.race([
      gate.promise,
      new Promise((_, no) => signal.addEventListener('abort', () => no(signal.reason))),
    ])
    return answer
  }
  return { step, begun: begun.promise, go: gate.resolve }
}

describe('many messages at once', () => {
  test('to one agent: each is in its log once, and there is one run at a time', async () => {
    const { workflow, log } = world(always(60))
    const { id } = await workflow.createAgent('helper')
    const words = Array.from({ length: 30 }, (_, i) => `m${i}`)
    const sending: Promise<unknown>[] = []
    for (const [i, word] of words.entries()) {
      sending.push(workflow.sendMsgToAgent(id, word))
      if (i % 3 === 0) await pause(i % 4)
    }
    const ended = (await Promise.all(sending)) as { state: string }[]
    expect(new Set(ended.map(({ state }) => state))).toEqual(new Set(['completed']))
    const entries = await log(id)
    expect(userWords(entries).sort()).toEqual([...words].sort())
    expect(runsIn(entries)).toMatch(/^(\(\))+$/)
    expect(
      short(await workflow.getMessages(id))
        .filter((text) => text.startsWith('user'))
        .join(),
    ).toContain('m29')
  })

  test('to many agents: each receives its own', async () => {
    const { workflow, log } = world(always(60))
    const agents = await Promise.all(Array.from({ length: 20 }, () => workflow.createAgent('helper')))
    await Promise.all(
      agents.flatMap(({ id }) => [workflow.sendMsgToAgent(id, `a ${id}`), workflow.sendMsgToAgent(id, `b ${id}`)]),
    )
    for (const { id } of agents) expect(userWords(await log(id)).sort()).toEqual([`a ${id}`, `b ${id}`])
  })

  test('one that comes as the run is ending is answered', async () => {
    const { workflow, log, provider } = world(always(10))
    const { id } = await workflow.createAgent('helper')
    let late: Promise<unknown> | undefined
    workflow.subscribe(id, (update) => {
      // The run is over for the log, and not yet for the one who waits for it.
      if (update.type === 'status' && update.status.state === 'completed') late ??= workflow.sendMsgToAgent(id, 'late')
    })
    await workflow.sendMsgToAgent(id, 'early')
    expect(await late).toMatchObject({ state: 'completed' })
    expect(userWords(await log(id))).toEqual(['early', 'late'])
    expect(texts(provider.requests.at(-1)!.messages).at(-1)).toBe('user: late')
  })

  test('one that comes while a handler does something else is delivered after it', async () => {
    const gate = Promise.withResolvers<void>()
    const handler: AgentHandler = async function* ({ execute, prompt }) {
      if (prompt) await gate.promise
      yield* execute({ ...(prompt && { prompt }) })
      if (prompt) await gate.promise
    }
    const { workflow, log } = world(always(5), { handlers: { basicPromptConcatHandler: handler } })
    const { id } = await workflow.createAgent('helper')
    const first = workflow.sendMsgToAgent(id, 'first')
    await pause(2)
    const second = workflow.sendMsgToAgent(id, 'second')
    await pause(2)
    gate.resolve()
    expect([(await first).state, (await second).state]).toEqual(['completed', 'completed'])
    expect(userWords(await log(id)).sort()).toEqual(['first', 'second'])
  })

  test('one that comes while a run reaches its last round begins another one', async () => {
    const one = held([call('1', 'look')])
    const definitions = [{ ...definition('look'), config: { ...definition('look').config, maxIterations: 1 } }]
    const { workflow, log } = world([one.step, 'Heard.'], { definitions, plugins: [withTool('look', () => 'x')] })
    const { id } = await workflow.createAgent('helper')
    const first = workflow.sendMsgToAgent(id, 'first')
    await one.begun
    const second = workflow.sendMsgToAgent(id, 'second')
    await vi.waitFor(async () => expect((await log(id)).some(({ type }) => type === 'input')).toBe(true))
    one.go()
    await Promise.all([first, second])
    expect(userWords(await log(id))).toEqual(['first', 'second'])
    expect((await workflow.getStatus(id)).message?.content).toBe('Heard.')
  })
})

describe('stopping at the same time', () => {
  test('a message to a run that is cancelled stays visible, once', async () => {
    const one = held()
    const { workflow, log, provider } = world([one.step, 'Hello again.'])
    const { id } = await workflow.createAgent('helper')
    const first = workflow.sendMsgToAgent(id, 'first')
    await one.begun
    const second = workflow.sendMsgToAgent(id, 'second')
    await vi.waitFor(async () => expect((await log(id)).some(({ type }) => type === 'input')).toBe(true))
    await Promise.all([workflow.cancelAgent(id), workflow.cancelAgent(id)])
    expect([(await first).state, (await second).state]).toEqual(['canceled', 'canceled'])
    expect(short(await workflow.getMessages(id))).toEqual(['user: first', 'user: second'])
    expect((await workflow.getStatus(id)).state).toBe('canceled')
    await workflow.sendMsgToAgent(id, 'third')
    expect(texts(provider.requests.at(-1)!.messages).join()).toMatch(/first.*second.*third/s)
    expect(userWords(await log(id))).toEqual(['first', 'second', 'third'])
  })

  test('a message during the cancellation of a waiting agent is not lost, and no sender gets a busy error', async () => {
    const ask = call('q', 'ask-question', { question: 'Which?' })
    for (let delay = 0; delay < 6; delay++) {
      const { workflow, log } = world([[ask], ...always(4)], { definitions: [definition('ask-question')] })
      const { id } = await workflow.createAgent('helper')
      await workflow.sendMsgToAgent(id, 'Go')
      const cancelling = workflow.cancelAgent(id)
      for (let i = 0; i < delay; i++) await null
      const sending = workflow.sendMsgToAgent(id, 'Never mind')
      await cancelling
      expect(['completed', 'canceled']).toContain((await sending).state)
      expect(userWords(await log(id))).toEqual(['Go', 'Never mind'])
    }
  })

  test('closing an agent at work stops it; later messages are refused, and earlier ones are kept', async () => {
    const one = held()
    const { workflow, log, provider } = world([one.step, ...always(5)])
    const { id } = await workflow.createAgent('helper')
    const first = workflow.sendMsgToAgent(id, 'first')
    await one.begun
    const closing = [workflow.closeAgent(id), workflow.closeAgent(id)]
    const late = Promise.allSettled([1, 2, 3].map((n) => workflow.sendMsgToAgent(id, `late ${n}`)))
    await Promise.all(closing)
    expect((await first).state).toBe('canceled')
    for (const one of await late)
      expect(one).toMatchObject({
        status: 'rejected',
        reason: { message: `agent "${id}" is closed; create another one` },
      })
    expect(userWords(await log(id))).toEqual(['first'])
    expect(provider.requests).toHaveLength(1)
    expect((await log(id)).filter((entry) => entry.type === 'state' && entry.owner === 'workflow:agent')).toHaveLength(
      2,
    )
  })

  test('an agent that is deleted at work does not exist any more, and no call hangs', async () => {
    const one = held()
    const { workflow, store } = world([one.step])
    const { id } = await workflow.createAgent('helper')
    const sending = workflow.sendMsgToAgent(id, 'first')
    await one.begun
    await Promise.allSettled([workflow.deleteAgent(id), workflow.deleteAgent(id), workflow.cancelAgent(id)])
    expect((await sending).state).toBe('canceled')
    expect((await store.list()).sessions.filter((one) => one.id.startsWith('agent-'))).toEqual([])
    await expect(workflow.sendMsgToAgent(id, 'Hi')).rejects.toThrow(/there is no agent|is closed/)
  })

  test('a handler that ignores its cancellation is abandoned, and the message is logged', async () => {
    const clock = fakeClock(0)
    const gate = Promise.withResolvers<void>()
    const refused = Promise.withResolvers<unknown>()
    const deaf: AgentHandler = async function* ({ execute, prompt }) {
      await gate.promise
      try {
        yield* execute({ ...(prompt && { prompt }) })
      } catch (error) {
        refused.resolve(error)
      }
    }
    const { workflow, errors, provider } = world(['Never.'], { clock, handlers: { basicPromptConcatHandler: deaf } })
    const { id } = await workflow.createAgent('helper')
    const sending = workflow.sendMsgToAgent(id, 'Hello?')
    await clock.advance(10)
    const cancelling = workflow.cancelAgent(id)
    await clock.advance(6_000)
    await cancelling
    expect((await sending).state).toBe('canceled')
    expect(short(await workflow.getMessages(id))).toEqual(['user: Hello?'])
    expect(errors[0]?.message).toContain('did not end when it was cancelled')
    gate.resolve()
    expect(String(await refused.promise)).toContain('it cannot go on now')
    expect(provider.requests).toEqual([])
  })

  test('work that cannot begin is reported as failed', async () => {
    const broken = { is: true }
    const execution = { ...(await import('../../src/testing/memory-execution.ts')).memoryExecution() }
    const spawn = execution.spawn.bind(execution)
    const failing = Object.assign(execution, {
      spawn: async () => {
        if (broken.is) throw new Error('no room for tools')
        return spawn()
      },
    })
    const { workflow, updates } = world(['Hi.', 'Again.'], { execution: failing })
    const { id } = await workflow.createAgent('helper')
    expect(await workflow.sendMsgToAgent(id, 'Hello')).toMatchObject({
      state: 'failed',
      message: { content: expect.stringContaining('no room for tools') },
    })
    expect(updates.some((one) => one.type === 'message' && one.message.content === 'Hello')).toBe(true)
    broken.is = false
    expect((await workflow.sendMsgToAgent(id, 'Hello')).state).toBe('completed')
  })
})

describe('closing the workflow', () => {
  test('twice and during sends: later calls are refused, and no accepted message is lost or doubled', async () => {
    for (let delay = 0; delay < 8; delay++) {
      const first = world([...always(1, [call('1', 'look')]), ...always(20)], {
        definitions: [definition('look')],
        plugins: [withTool('look', () => pause(1).then(() => 'x'))],
      })
      const { id } = await first.workflow.createAgent('helper')
      const sent = ['a', 'b', 'c', 'd'].map((word) => first.workflow.sendMsgToAgent(id, word))
      await pause(delay)
      const late = first.workflow.sendMsgToAgent(id, 'e')
      const settling = Promise.allSettled([...sent, late])
      await Promise.all([first.workflow.close(), first.workflow.close()])
      const outcomes = await settling
      for (const use of [
        () => first.workflow.sendMsgToAgent(id, 'x'),
        () => first.workflow.createAgent('helper'),
        () => first.workflow.start(),
        () => first.workflow.getMessages(id),
      ])
        await expect((async () => use())()).rejects.toThrow('this workflow is closed')
      const accepted = ['a', 'b', 'c', 'd', 'e'].filter((_, i) => outcomes[i]!.status === 'fulfilled')
      const second = await goneOn(first, id)
      const said = userWords(await second.log(id)).filter((text) => text.length === 1)
      expect([delay, [...said].sort()]).toEqual([delay, accepted])
    }
  })

  test('messages that waited at the close are delivered once after it, and cancelled work is not continued', async () => {
    const one = held()
    const first = world([one.step])
    const { id } = await first.workflow.createAgent('helper')
    const sending = first.workflow.sendMsgToAgent(id, 'first')
    await one.begun
    const waiting = first.workflow.sendMsgToAgent(id, 'second')
    await vi.waitFor(async () => expect((await first.log(id)).some(({ type }) => type === 'input')).toBe(true))
    await first.workflow.close()
    await Promise.all([sending, waiting])
    const second = await goneOn(first, id)
    expect(userWords(await second.log(id))).toEqual(['first', 'second'])
    expect((await second.workflow.getStatus(id)).state).toBe('completed')

    const two = held()
    const third = world([two.step])
    const { id: other } = await third.workflow.createAgent('helper')
    const stopped = third.workflow.sendMsgToAgent(other, 'first')
    await two.begun
    const said = third.workflow.sendMsgToAgent(other, 'second')
    await vi.waitFor(async () => expect((await third.log(other)).some(({ type }) => type === 'input')).toBe(true))
    await Promise.all([third.workflow.cancelAgent(other), third.workflow.close(), stopped, said])
    const last = await goneOn(third, other)
    expect(last.provider.requests).toEqual([])
    expect(short(await last.workflow.getMessages(other))).toEqual(['user: first', 'user: second'])
  })

  test('one agent that cannot be shut down does not block the others', async () => {
    const kept = createMemoryStore()
    const broken = { is: false }
    const store: SessionStore = {
      ...kept,
      append: (id, ...rest) =>
        broken.is && id === 'agent-a' ? Promise.reject(new Error('disk full')) : kept.append(id, ...rest),
    }
    const [a, b] = [held(), held()]
    const { workflow } = world([a.step, b.step], { store })
    for (const id of ['agent-a', 'agent-b']) await workflow.createAgent('helper', { id })
    const sending = Promise.allSettled([
      workflow.sendMsgToAgent('agent-a', 'x'),
      workflow.sendMsgToAgent('agent-b', 'x'),
    ])
    await Promise.all([a.begun, b.begun])
    broken.is = true
    await workflow.close()
    await sending
    expect((await kept.read('agent-b')).at(-1)).toMatchObject({ value: 'interrupted' })
  })

  test('start, called twice at once and again, starts nothing twice', async () => {
    const { first, id } = await leftAtWork()
    const second = first.again()
    second.provider.push(...always(5))
    await Promise.all([second.workflow.start(), second.workflow.start()])
    await second.workflow.start()
    await vi.waitFor(async () => expect((await second.workflow.getStatus(id)).state).toBe('completed'))
    expect(second.provider.requests).toHaveLength(1)
  })
})

describe('people at the same time', () => {
  const ask = call('q', 'ask-question', { question: 'Which?' })

  test('two answers: the first counts, and the agent continues once', async () => {
    const { workflow, provider } = world([[ask], ...always(4)], { definitions: [definition('ask-question')] })
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'Go')
    const both = await Promise.allSettled([
      workflow.answerQuestion(id, 'q', 'red'),
      workflow.answerQuestion(id, 'q', 'blue'),
    ])
    expect(both[0]).toMatchObject({ status: 'fulfilled', value: { state: 'completed' } })
    expect(provider.requests).toHaveLength(2)
    expect(texts(provider.requests[1]!.messages).at(-1)).toMatch(/red/)
    expect((await workflow.getMessages(id)).filter(({ role }) => role === 'tool')).toHaveLength(1)
  })

  test('two decisions: the call runs at most once', async () => {
    for (const decisions of [
      ['allow', 'deny'],
      ['deny', 'allow'],
      ['allow', 'allow'],
    ] as const) {
      const done: unknown[] = []
      const { workflow } = world([[call('1', 'paint')], ...always(4)], {
        plugins: [withTool('paint', () => `painted ${done.push(1)}`, { effects: ['fs.write'], replay: 'opaque' })],
        definitions: [definition({ toolId: 'paint', approval: { mode: 'confirm' } })],
      })
      const { id } = await workflow.createAgent('helper')
      await workflow.sendMsgToAgent(id, 'Paint')
      await Promise.allSettled(decisions.map((decision) => workflow.resolveApproval(id, '1', decision)))
      expect(done).toHaveLength(decisions[0] === 'allow' ? 1 : 0)
      expect((await workflow.getStatus(id)).state).toBe('completed')
    }
  })

  test('settings that change during a run apply from the next call on', async () => {
    const one = held([call('1', 'paint')])
    const done: unknown[] = []
    const { workflow } = world([one.step, 'Not then.'], {
      plugins: [withTool('paint', () => `painted ${done.push(1)}`, { effects: ['fs.write'] })],
      definitions: [definition('paint')],
    })
    const { id } = await workflow.createAgent('helper')
    const sending = workflow.sendMsgToAgent(id, 'Paint')
    await one.begun
    await Promise.all([
      workflow.updateSettings({ approval: { paint: { denyPatterns: ['paint'] } } }),
      workflow.updateSettings({ retry: { maxAttempts: 1 } }),
    ])
    one.go()
    expect((await sending).message?.content).toBe('Not then.')
    expect(done).toEqual([])
    expect(Object.keys(workflow.settings).sort()).toEqual(['approval', 'retry'])
  })

  test('listeners and error handlers may fail in any way', async () => {
    const { workflow } = world(always(2), {
      onError: () => {
        throw new Error('no one home')
      },
    })
    const said = vi.spyOn(console, 'error').mockImplementation(() => {})
    try {
      const { id } = await workflow.createAgent('helper')
      workflow.subscribe(id, (async () => {
        throw new Error('late')
      }) as never)
      expect((await workflow.sendMsgToAgent(id, 'Hi')).state).toBe('completed')
      await pause(2)
      expect(said).toHaveBeenCalled()
    } finally {
      said.mockRestore()
    }
  })
})

describe('two workflows over one store', () => {
  test('an agent of an ended process is continued by one of them, with one model call', async () => {
    for (let round = 0; round < 5; round++) {
      const { first, id } = await leftAtWork()
      const rivals = [first.again(), first.again(), first.again()]
      for (const { provider } of rivals) provider.push(...always(3))
      await Promise.all(rivals.map(({ workflow }) => workflow.start()))
      await vi.waitFor(async () => expect((await rivals[0]!.workflow.getStatus(id)).state).toBe('completed'))
      await pause(3)
      expect(rivals.flatMap(({ provider }) => provider.requests)).toHaveLength(1)
      expect(userWords(await first.log(id))).toEqual(['Work'])
      for (const { workflow } of rivals) await workflow.close()
    }
  })

  test('messages that both send at the same time are each delivered once, and none is left', async () => {
    for (let round = 0; round < 8; round++) {
      const one = world(always(20))
      const { id } = await one.workflow.createAgent('helper')
      const two = one.again()
      two.provider.push(...always(20))
      const words = ['a1', 'a2', 'b1', 'b2', 'a3', 'b3']
      const sending = words.map(async (word, i) => {
        await pause(i % 3)
        return (word.startsWith('a') ? one : two).workflow.sendMsgToAgent(id, word)
      })
      await Promise.all(sending)
      await vi.waitFor(async () => expect(userWords(await one.log(id)).sort()).toEqual([...words].sort()))
      await vi.waitFor(async () => expect((await two.workflow.getStatus(id)).state).toBe('completed'))
      expect(runsIn(await one.log(id))).toMatch(/^(\(\))+$/)
    }
  })

  test('a message that is handed over just as the other run ends is not left', async () => {
    const kept = createMemoryStore()
    const one = held('First.')
    const first = world([one.step], { store: kept })
    const { id } = await first.workflow.createAgent('helper')
    const sending = first.workflow.sendMsgToAgent(id, 'first')
    await one.begun
    const store: SessionStore = {
      ...kept,
      async send(...item) {
        one.go()
        await sending // it has looked for messages, and gone
        await kept.send(...item)
      },
    }
    const second = world(['Second.'], { store })
    expect(await second.workflow.sendMsgToAgent(id, 'second')).toMatchObject({
      state: 'completed',
      message: { content: 'Second.' },
    })
    expect(userWords(await first.log(id))).toEqual(['first', 'second'])
  })

  test('a process that is done finds a message that its run did not deliver', async () => {
    const kept = createMemoryStore()
    let watches = 0
    const store: SessionStore = {
      ...kept,
      // As where a store is only looked at now and then.
      watch: (id, options) => (watches++ === 0 ? silent(options.signal) : kept.watch(id, options)),
    }
    const one = held('First.')
    const first = world([one.step, 'Second.'], { store })
    const { id } = await first.workflow.createAgent('helper')
    const sending = first.workflow.sendMsgToAgent(id, 'first')
    await one.begun
    const second = world([], { store: kept })
    expect((await second.workflow.sendMsgToAgent(id, 'second')).state).toBe('submitted')
    one.go()
    expect((await sending).message?.content).toBe('Second.')
    expect((await second.workflow.getStatus(id)).message?.content).toBe('Second.')
    expect(userWords(await first.log(id))).toEqual(['first', 'second'])
  })

  test('a question of one is seen and answered in the other', async () => {
    const one = world([[call('q', 'ask-question', { question: 'Which?' })], 'Red it is.'], {
      definitions: [definition('ask-question')],
    })
    const { id } = await one.workflow.createAgent('helper')
    const two = one.again()
    two.provider.push('Red it is.')
    expect(await two.workflow.pending(id)).toEqual([])
    await one.workflow.sendMsgToAgent(id, 'Paint')
    expect(await two.workflow.pending(id)).toEqual([expect.objectContaining({ callId: 'q', isQuestion: true })])
    expect((await two.workflow.answerQuestion(id, 'q', 'red')).message?.content).toBe('Red it is.')
  })

  test('an agent whose process hangs is continued when its lease has expired', async () => {
    const clock = fakeClock(0)
    const store = createMemoryStore({ clock })
    const one = held()
    const process = hangingStore(store)
    const first = world([one.step], { store: process.store, clock })
    const { id } = await first.workflow.createAgent('helper')
    void first.workflow.sendMsgToAgent(id, 'Work')
    await one.begun
    const second = world(['Gone on.'], { store, clock })
    await second.workflow.start()
    await clock.advance(60_000)
    expect(second.provider.requests).toEqual([])
    process.hang()
    await clock.advance(60_000)
    await vi.waitFor(async () => expect((await second.workflow.getStatus(id)).message?.content).toBe('Gone on.'))
  })
})

async function* silent(signal: AbortSignal): AsyncGenerator<never> {
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
}

/** The store of a process that hangs: from then on it renews no lease. */
function hangingStore(store: SessionStore): { readonly store: SessionStore; hang(): void } {
  let isHanging = false
  return {
    store: {
      ...store,
      lease: async (id, request) =>
        isHanging && request.epoch !== undefined
          ? { epoch: request.epoch, head: 0, inbox: [] }
          : store.lease(id, request),
    },
    hang: () => {
      isHanging = true
    },
  }
}

/** An agent whose process ended over a message. */
async function leftAtWork(): Promise<{ first: World; id: string }> {
  const one = held()
  const first = world([one.step])
  const { id } = await first.workflow.createAgent('helper')
  const sending = first.workflow.sendMsgToAgent(id, 'Work')
  await one.begun
  await first.workflow.close()
  await sending
  return { first, id }
}

async function goneOn(first: World, id: string): Promise<World> {
  const second = first.again()
  second.provider.push(...always(30))
  await second.workflow.start()
  await vi.waitFor(async () => {
    const { state } = await second.workflow.getStatus(id)
    expect(['completed', 'canceled']).toContain(state)
  })
  await pause(3)
  return second
}
