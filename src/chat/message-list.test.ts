import { describe, expect, test } from 'vitest'
import { recordings } from '../../test/view/recorded-runs.ts'
import type { AgentInstanceMessage } from '../plugins/message.ts'
import { emptyView, foldEvent } from '../view/session-view.ts'
import { createMessageList, isFaded } from './message-list.ts'

const said = (id: string, more: Partial<AgentInstanceMessage> = {}): AgentInstanceMessage => ({
  id,
  agentId: 'a',
  role: 'assistant',
  content: id,
  ...more,
})
const asked = (id: string): AgentInstanceMessage => said(id, { role: 'user' })
const streamed = (id: string, content: string): AgentInstanceMessage =>
  said(id, { content, metadata: { isComplete: false } })

function listOf(...messages: readonly AgentInstanceMessage[]) {
  const list = createMessageList()
  for (const message of messages) list.apply(message)
  return list
}

describe('rows', () => {
  test('D043 are found by id, in the order of arrival; an update keeps its place', () => {
    const list = listOf(asked('u'), said('x'), said('y'))
    expect(list.apply(said('x', { content: 'other' }))).toBe(true)
    expect(list.ids).toEqual(['u', 'x', 'y'])
    expect(list.get('x')?.content).toBe('other')
    expect(list.get('none')).toBeUndefined()
  })

  test('D043 keep their identity while nothing changed, so that a screen draws only changes', () => {
    const list = listOf(
      asked('u'),
      said('x', { metadata: { details: { list: [1, { a: 2 }] } } }),
      asked('v'),
      said('y'),
    )
    const { ids, turns } = list
    const x = list.get('x')
    expect(list.apply(said('x', { metadata: { details: { list: [1, { a: 2 }] } } }))).toBe(false)
    expect(list.get('x')).toBe(x)
    expect(list.ids).toBe(ids)
    expect(list.turns).toBe(turns)

    expect(list.apply(said('y', { content: 'more' }))).toBe(true)
    expect(list.ids).toBe(ids)
    expect(list.turns).not.toBe(turns)
    expect(list.turns[0]).toBe(turns[0])
    expect(list.turns[1]).not.toBe(turns[1])

    expect(list.apply(said('x', { metadata: { details: { list: [1, { a: 3 }] } } }))).toBe(true)
    expect(list.turns[0]).not.toBe(turns[0])
    expect(list.turns[0]?.messages[0]).toBe(turns[0]?.messages[0])

    const [first, second] = list.turns
    list.apply(asked('w'))
    expect([list.turns[0] === first, list.turns[1] === second, list.turns.length]).toEqual([true, true, 3])
  })

  test('a cyclic message counts as changed and does not hang', () => {
    const loop = (): AgentInstanceMessage => {
      const details: Record<string, unknown> = {}
      details.self = details
      return said('x', { metadata: { details } })
    }
    const list = listOf(loop())
    expect(list.apply(loop())).toBe(true)
  })

  test('can be removed', () => {
    const list = listOf(asked('u'), said('x'), asked('v'), said('y'))
    expect(list.remove('v')).toBe(true)
    expect(list.remove('v')).toBe(false)
    expect(list.ids).toEqual(['u', 'x', 'y'])
    expect(list.turns.map(({ messages }) => messages.map(({ id }) => id))).toEqual([['u', 'x', 'y']])
  })
})

describe('turns', () => {
  test('are a message of a person and the messages after it, without hidden ones', () => {
    const list = listOf(
      said('hello'),
      asked('u'),
      said('call'),
      said('result', { role: 'tool' }),
      said('go on', { role: 'user', hidden: true }),
      said('answer'),
      asked('v'),
    )
    const shape = () => list.turns.map(({ id, user, messages }) => [id, user?.id, messages.map((one) => one.id)])
    expect(shape()).toEqual([
      ['hello', undefined, ['hello']],
      ['u', 'u', ['u', 'call', 'result', 'answer']],
      ['v', 'v', ['v']],
    ])
    expect(list.ids).not.toContain('go on')
    expect(list.get('go on')?.hidden).toBe(true)
    list.apply(said('go on', { role: 'user' }))
    expect(list.ids[4]).toBe('go on')
    expect(shape()[2]).toEqual(['go on', 'go on', ['go on', 'answer']])
    list.apply(said('v', { role: 'user', hidden: true }))
    expect(shape()).toHaveLength(3)
  })

  test('M07 D043 the list is virtualised from more than 50 messages, however few turns they are', () => {
    const list = createMessageList()
    list.apply(asked('u'))
    for (let i = 2; i <= 50; i++) list.apply(said(`x${i}`))
    expect([list.turns.length, list.isVirtualised]).toEqual([1, false])
    list.apply(said('hidden', { hidden: true }))
    expect(list.isVirtualised).toBe(false)
    list.apply(said('x51'))
    expect([list.turns.length, list.isVirtualised]).toEqual([1, true])
    list.remove('x51')
    expect(list.isVirtualised).toBe(false)
  })

  test('incremental updates give the same turns as all messages at once', () => {
    const list = createMessageList()
    let seed = 7
    const next = (below: number) => (seed = (seed * 48271) % 2147483647) % below
    const now = new Map<string, AgentInstanceMessage>()
    for (let step = 0; step < 500; step++) {
      const id = `m${next(30)}`
      if (next(8) === 0) {
        list.remove(id)
        now.delete(id)
      } else {
        const role = (['user', 'assistant', 'tool'] as const)[next(3)]!
        const message = said(id, { role, content: String(next(3)), hidden: next(6) === 0 })
        list.apply(message)
        now.set(id, message)
      }
      if (next(3) > 0) continue
      const shown = [...now.values()].filter(({ hidden }) => !hidden)
      expect(list.ids).toEqual(shown.map((one) => one.id))
      expect(list.turns.flatMap(({ messages }) => messages)).toEqual(shown)
      expect(list.turns).toHaveLength(shown.filter(({ role }, i) => role === 'user' || i === 0).length)
    }
  })
})

describe('a streamed message', () => {
  test('grows, and never becomes incomplete again', () => {
    const list = listOf(asked('u'), streamed('x', 'He'))
    expect(list.apply(streamed('x', 'Hello'))).toBe(true)
    list.apply(said('x', { content: 'Hello.', metadata: { isComplete: true } }))
    expect(list.apply(streamed('x', 'Hello'))).toBe(false)
    expect(list.get('x')?.content).toBe('Hello.')
    expect(list.apply(said('x', { content: 'edited' }))).toBe(true)
  })

  test('is ignored after a cancel; the final form is not', () => {
    const list = listOf(asked('u'), streamed('x', 'He'))
    list.cancel()
    expect(list.apply(streamed('x', 'Hello'))).toBe(false)
    expect(list.get('x')?.content).toBe('He')
    expect(list.apply(said('x', { content: 'He', metadata: { isComplete: true } }))).toBe(true)
    expect(list.apply(streamed('x', 'Hello'))).toBe(false)
    expect(list.apply(streamed('next', 'A'))).toBe(true)
  })

  test('does not add a removed message again', () => {
    const list = listOf(asked('u'), streamed('x', 'He'))
    list.remove('x')
    expect(list.apply(streamed('x', 'Hello'))).toBe(false)
    expect(list.ids).toEqual(['u'])
  })
})

describe('a faded message', () => {
  test.each([
    [undefined, 100, false],
    [null, 100, false],
    [0, 0, true],
    [1, 0, false],
    [1, 1, true],
    [3, 2, false],
    [3, 3, true],
  ])('with duration %s, after %i answered calls: %s', (duration, since, expected) => {
    expect(isFaded({ duration: duration as number }, since)).toBe(expected)
  })

  test('depends on model calls, so that all results of one batch stay equally long', () => {
    const result = (id: string) => said(id, { role: 'tool', duration: 1 })
    const list = listOf(asked('u'), said('call', { duration: 1 }), result('r1'), result('r2'), result('r3'))
    const faded = () => list.ids.filter((id) => list.isFaded(id))
    expect(faded()).toEqual([])
    list.apply(streamed('second', 'a'))
    expect(faded()).toEqual([]) // the call that has them is still being answered
    list.apply(said('second', { duration: 1 }))
    expect(faded()).toEqual(['call', 'r1', 'r2', 'r3'])
    list.apply(said('third'))
    expect(faded()).toEqual(['call', 'r1', 'r2', 'r3', 'second'])
    expect(list.isFaded('none')).toBe(false)
  })
})

describe('the messages of a session', () => {
  test.each(Object.entries(recordings))('SV12 are those of its view, live and on a replay: %s', async (_, recorded) => {
    const list = createMessageList()
    let view = emptyView
    for (const event of await recorded()) {
      view = foldEvent(view, event)
      list.show(view)
      if (!event.durable) continue
      const replayed = createMessageList()
      replayed.show(view)
      expect(list.turns).toEqual(replayed.turns)
    }
    const rows = [...view.rows].filter((row) => row.kind === 'message' || row.kind === 'answer')
    expect(list.ids).toEqual(expect.arrayContaining(rows.map(({ id }) => id)))
    const { turns } = list
    list.show(view)
    expect(list.turns).toBe(turns)
  })

  test('SV12 an answer streams as one message, and is shown again when the model call is tried again', async () => {
    const list = createMessageList()
    const texts = new Set<string>()
    let view = emptyView
    for (const event of await recordings['a service that breaks off, then fails for good']!()) {
      view = foldEvent(view, event)
      list.show(view)
      const last = list.turns[0]?.messages.at(-1)
      if (last) texts.add(`${last.role} ${last.content}`)
    }
    expect([...texts]).toEqual([
      ...['user One.', 'assistant Half an ans', 'assistant A whole ', 'assistant A whole answer.'],
    ])
  })
})
