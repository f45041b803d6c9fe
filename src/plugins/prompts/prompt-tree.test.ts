import { describe, expect, test } from 'vitest'
import type { PromptNode } from './prompt.ts'
import { findPrompt, flattenPrompts, injectContent } from './prompt-tree.ts'

const tree = (): PromptNode[] => [
  { id: 'top', text: 'Top', children: [{ id: 'inner', text: 'Inner', children: [{ id: 'deep', text: 'Deep' }] }] },
  { id: 'last', role: 'user', text: 'Last' },
]
const texts = (nodes: readonly PromptNode[]) =>
  flattenPrompts(nodes).map((piece) => 'content' in piece && piece.content)

describe('a piece', () => {
  test.each(['top', 'inner', 'deep', 'last'])('is found by its id, wherever it is: %s', (id) => {
    expect(findPrompt(tree(), id)?.id).toBe(id)
  })

  test('is the one in the tree, so that it can be changed', () => {
    const nodes = tree()
    findPrompt(nodes, 'deep')!.text = 'Changed'
    expect(texts(nodes)).toEqual(['Top\nInner\nChanged', 'Last'])
  })

  test('that is missing is not found', () => {
    expect(findPrompt(tree(), 'missing')).toBeUndefined()
    expect(findPrompt([], 'top')).toBeUndefined()
  })
})

describe('a text', () => {
  test('D046 goes before, after or into a node at the top', () => {
    const put = (position: 'before' | 'after' | 'child') => {
      const nodes = tree()
      expect(injectContent(nodes, { targetId: 'top', position, content: 'New' })).toBe(true)
      return texts(nodes)
    }
    expect(put('before')).toEqual(['New', 'Top\nInner\nDeep', 'Last'])
    expect(put('after')).toEqual(['Top\nInner\nDeep', 'New', 'Last'])
    expect(put('child')).toEqual(['Top\nInner\nDeep\nNew', 'Last'])
  })

  test('D046 goes before, after or into an inner node', () => {
    const put = (position: 'before' | 'after' | 'child') => {
      const nodes = tree()
      injectContent(nodes, { targetId: 'inner', position, content: 'New' })
      return texts(nodes)[0]
    }
    expect(put('before')).toBe('Top\nNew\nInner\nDeep')
    expect(put('after')).toBe('Top\nInner\nDeep\nNew')
    expect(put('child')).toBe('Top\nInner\nDeep\nNew')
    const nodes = tree()
    injectContent(nodes, { targetId: 'deep', position: 'child', content: 'New' })
    expect(findPrompt(nodes, 'deep')?.children).toEqual([{ id: 'deep-child', text: 'New' }])
  })

  test('has the id and the caption it was given, and can be a target then', () => {
    const nodes = tree()
    injectContent(nodes, { targetId: 'last', position: 'after', content: 'One', id: 'one', caption: 'The first' })
    injectContent(nodes, { targetId: 'one', position: 'after', content: 'Two' })
    expect(nodes.slice(2)).toEqual([
      { id: 'one', text: 'One', caption: 'The first' },
      { id: 'one-after', text: 'Two' },
    ])
  })

  test('without a target is not inserted, and false is returned', () => {
    const nodes = tree()
    expect(injectContent(nodes, { targetId: 'missing', position: 'child', content: 'New' })).toBe(false)
    expect(nodes).toEqual(tree())
  })
})
