import { describe, expect, test } from 'vitest'
import type { Message, SessionContentBlock, SessionTurn } from '../../core/turn.ts'
import type { WireRules } from '../wire.ts'
import { repairMessage } from './message-rules.ts'

const rules: WireRules = {
  callId: { pattern: /^\w+$/, maxLength: 64 },
  toolName: { pattern: /^\w+$/, maxLength: 64 },
  imageTypes: [],
  documentTypes: [],
  maxMediaLength: 1000,
  maxImages: 10,
  maxTotalMediaLength: 1000,
  signedThinkingOnly: true,
  startsWithUser: true,
  endsWithUser: true,
}
const recipient = { provider: 'p', model: 'm', wire: 'w', toWire: (name: string) => name.replaceAll('.', '_') }
const ours = { provider: 'p', model: 'm' }
const sibling = { provider: 'p', model: 'other' }
const stranger = { provider: 'q', model: 'm' }

function fitted(role: string, content: readonly object[], by: Partial<SessionTurn> = {}) {
  const message = { role, content, ...by } as Message
  const { message: made, blockIndexes, repairs } = repairMessage(message, rules, recipient)
  return {
    content: made.content,
    role: made.role,
    blockIndexes,
    rules: repairs.map(({ rule }) => rule),
    isSame: made === message,
  }
}

const text = (words: string, more: object = {}) => ({ type: 'text', text: words, ...more })
const call = (more: object = {}) => ({ type: 'tool_call', id: 'a', name: 'look', input: {}, ...more })
const thought = (more: object = {}) => ({ type: 'thinking', text: 'Hm.', ...more })

describe('a message', () => {
  test('with nothing wrong stays the very same', () => {
    const content = [thought({ signature: 's' }), text('Yes.'), call()]
    expect(fitted('assistant', content, ours)).toMatchObject({ isSame: true, rules: [], blockIndexes: [0, 1, 2] })
  })

  test('knows for each of its blocks which one it was', () => {
    const { content, blockIndexes } = fitted('user', [text(''), text('A'), { type: 'x' }, text('B')])
    expect(content).toEqual([text('A'), text('B')])
    expect(blockIndexes).toEqual([1, 3])
  })

  test('of an unknown role is the user’s', () => {
    expect(fitted('system', [text('A')])).toMatchObject({ role: 'user', rules: ['wrong-role'] })
  })

  test('whose content is no list has none', () => {
    expect(fitted('user', 'words' as never)).toMatchObject({ content: [], isSame: false })
  })
})

describe('thinking', () => {
  const signed = thought({ signature: 's' })
  test.each([
    ['ours', ours, signed, []],
    ['of the same provider, whatever its model', { provider: 'p' }, signed, []],
    ['of an unknown model', {}, signed, []],
    ['of another model', sibling, signed, ['foreign-thinking']],
    ['of another provider', stranger, signed, ['foreign-thinking']],
    ['without a signature', ours, thought(), ['unsigned-thinking']],
    ['with an empty signature', ours, thought({ signature: '' }), ['unsigned-thinking']],
    [
      'with a lone surrogate, which cannot be repaired',
      ours,
      thought({ text: '\ud83d', signature: 's' }),
      ['malformed-text'],
    ],
    ['that is empty and unsigned, which is nothing', ours, thought({ text: '' }), []],
  ])('%s', (_, by, block, told) => {
    const { rules, content } = fitted('assistant', [block, text('Yes.')], by)
    expect(rules).toEqual(told)
    expect(content.length).toBe(told.length === 0 && block.text !== '' ? 2 : 1)
  })

  test('that led to nothing is left out', () => {
    const { content, rules } = fitted('assistant', [text('A'), signed, signed], ours)
    expect(content).toEqual([text('A')])
    expect(rules).toEqual(['thinking-last', 'thinking-last'])
  })

  test('is no business of the user', () => {
    expect(fitted('user', [signed, text('A')])).toMatchObject({ content: [text('A')], rules: ['wrong-role'] })
  })
})

describe('calls', () => {
  test.each([
    ['an unknown model', {}, true],
    ['another provider', stranger, true],
    ['another model of the same provider', sibling, false],
    ['this model', ours, false],
  ])('that %s made come last: %j', (_, by, isMoved) => {
    const { content, blockIndexes, rules } = fitted('assistant', [call(), text('A'), call({ id: 'b' })], by)
    expect(content.map(({ type }) => type)).toEqual(
      isMoved ? ['text', 'tool_call', 'tool_call'] : ['tool_call', 'text', 'tool_call'],
    )
    expect(blockIndexes).toEqual(isMoved ? [1, 0, 2] : [0, 1, 2])
    expect(rules).toEqual(isMoved ? ['calls-last'] : [])
  })

  test('that came with data of this wire keep their order', () => {
    const own = { providerData: { w: { bound: {} } } }
    expect(fitted('assistant', [call(own), text('A')])).toMatchObject({ isSame: true, rules: [] })
    expect(fitted('assistant', [call(), text('A', own)]).rules).toEqual(['calls-last'])
  })

  test('go out under names that the service takes', () => {
    const { content, rules } = fitted('assistant', [call({ name: 'fs.read' }), call({ name: '' }), call({ name: 7 })])
    expect(content).toMatchObject([{ name: 'fs_read' }, { name: 'unknown' }, { name: 'unknown' }])
    expect(rules).toEqual(['tool-name', 'tool-name', 'tool-name'])
  })

  test.each([['words'], [null], [[1]], [{ a: Number.POSITIVE_INFINITY }], [deep(200)]])(
    'with input like %j go out without',
    (input) => {
      expect(fitted('assistant', [call({ input })])).toMatchObject({
        content: [{ input: {} }],
        rules: ['malformed-input'],
      })
    },
  )
})

describe('what a wire keeps with a block', () => {
  const data = { w: { bound: { id: 1 }, citations: [2] }, x: { bound: 3 } }
  const said = (by: object) =>
    (fitted('assistant', [text('A', { providerData: data })], by).content[0] as { providerData?: object }).providerData
  test('is only sent back to the model that made it', () => {
    expect(said(ours)).toBe(data)
    expect(said({})).toBe(data)
    expect(said(sibling)).toEqual({ w: { citations: [2] } })
    expect(said(stranger)).toBeUndefined()
  })

  test.each([
    [{ w: { note: '\ud83d' } }, { w: { note: '\ufffd' } }],
    [{ w: 5 }, undefined],
    [{ w: null }, undefined],
    [{ w: deep(200) }, undefined],
  ])('FP-32 is repaired or left out if it is malformed: %j', (providerData, kept) => {
    const { content, rules } = fitted('assistant', [text('A', { providerData })], ours)
    expect((content[0] as { providerData?: object }).providerData).toEqual(kept)
    expect(rules).toEqual(['malformed-data'])
  })

  test('as a whole block of its own is nothing to another service', () => {
    const raw = text('', { providerData: { w: { block: { type: 'search' } } } })
    expect(fitted('assistant', [raw, text('A')], ours)).toMatchObject({ isSame: true })
    expect(fitted('assistant', [raw, text('A')], stranger)).toMatchObject({
      content: [text('A')],
      rules: ['foreign-block'],
    })
  })
})

describe('results', () => {
  const output = (given: unknown) => {
    const { content, rules } = fitted('user', [{ type: 'tool_result', callId: 'a', output: given }])
    return [(content[0] as SessionContentBlock & { output: unknown }).output, ...rules]
  }
  test('are texts and images, and nothing else', () => {
    expect(output('seen')).toEqual(['seen'])
    expect(output('')).toEqual([''])
    expect(output('\ud83d')).toEqual(['\ufffd', 'malformed-text'])
    expect(output(undefined)).toEqual(['', 'malformed-result'])
    expect(output([text('A'), text(' '), { type: 'x' }, null])).toEqual([
      [text('A')],
      'empty-text',
      'malformed-result',
      'malformed-result',
    ])
  })
})

function deep(levels: number): object {
  let value: object = {}
  for (let i = 0; i < levels; i++) value = { value }
  return value
}
