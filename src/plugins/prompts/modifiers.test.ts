import { describe, expect, test } from 'vitest'
import { sharedParts } from '../../../test/workflow/prompt-kit.ts'
import type { Message } from '../../core/turn.ts'
import type { PluginDefinition, PluginEntry } from '../plugin.ts'
import { PluginHooks, type PostProcessContext, type Shared } from '../plugin-hooks.ts'
import { concatPrompt, getFinalPromptResult } from './concat-prompt.ts'
import { dynamicPosition, fullReplacement } from './modifiers.ts'
import type { PromptNode } from './prompt.ts'

const user = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] })
const assistant = (text: string): Message => ({ role: 'assistant', content: [{ type: 'text', text }] })
const conversation = [user('one'), assistant('two'), user('three')]
const tree: readonly PromptNode[] = [
  { id: 'system', text: 'You are kind.', children: [{ id: 'tools', text: 'Tools:' }] },
  { id: 'history', role: 'user', text: 'here it stands', children: [{ id: 'old', text: 'old' }] },
  { id: 'end', role: 'user', text: 'Be brief.' },
]

describe('fullReplacement', () => {
  const entry = replace({ targetId: 'history', sourceType: 'historyOfSession' })

  test('D040 replaces a node and its children by the conversation', async () => {
    const { said, errors } = await put([entry])
    expect(errors).toEqual([])
    expect(said).toEqual(['You are kind.\nTools:', 'one', 'two', 'Be brief.', 'three'])
  })

  test('D040 keeps what fits 70 % of its own window', async () => {
    const long = [user('old'.repeat(400)), assistant('newer'), user('newest')]
    const messages = [...long.slice(0, 2), assistant('last')]
    const small = replace({ targetId: 'history', sourceType: 'historyOfSession', contextWindowSize: 100 })
    expect((await put([small], messages)).said).toEqual(['You are kind.\nTools:', 'newer', 'last', 'Be brief.'])
  })

  test('D040 a missing target is reported with the existing ones, and the conversation comes at the end', async () => {
    const { said, errors } = await put([replace({ targetId: 'histroy', sourceType: 'historyOfSession' })])
    expect(errors).toEqual([
      'fullReplacement: no prompt has the id "histroy"; there are system, tools, history, old, end. Change targetId, or add the prompt.',
    ])
    expect(said).toEqual(['You are kind.\nTools:', 'here it stands\nold', 'Be brief.', 'one', 'two', 'three'])
  })

  test('D040 the conversation has one place', async () => {
    const second = replace({ targetId: 'end', sourceType: 'historyOfSession' })
    const { said, errors } = await put([entry, second])
    expect(errors).toEqual([expect.stringContaining('the conversation stands at "history" already, not at "end"')])
    expect(said).toEqual(['You are kind.\nTools:', 'one', 'two', 'Be brief.', 'three'])
    expect((await put([entry, entry])).errors).toEqual([])
  })

  test('D040 of a long list of ids an error names the first', async () => {
    const nodes = Array.from({ length: 500 }, (_, i) => ({ id: `p${i}`, text: 'x' }))
    const { errors } = await put([entry], conversation, nodes)
    expect(errors[0]).toContain('p19, and 480 more')
    expect(errors[0]).not.toContain('p20')
  })
})

describe('fullReplacement with the answer of the model', () => {
  const entry = replace({ targetId: 'answer', sourceType: 'llmResponse' })

  test('D040 leaves the prompt alone', async () => {
    const { said, errors } = await put([replace({ targetId: 'history', sourceType: 'llmResponse' })])
    expect(errors).toEqual([])
    expect(said).toContain('here it stands\nold')
  })

  test('D040 replaces a part of the response', async () => {
    const responses = [
      { id: 'head', text: 'Answer:' },
      { id: 'answer', text: '', caption: 'kept' },
    ]
    const { value, errors } = await answered([entry], { llmResponse: '42', responses })
    expect(errors).toEqual([])
    expect(value.responses).toEqual([
      { id: 'head', text: 'Answer:' },
      { id: 'answer', text: '42', caption: 'kept' },
    ])
    expect(responses[1]!.text).toBe('')
  })

  test('D040 or a node of the prompt', async () => {
    const history = replace({ targetId: 'history', sourceType: 'llmResponse' })
    const { value } = await answered([history], { llmResponse: '42', responses: [] })
    expect(value.prompts[1]).toEqual({ id: 'history', role: 'user', text: '42' })
  })

  test('D040 a target that is not there is reported', async () => {
    const { errors } = await answered([entry], { llmResponse: '42', responses: [{ id: 'head', text: '' }] })
    expect(errors).toEqual([expect.stringContaining('no prompt has the id "answer"; there are head, system, tools')])
  })

  test('D040 the conversation is not put anywhere then', async () => {
    const session = replace({ targetId: 'history', sourceType: 'historyOfSession' })
    const { value, errors } = await answered([session], { llmResponse: '42', responses: [] })
    expect(errors).toEqual([])
    expect(value.prompts).toEqual(tree)
  })
})

describe('dynamicPosition', () => {
  test.each([
    ['before', ['New', 'You are kind.\nTools:']],
    ['after', ['You are kind.\nTools:', 'New']],
    ['relative', ['You are kind.\nTools:\nNew']],
  ] as const)('D040 puts its content %s a piece', async (position, system) => {
    const { said, errors } = await put([place({ targetId: 'system', position })])
    expect(errors).toEqual([])
    expect(said[0]).toBe(system.join('\n\n'))
  })

  test('D040 finds nodes inside others as well', async () => {
    const { said } = await put([place({ targetId: 'tools', position: 'before' })])
    expect(said[0]).toBe('You are kind.\nNew\nTools:')
  })

  test('D040 the inserted node is a target for later plugins, and names its origin', async () => {
    const first = place({ targetId: 'system', position: 'relative' })
    const second = { ...place({ targetId: first.id, position: 'before' }), id: 'second', content: 'Newer' }
    const { said, prompts } = await put([first, second])
    expect(said[0]).toBe('You are kind.\nTools:\nNewer\nNew')
    expect(prompts[0]!.children![2]).toEqual({
      id: first.id,
      text: 'New',
      caption: 'A note',
      source: ['plugins', first.id],
    })
  })

  test('D040 beside the conversation it becomes a user message in its place', async () => {
    const history = replace({ targetId: 'history', sourceType: 'historyOfSession' })
    const { said } = await put([history, place({ targetId: 'history', position: 'after' })])
    expect(said).toEqual(['You are kind.\nTools:', 'one', 'two', 'New', 'Be brief.', 'three'])
  })

  test('D040 without content it does nothing', async () => {
    const { content: _, ...empty } = place({ targetId: 'missing', position: 'after' })
    const { said, errors } = await put([empty as PluginEntry])
    expect(errors).toEqual([])
    expect(said[0]).toBe('You are kind.\nTools:')
  })

  test('D040 a missing target is reported, and the others continue', async () => {
    const { said, errors } = await put([
      place({ targetId: 'missing', position: 'after' }),
      place({ targetId: 'system', position: 'relative' }),
    ])
    expect(errors).toEqual([expect.stringContaining('dynamicPosition: no prompt has the id "missing"')])
    expect(said[0]).toBe('You are kind.\nTools:\nNew')
  })

  test('D040 the tree of the definition stays as it is', async () => {
    const before = structuredClone(tree)
    await put([
      replace({ targetId: 'history', sourceType: 'historyOfSession' }),
      place({ targetId: 'system', position: 'relative' }),
    ])
    expect(tree).toEqual(before)
  })
})

function replace(fullReplacementParam: Record<string, unknown>): PluginEntry {
  return { id: 'replace', toolId: 'fullReplacement', fullReplacementParam }
}

function place(dynamicPositionParam: Record<string, unknown>): PluginEntry {
  return { id: 'place', toolId: 'dynamicPosition', caption: 'A note', content: 'New', dynamicPositionParam }
}

/** The system prompt, then what each message says. */
async function put(entries: readonly PluginEntry[], messages: readonly Message[] = conversation, prompts = tree) {
  const { hooks, errors } = hooksWith(entries)
  let last: readonly PromptNode[] = []
  async function* watched() {
    for await (const state of concatPrompt({ ...sharedParts(), hooks, prompts, messages })) {
      last = state.prompts
      yield state
    }
  }
  const result = await getFinalPromptResult(watched())
  const words = result.messages.map(({ content }) => content.map((block) => ('text' in block ? block.text : '')).join())
  return { said: [result.system, ...words], errors, prompts: last }
}

async function answered(entries: readonly PluginEntry[], given: Pick<PostProcessContext, 'llmResponse' | 'responses'>) {
  const { hooks, errors } = hooksWith(entries)
  let value: Shared<'postProcess'> = { ...sharedParts(), messages: conversation, prompts: [...tree], ...given }
  for await (const state of hooks.waterfall('postProcess', value)) value = state.value
  return { value, errors }
}

function hooksWith(entries: readonly PluginEntry[]) {
  const errors: string[] = []
  const hooks = new PluginHooks((error) => errors.push((error as Error).message))
  for (const [index, entry] of entries.entries()) {
    // biome-ignore lint/suspicious/noExplicitAny: each has settings of its own
    const plugin = { fullReplacement, dynamicPosition }[entry.toolId] as PluginDefinition<any>
    const taps = hooks.tapsOf(entry, index)
    // biome-ignore lint/suspicious/noExplicitAny: these plugins use no helpers
    const withConfig = (ctx: any) => Object.assign(ctx, { config: entry[`${entry.toolId}Param`] })
    // biome-ignore lint/suspicious/noExplicitAny: what a handler leaves is merged
    taps.tap('processPrompts', (ctx) => plugin.onProcessPrompts?.(withConfig(ctx)) as any)
    // biome-ignore lint/suspicious/noExplicitAny: what a handler leaves is merged
    taps.tap('postProcess', (ctx) => plugin.onPostProcess?.(withConfig(ctx)) as any)
  }
  return { hooks, errors }
}
