import { describe, expect, test } from 'vitest'
import type { Message } from '../../core/turn.ts'
import type { FlatPrompt, PromptNode } from './prompt.ts'
import { flattenPrompts } from './prompt-tree.ts'

const hello: Message = { role: 'user', content: [{ type: 'text', text: 'hello' }] }
const system = (content: string): FlatPrompt => ({ role: 'system', content })
const user = (content: string): FlatPrompt => ({ role: 'user', content })
const assistant = (content: string): FlatPrompt => ({ role: 'assistant', content })
const history: FlatPrompt = { role: 'history', messages: [hello] }

const fixtures: readonly [rule: string, tree: PromptNode[], flat: FlatPrompt[]][] = [
  ['no tree is no prompt', [], []],
  ['a piece at the top is the system, unless it says otherwise', [{ id: 'a', text: 'A' }], [system('A')]],
  [
    'a role is kept',
    [
      { id: 'a', role: 'user', text: 'A' },
      { id: 'b', role: 'assistant', text: 'B' },
      { id: 'c', role: 'system', text: 'C' },
    ],
    [user('A'), assistant('B'), system('C')],
  ],
  [
    'children without a role join their parent, each on its line',
    [
      {
        id: 'a',
        text: 'A',
        children: [
          { id: 'b', text: 'B' },
          { id: 'c', text: 'C' },
        ],
      },
    ],
    [system('A\nB\nC')],
  ],
  [
    'they join at any depth, in their order',
    [
      {
        id: 'a',
        text: 'A',
        children: [
          { id: 'b', text: 'B', children: [{ id: 'c', text: 'C', children: [{ id: 'd', text: 'D' }] }] },
          { id: 'e', text: 'E' },
        ],
      },
    ],
    [system('A\nB\nC\nD\nE')],
  ],
  [
    'they take the role of the piece they join',
    [{ id: 'a', role: 'user', text: 'A', children: [{ id: 'b', text: 'B' }] }],
    [user('A\nB')],
  ],
  [
    'children with a role are messages of their own, after their parent',
    [{ id: 'a', text: 'A', children: [{ id: 'b', role: 'user', text: 'B' }] }],
    [system('A'), user('B')],
  ],
  [
    'a child without a role joins its parent even behind one that has a role',
    [
      {
        id: 'a',
        text: 'A',
        children: [
          { id: 'b', role: 'user', text: 'B' },
          { id: 'c', text: 'C' },
        ],
      },
    ],
    [system('A\nC'), user('B')],
  ],
  [
    'messages come depth first',
    [
      {
        id: 'a',
        text: 'A',
        children: [
          { id: 'b', role: 'user', text: 'B', children: [{ id: 'c', role: 'assistant', text: 'C' }] },
          { id: 'd', role: 'user', text: 'D' },
        ],
      },
      { id: 'e', role: 'assistant', text: 'E' },
    ],
    [system('A'), user('B'), assistant('C'), user('D'), assistant('E')],
  ],
  [
    'a message inside a piece without a role is found',
    [{ id: 'a', text: 'A', children: [{ id: 'b', text: 'B', children: [{ id: 'c', role: 'user', text: 'C' }] }] }],
    [system('A\nB'), user('C')],
  ],
  [
    'a piece without text is what its children say',
    [
      {
        id: 'a',
        children: [
          { id: 'b', text: 'B' },
          { id: 'c', text: 'C' },
        ],
      },
    ],
    [system('B\nC')],
  ],
  [
    'what is not enabled is dropped with all that is in it',
    [
      { id: 'a', enabled: false, text: 'A', children: [{ id: 'b', role: 'user', text: 'B' }] },
      {
        id: 'c',
        text: 'C',
        children: [
          { id: 'd', enabled: false, text: 'D', children: [{ id: 'e', text: 'E' }] },
          { id: 'f', enabled: false, role: 'user', text: 'F' },
          { id: 'g', enabled: true, text: 'G' },
        ],
      },
    ],
    [system('C\nG')],
  ],
  [
    'empty texts vanish',
    [
      { id: 'a', text: '' },
      { id: 'b', text: ' \n\t' },
      { id: 'c', role: 'user' },
      {
        id: 'd',
        text: 'D',
        children: [
          { id: 'e', text: '' },
          { id: 'f', text: 'F' },
        ],
      },
    ],
    [system('D\nF')],
  ],
  ['a text keeps its spaces', [{ id: 'a', text: '  A\n' }], [system('  A\n')]],
  [
    'the conversation stands where its piece is',
    [
      { id: 'a', text: 'A' },
      { id: 'h', text: 'gives way', history: [hello] },
      { id: 'b', role: 'user', text: 'B' },
    ],
    [system('A'), history, user('B')],
  ],
  [
    'a piece of the conversation without a role does not join its parent',
    [
      {
        id: 'a',
        text: 'A',
        children: [
          { id: 'h', history: [hello] },
          { id: 'b', text: 'B' },
        ],
      },
    ],
    [system('A\nB'), history],
  ],
  [
    'what is put into a piece of the conversation comes after it',
    [
      {
        id: 'h',
        history: [hello],
        children: [
          { id: 'a', text: 'A' },
          { id: 'b', role: 'user', text: 'B' },
        ],
      },
    ],
    [history, system('A'), user('B')],
  ],
  ['a conversation that is not enabled is dropped', [{ id: 'h', enabled: false, history: [hello] }], []],
  ['an empty conversation has its place', [{ id: 'h', history: [] }], [{ role: 'history', messages: [] }]],
]

describe('a flat prompt', () => {
  test.each(fixtures)('D039 %s', (_, tree, flat) => {
    expect(flattenPrompts(tree)).toEqual(flat)
  })

  test('D039 the tree stays as it is', () => {
    for (const [, tree] of fixtures) {
      const before = structuredClone(tree)
      flattenPrompts(tree)
      expect(tree).toEqual(before)
    }
  })

  test('D039 the conversation is the very list that was put there', () => {
    const messages = [hello]
    expect(flattenPrompts([{ id: 'h', history: messages }])).toEqual([{ role: 'history', messages }])
    expect((flattenPrompts([{ id: 'h', history: messages }])[0] as { messages: unknown }).messages).toBe(messages)
  })

  test('D039 a value that is no text, as from a file, is ignored', () => {
    expect(
      flattenPrompts([
        { id: 'a', text: 5 as unknown as string },
        { id: 'b', text: 'B' },
      ]),
    ).toEqual([system('B')])
  })
})
