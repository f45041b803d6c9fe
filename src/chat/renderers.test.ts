import { describe, expect, test } from 'vitest'
import type { AgentInstanceMessage } from '../plugins/message.ts'
import { createRendererRegistry, messageKinds, type Renderer } from './renderers.ts'

const said = (more: Partial<AgentInstanceMessage> = {}): AgentInstanceMessage => ({
  id: 'm',
  agentId: 'a',
  role: 'assistant',
  content: 'words',
  ...more,
})

const renderer = (
  id: string,
  priority: number,
  matches: Renderer<string>['matches'] = () => true,
): Renderer<string> => ({
  id,
  priority,
  matches,
  render: ({ content }) => `${id}: ${content}`,
})

function registryOf(...renderers: readonly Renderer<string>[]) {
  const problems: unknown[] = []
  const registry = createRendererRegistry<string>({
    text: ({ content }) => content,
    onError: (error, about) => problems.push([String(error), about]),
  })
  for (const one of renderers) registry.register(one)
  return { ...registry, problems }
}

describe('the registry', () => {
  test('picks the highest priority, the first of equal ones, and plain text last', () => {
    const { pick, render } = registryOf(
      renderer('a', 10),
      renderer('b', 50),
      renderer('c', 50),
      renderer('d', 20, () => false),
    )
    expect(pick(said()).id).toBe('b')
    expect(render(said())).toBe('b: words')
    expect(registryOf().pick(said()).id).toBe('text')
    expect(registryOf(renderer('low', -1e9)).pick(said()).id).toBe('low')
  })

  test('removes exactly the given renderer', () => {
    const { register, pick } = registryOf(renderer('a', 10))
    const off = register(renderer('b', 20))
    expect(pick(said()).id).toBe('b')
    off()
    off()
    expect(pick(said()).id).toBe('a')
    register(renderer('b', 30))
    off()
    expect(pick(said()).id).toBe('b')
  })

  test('matches a pattern on the content, with the same result every time', () => {
    const { pick } = registryOf(renderer('a', 1, /^<todo>/g))
    for (let i = 0; i < 3; i++) expect(pick(said({ content: '<todo>' })).id).toBe('a')
    expect(pick(said({ content: 'no' })).id).toBe('text')
  })

  test.each([
    ['text/markdown', 'text/markdown', true],
    ['text/markdown', 'Text/Markdown; charset=utf-8', true],
    ['image/*', 'image/png', true],
    ['image/*', 'imagery/png', false],
    ['text/markdown', 'text/markdownish', false],
    ['text/markdown', undefined, false],
  ] as const)('of content types, %s matches %s: %s', (wanted, contentType, expected) => {
    const { pick } = registryOf(renderer('a', 1, wanted))
    expect(pick(said(contentType === undefined ? {} : { contentType })).id).toBe(expected ? 'a' : 'text')
  })

  test('skips and reports a renderer that throws in matches or render', () => {
    const broken = () => {
      throw new Error('broken')
    }
    const drawsNothing = { ...renderer('draws', 20), render: broken }
    const { pick, render, problems } = registryOf(renderer('says', 30, broken), drawsNothing, renderer('a', 10))
    expect(pick(said()).id).toBe('draws')
    expect(problems).toEqual([['Error: broken', { renderer: 'says', message: 'm' }]])
    expect(render(said())).toBe('a: words')
    expect(problems).toHaveLength(3)
    expect(problems[2]).toEqual(['Error: broken', { renderer: 'draws', message: 'm' }])
  })

  test.each([
    [renderer('a', 1), 'There is a renderer "a" already'],
    [renderer('text', 1), 'There is a renderer "text" already'],
    [renderer('', 1), 'A renderer needs an id'],
    [renderer('b', Number.NaN), 'The renderer "b" needs a priority, a number such as 50, got NaN'],
    [renderer('b', 1, 'markdown' as never), 'The renderer "b" needs matches'],
    [{ ...renderer('b', 1), render: undefined as never }, 'The renderer "b" needs a function render'],
  ])('refuses what cannot work (%#)', (wrong, words) => {
    expect(() => registryOf(renderer('a', 1)).register(wrong)).toThrow(words)
  })
})

describe('the kinds of messages', () => {
  const { pick } = registryOf(
    ...Object.values(messageKinds)
      .map((kind) => ({ ...kind, render: () => kind.id }))
      .reverse(),
  )

  test('have the priorities of the specification', () => {
    const priorities = Object.values(messageKinds).map(({ id, priority }) => [id, priority])
    expect(priorities).toEqual([
      ['error', 200],
      ['question', 150],
      ['approval', 150],
      ['diff', 150],
      ['todo', 150],
      ['thinking', 100],
      ['markdown', 50],
      ['wikitext', 50],
      ['html', 50],
      ['image', 50],
      ['tool-result', 10],
    ])
  })

  const result = (toolId: string, details?: unknown) =>
    said({ role: 'tool', metadata: { isToolResult: true, toolId, details } })

  test.each<[string, AgentInstanceMessage]>([
    ['error', said({ role: 'error', contentType: 'text/markdown' })],
    ['error', said({ metadata: { errorDetail: { name: 'E', message: 'm' } }, reasoning_content: 'hm' })],
    ['question', result('ask-question', { questionId: 'c' })],
    ['question', said({ metadata: { calls: [{ callId: 'c', toolId: 'ask_user', parameters: {} }] } })],
    [
      'approval',
      said({ metadata: { calls: [{ callId: '1', toolId: 'shell', parameters: {}, waitsFor: 'permission' }] } }),
    ],
    ['diff', result('edit', { diff: '-a\n+b' })],
    ['diff', said({ contentType: 'text/x-diff' })],
    ['todo', result('todowrite')],
    ['thinking', said({ reasoning_content: 'hm', contentType: 'text/markdown' })],
    ['markdown', said({ contentType: 'text/markdown', role: 'tool' })],
    ['wikitext', said({ contentType: 'text/vnd.tiddlywiki' })],
    ['html', said({ contentType: 'text/html' })],
    ['image', said({ contentType: 'image/webp' })],
    ['tool-result', result('shell', { kind: 'other' })],
    ['text', said({ reasoning_content: ' ' })],
  ])('%s is told (%#)', (id, message) => {
    expect(pick(message).id).toBe(id)
  })
})
