import { describe, expect, test } from 'vitest'
import { sharedParts } from '../../../test/workflow/prompt-kit.ts'
import { deepFreeze, type Message } from '../../core/turn.ts'
import { PluginHooks, type PromptContext } from '../plugin-hooks.ts'
import { concatPrompt, getFinalPromptResult } from './concat-prompt.ts'
import type { PromptNode, PromptResult, PromptState } from './prompt.ts'
import { findPrompt, injectContent } from './prompt-tree.ts'

const user = (text: string): Message => deepFreeze({ role: 'user', content: [{ type: 'text', text }] })
const assistant = (text: string): Message => deepFreeze({ role: 'assistant', content: [{ type: 'text', text }] })
const calling = (id: string): Message =>
  deepFreeze({ role: 'assistant', content: [{ type: 'tool_call', id, name: 'read', input: {} }] })
const result = (callId: string): Message =>
  deepFreeze({ role: 'user', content: [{ type: 'tool_result', callId, output: `result ${callId}` }] })

const conversation = [user('one'), assistant('two'), user('three')]
const system: PromptNode = { id: 'system', text: 'You are kind.' }
const place: PromptNode = { id: 'history', text: 'here it stands' }
const end: PromptNode = { id: 'end', role: 'user', text: 'Be brief.' }

describe('the steps', () => {
  test('D041 come in order: each plugin, finalize, flatten, complete, up to 1', async () => {
    const { hooks, tap } = bus()
    for (const name of ['first', 'second', 'third'])
      tap(name, ({ prompts }) => void prompts.push({ id: name, text: name }))
    const states = await statesOf({ hooks, prompts: [system] })
    expect(states.map(({ step, plugin }) => [step, plugin])).toEqual([
      ['plugin', 'first'],
      ['plugin', 'second'],
      ['plugin', 'third'],
      ['finalize', undefined],
      ['flatten', undefined],
      ['complete', undefined],
    ])
    for (const [i, { progress }] of states.entries()) {
      expect(progress).toBeGreaterThan(states[i - 1]?.progress ?? 0)
      expect(progress).toBeLessThanOrEqual(1)
    }
    expect(states.at(-1)!.progress).toBe(1)
    expect(states.map(({ prompts }) => prompts.length)).toEqual([2, 3, 4, 4, 4, 4])
  })

  test('D041 without plugins are finalize, flatten, complete', async () => {
    const states = await statesOf({ prompts: [system] })
    expect(states.map(({ step }) => step)).toEqual(['finalize', 'flatten', 'complete'])
    expect(states.at(-1)!.progress).toBe(1)
  })

  test('D041 have the flat prompt from flatten on, and the result at the end', async () => {
    const [finalize, flatten, complete] = await statesOf({ prompts: [system] })
    expect(finalize).not.toHaveProperty('flat')
    expect(flatten!.flat).toEqual([
      { role: 'system', content: 'You are kind.' },
      { role: 'history', messages: conversation },
    ])
    expect(flatten).not.toHaveProperty('result')
    expect(complete!.result).toEqual({ system: 'You are kind.', messages: conversation })
  })

  test('D041 a plugin that throws is reported, its changes are dropped, and the others continue', async () => {
    const { hooks, errors, tap } = bus()
    tap('first', ({ prompts }) => void prompts.push({ id: 'first', text: 'first' }))
    tap('broken', ({ prompts }) => {
      findPrompt(prompts, 'system')!.text = 'broken'
      throw new Error('no luck')
    })
    tap('third', ({ prompts }) => void prompts.push({ id: 'third', text: 'third' }))
    const states = await statesOf({ hooks, prompts: [system] })
    expect(states.map(({ step, plugin }) => plugin ?? step)).toEqual([
      'first',
      'broken',
      'third',
      'finalize',
      'flatten',
      'complete',
    ])
    expect(errors).toEqual(['broken at processPrompts: no luck'])
    expect(states.at(-1)!.result!.system).toBe('You are kind.\n\nfirst\n\nthird')
  })

  test('D041 finalizing plugins see the result of all others, and one that throws is reported', async () => {
    const { hooks, errors, tap } = bus()
    const seen: string[][] = []
    tap('last', ({ prompts }) => void seen.push(prompts.map(({ id }) => id)), 'finalizePrompts')
    tap('broken', () => Promise.reject(new Error('no luck')), 'finalizePrompts')
    tap(
      'final',
      ({ prompts }) => void injectContent(prompts, { targetId: 'added', position: 'after', content: 'Z' }),
      'finalizePrompts',
    )
    tap('adds', ({ prompts }) => void prompts.push({ id: 'added', text: 'A' }))
    const states = await statesOf({ hooks, prompts: [system] })
    expect(seen).toEqual([['system', 'added']])
    expect(errors).toEqual(['broken at finalizePrompts: no luck'])
    expect(states.find(({ step }) => step === 'finalize')!.prompts.map(({ id }) => id)).toEqual([
      'system',
      'added',
      'added-after',
    ])
    expect(states.at(-1)!.result!.system).toBe('You are kind.\n\nA\n\nZ')
  })

  test('D041 a plugin may return another tree', async () => {
    const { hooks, tap } = bus()
    tap('other', (ctx) => ({ ...ctx, prompts: [{ id: 'other', text: 'Other' }] }))
    expect((await finalOf({ hooks, prompts: [system] })).system).toBe('Other')
  })

  test('D041 plugins get the conversation as it will be sent, and what they share', async () => {
    const { hooks, tap } = bus()
    const metadata = {}
    tap('looks', (ctx) => {
      expect(ctx.messages).toBe(conversation)
      expect(ctx.toolConfig).toEqual({ id: 'looks', toolId: 'looks' })
      ctx.metadata.left = 'here'
      ctx.actions.yieldNextRoundTo = 'human'
    })
    const actions = {}
    const states = await statesOf({ hooks, prompts: [], metadata, actions })
    expect(states.length).toBe(4)
    expect(metadata).toEqual({ left: 'here' })
    expect(actions).toEqual({ yieldNextRoundTo: 'human' })
  })

  test('D041 states that end too early give an error', async () => {
    async function* early(): AsyncGenerator<PromptState> {
      yield { step: 'finalize', progress: 0.8, prompts: [] }
    }
    await expect(getFinalPromptResult(early())).rejects.toThrow('ended before "complete"')
  })
})

describe('the request', () => {
  const cases: readonly [rule: string, prompts: PromptNode[], messages: Message[], system: string, sent: string[]][] = [
    [
      'system texts that stand first are the system prompt, a blank line between them',
      [system, { id: 'b', text: 'Second' }, { id: 'c', role: 'system', text: 'Third' }],
      conversation,
      'You are kind.\n\nSecond\n\nThird',
      ['user: one', 'assistant: two', 'user: three'],
    ],
    ['no tree is no system prompt', [], conversation, '', ['user: one', 'assistant: two', 'user: three']],
    [
      'texts of users and assistants are messages; the conversation comes after them where it has no place',
      [system, { id: 'u', role: 'user', text: 'Q' }, { id: 'a', role: 'assistant', text: 'A' }],
      conversation,
      'You are kind.',
      ['user: Q', 'assistant: A', 'user: one', 'assistant: two', 'user: three'],
    ],
    [
      'what stands after the conversation comes before the last question',
      [system, place, end],
      conversation,
      'You are kind.',
      ['user: one', 'assistant: two', 'user: Be brief.', 'user: three'],
    ],
    [
      'a system text after the conversation is said by the user, where it stands',
      [system, place, { id: 'late', text: 'Late' }, end],
      conversation,
      'You are kind.',
      ['user: one', 'assistant: two', 'user: Late', 'user: Be brief.', 'user: three'],
    ],
    [
      'so is one after any other message',
      [{ id: 'u', role: 'user', text: 'Q' }, system, place],
      conversation,
      '',
      ['user: Q', 'user: You are kind.', 'user: one', 'assistant: two', 'user: three'],
    ],
    [
      'once results have come, everything stays in its place',
      [system, place, end],
      [...conversation, calling('1'), result('1')],
      'You are kind.',
      ['user: one', 'assistant: two', 'user: three', 'assistant: calls 1', 'user: result 1', 'user: Be brief.'],
    ],
    [
      'so it does where the assistant spoke last',
      [system, place, end],
      conversation.slice(0, 2),
      'You are kind.',
      ['user: one', 'assistant: two', 'user: Be brief.'],
    ],
    ['a conversation that has not begun is nothing', [system, place, end], [], 'You are kind.', ['user: Be brief.']],
    [
      'the first question comes after everything',
      [system, place, end],
      [user('first')],
      'You are kind.',
      ['user: Be brief.', 'user: first'],
    ],
  ]

  test.each(cases)('D039 %s', async (_, prompts, messages, systemText, sent) => {
    const { hooks, tap } = bus()
    tap('history', putHistory)
    const found = await finalOf({ hooks, prompts, messages })
    expect(found.system).toBe(systemText)
    expect(found.messages.map(words)).toEqual(sent)
  })

  test('D039 a conversation whose piece is not enabled comes at the end', async () => {
    const prompts = [system, { ...place, enabled: false, history: [user('hidden')] }]
    expect((await finalOf({ prompts })).messages).toBe(conversation)
  })

  test('a plugin may replace the last question', async () => {
    const { hooks, tap } = bus()
    tap('rewrites', ({ prompts, messages }) => {
      findPrompt(prompts, 'history')!.history = [...messages.slice(0, -1), user('THREE')]
    })
    const sent = ['user: one', 'assistant: two', 'user: Be brief.', 'user: THREE']
    expect((await finalOf({ hooks, prompts: [place, end] })).messages.map(words)).toEqual(sent)
    expect((await finalOf({ hooks, prompts: [place] })).messages.map(words)).toEqual(sent.toSpliced(2, 1))
  })

  test('a plugin that leaves out the last question does not remove it from the request', async () => {
    for (const kept of [0, 1, 2]) {
      const { hooks, tap } = bus()
      tap('cuts', ({ prompts, messages }) => {
        findPrompt(prompts, 'history')!.history = messages.slice(0, kept)
      })
      const early = ['user: one', 'assistant: two'].slice(0, kept)
      const sent = (prompts: PromptNode[]) => finalOf({ hooks, prompts }).then(({ messages }) => messages.map(words))
      expect(await sent([place])).toEqual([...early, 'user: three'])
      expect(await sent([place, end])).toEqual([...early, 'user: Be brief.', 'user: three'])
    }
  })

  test('the text of a plugin after results stays there', async () => {
    const { hooks, tap } = bus()
    tap('reminds', ({ prompts, messages }) => {
      findPrompt(prompts, 'history')!.history = [...messages, user('Remember.')]
    })
    const { messages } = await finalOf({
      hooks,
      prompts: [place, end],
      messages: [user('q'), calling('1'), result('1')],
    })
    expect(messages.map(words).slice(-3)).toEqual(['user: result 1', 'user: Remember.', 'user: Be brief.'])
  })

  test('D028 of a conversation that is too long the part that fits 70 % of the window is sent, and plugins see no more', async () => {
    const messages = [user('x'.repeat(400)), assistant('y'.repeat(40)), user('z'.repeat(40))]
    const { hooks, errors, tap } = bus()
    tap('looks', (ctx) => void expect(ctx.messages).toEqual(messages.slice(1)))
    const found = await finalOf({ hooks, prompts: [], messages, contextWindowSize: 30 })
    expect(errors).toEqual([])
    expect(found.messages).toEqual(messages.slice(1))
    expect(found.messages[0]).toBe(messages[1])
  })

  test('the given tree is not changed, and may be frozen', async () => {
    const { hooks, tap } = bus()
    tap('history', putHistory)
    const prompts = deepFreeze(structuredClone([system, place, end]))
    const found = await finalOf({ hooks, prompts })
    expect(found.messages.length).toBe(4)
    expect(prompts).toEqual([system, place, end])
  })
})

test('a change to the tree of a state does not change the definition', async () => {
  const prompts = structuredClone([system, place, end])
  for (const state of await statesOf({ prompts })) for (const node of state.prompts) node.text = 'changed'
  expect(prompts).toEqual([system, place, end])
})

describe('over many rounds', () => {
  test('the prompt stays the same bytes, and the messages the same objects', async () => {
    const prompts = [
      system,
      { id: 'u', role: 'user', text: 'Q' } as const,
      { id: 'a', role: 'assistant', text: 'A' } as const,
      place,
    ]
    const shared = sharedParts()
    let before: PromptResult | undefined
    for (const messages of rounds(20)) {
      const { hooks, tap } = bus()
      tap('history', putHistory)
      const now = await finalOf({ ...shared, hooks, prompts, messages })
      expect(now.system).toBe('You are kind.')
      for (const [i, message] of (before?.messages ?? []).entries()) expect(now.messages[i]).toBe(message)
      expect(now.messages.slice(2)).toEqual(messages)
      before = now
    }
  })

  test('with only a system prompt, the conversation is sent as the same list', async () => {
    for (const prompts of [[], [system], [system, place]]) {
      for (const messages of rounds(3)) {
        const { hooks, tap } = bus()
        tap('history', putHistory)
        expect((await finalOf({ hooks, prompts, messages })).messages).toBe(messages)
      }
    }
  })

  test('a text that changes is a new message, and the old one is not kept', async () => {
    const shared = sharedParts()
    const say = async (text: string) =>
      (await finalOf({ ...shared, prompts: [{ id: 'u', role: 'user', text }], messages: [] })).messages[0]
    const first = await say('todo: 1')
    expect(await say('todo: 1')).toBe(first)
    const second = await say('todo: 2')
    expect(second).toEqual(user('todo: 2'))
    expect(await say('todo: 1')).not.toBe(first)
  })

  test('executions do not share messages', async () => {
    const prompts: PromptNode[] = [{ id: 'u', role: 'user', text: 'Q' }]
    const [one] = (await finalOf({ prompts, messages: [] })).messages
    const [two] = (await finalOf({ prompts, messages: [] })).messages
    expect(one).toEqual(two)
    expect(one).not.toBe(two)
  })

  test('without other messages, a round reads only the ends of the conversation', async () => {
    const { list, reads } = counting(2000)
    const { hooks, tap } = bus()
    tap('history', putHistory)
    await finalOf({ hooks, prompts: [system, place], messages: list })
    expect(reads()).toBeLessThan(10)
  })

  test('with other messages, a round reads each message once, and once more to measure it', async () => {
    const sent = async (contextWindowSize?: number) => {
      const { list, reads } = counting(2000)
      const { hooks, tap } = bus()
      tap('history', putHistory)
      for (let i = 0; i < 10; i++) tap(`p${i}`, ({ prompts }) => void prompts.push({ id: `p${i}`, text: 'more' }))
      const { messages } = await finalOf({ hooks, prompts: [system, place, end], messages: list, contextWindowSize })
      expect(messages.length).toBe(2011)
      return reads()
    }
    expect(await sent()).toBeLessThan(2010)
    expect(await sent(1_000_000)).toBeLessThan(2 * 2010)
  })
})

/** A list that counts how often its elements are read. */
function counting(length: number) {
  let reads = 0
  const messages = Array.from({ length }, (_, i) => (i % 2 === 1 ? user(`${i}`) : assistant(`${i}`)))
  const list = new Proxy(messages, {
    get(target, key, receiver) {
      if (typeof key === 'string' && /^\d+$/.test(key)) reads++
      return Reflect.get(target, key, receiver)
    },
  })
  return { list: list as readonly Message[], reads: () => reads }
}

/** A conversation that grows: a question, then calls with their results. */
function rounds(count: number): Message[][] {
  const messages = [...conversation]
  const all = [[...messages]]
  for (let i = 0; i < count; i++) {
    messages.push(calling(`${i}`), result(`${i}`))
    all.push([...messages])
  }
  return all
}

function putHistory({ prompts, messages }: PromptContext): void {
  const target = findPrompt(prompts, 'history')
  if (target) target.history = messages
}

function words({ role, content: [block] }: Message): string {
  if (block?.type === 'text') return `${role}: ${block.text}`
  if (block?.type === 'tool_call') return `${role}: calls ${block.id}`
  return `${role}: ${block?.type === 'tool_result' ? block.output : '?'}`
}

type Given = Partial<Parameters<typeof concatPrompt>[0]>

function stream(given: Given) {
  return concatPrompt({ ...sharedParts(), hooks: bus().hooks, prompts: [], messages: conversation, ...given })
}

async function statesOf(given: Given): Promise<PromptState[]> {
  const states: PromptState[] = []
  for await (const state of stream(given)) states.push(state)
  return states
}

const finalOf = (given: Given): Promise<PromptResult> => getFinalPromptResult(stream(given))

function bus() {
  const errors: string[] = []
  const hooks = new PluginHooks((error, { hook, plugin }) =>
    errors.push(`${plugin} at ${hook}: ${(error as Error).message}`),
  )
  let index = 0
  const tap = (
    toolId: string,
    handler: (ctx: PromptContext) => PromptContext | void | Promise<void>,
    name: 'processPrompts' | 'finalizePrompts' = 'processPrompts',
  ) => hooks.tapsOf({ id: toolId, toolId }, index++).tap(name, handler)
  return { hooks, errors, tap }
}
