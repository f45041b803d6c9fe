import { describe, expect, test } from 'vitest'
import type { Message } from '../core/turn.ts'
import { BodyBuilder } from './body.ts'
import { anthropicMessages } from './wires/anthropic-messages.ts'

const user = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] })
const assistant = (text: string): Message => ({ role: 'assistant', content: [{ type: 'text', text }] })
const fields = { model: 'm', system: 'Be kind.' }
const textOf = (parts: readonly Uint8Array[]): string => Buffer.concat(parts).toString()

/** A wire that counts how often it has to write a message. */
function counting() {
  const wire = anthropicMessages()
  const written = new Map<Message, number>()
  const writeMessage = (message: Message) => {
    written.set(message, (written.get(message) ?? 0) + 1)
    return wire.writeMessage(message)
  }
  return { wire: { ...wire, writeMessage }, written }
}

describe('a conversation that grows', () => {
  test('is written once, message by message, and sent again as the same bytes', () => {
    const { wire, written } = counting()
    const book = new BodyBuilder(wire)
    const messages: Message[] = []
    let before: Uint8Array[] = []
    for (let turn = 0; turn < 50; turn++) {
      messages.push(user(`question ${turn}`), assistant(`answer ${turn} 🌍`), user(`and ${turn}?`))
      const parts = book.build(fields, [], messages, [messages.length - 1])
      // What was sent before lies where it lay, all but the end of the message that was the last.
      expect(parts[0]).toBe(before[0] ?? parts[0])
      const buffers = new Set(parts.map(({ buffer }) => buffer))
      for (const part of before.slice(1, -3)) expect(buffers.has(part.buffer)).toBe(true)
      before = parts
    }
    expect([...written.values()].every((times) => times === 1)).toBe(true)
    expect(written.size).toBe(150)
    expect(before.length).toBeLessThan(12)
    const plain = messages.map((message) => anthropicMessages().writeMessage(message)[0]!.json)
    const body = JSON.parse(textOf(before))
    expect(body.messages.at(-1).content[0].cache_control).toEqual({ type: 'ephemeral' })
    delete body.messages.at(-1).content[0].cache_control
    expect(body).toEqual({ ...fields, messages: plain })
  })

  test('is not written again when its list is copied', () => {
    const { wire, written } = counting()
    const book = new BodyBuilder(wire)
    const messages = [user('a'), assistant('b'), user('c')]
    for (let i = 0; i < 5; i++) book.build(fields, [], [...messages], [2])
    expect([...written.values()]).toEqual([1, 1, 1])
  })
})

test('A161 a mark is never put on thinking that stands at the end', () => {
  const thinking: Message = {
    role: 'assistant',
    content: [
      { type: 'text', text: 'So.' },
      { type: 'thinking', text: 'Hm.', signature: 's' },
    ],
  }
  const { messages } = JSON.parse(
    textOf(new BodyBuilder(anthropicMessages()).build(fields, [], [user('a'), thinking], [1])),
  )
  expect(messages[1].content).toEqual([
    { type: 'text', text: 'So.', cache_control: { type: 'ephemeral' } },
    { type: 'thinking', thinking: 'Hm.', signature: 's' },
  ])
})

test('half a character or NUL in what stands before the conversation is no reason to refuse it', () => {
  const broken = { system: 'a\uD83Db\u0000c', tools: [{ description: 'x\uDC00y \\ud800 stays' }] }
  const body = JSON.parse(textOf(new BodyBuilder(anthropicMessages()).build(broken, [], [user('a')], [])))
  expect(body.system).toBe('a\uFFFDb\uFFFDc')
  expect(body.tools[0].description).toBe('x\uFFFDy \\ud800 stays')
})
