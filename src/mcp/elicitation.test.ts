import type { ElicitRequestFormParams } from '@modelcontextprotocol/client'
import { expect, test } from 'vitest'
import type { InteractionResponse } from '../core/interaction.ts'
import { answerForm, answerUrl } from './elicitation.ts'

const { signal } = new AbortController()
type Answer = unknown | InteractionResponse

/** Asks a form of these fields; each answer is given once, the last one repeatedly. */
async function form(
  properties: object,
  answers: readonly Answer[],
  required: readonly string[] = Object.keys(properties),
) {
  const asked: { kind: string; prompt: string; options?: readonly unknown[] }[] = []
  const params = { message: 'Tell me', requestedSchema: { type: 'object', properties, required } }
  const result = await answerForm(
    'docs',
    params as unknown as ElicitRequestFormParams,
    async ({ payload }) => {
      asked.push(payload as never)
      const answer = answers[Math.min(asked.length, answers.length) - 1]
      const isWhole = typeof answer === 'object' && answer !== null && 'status' in answer
      return isWhole ? (answer as InteractionResponse) : { status: 'accepted', value: answer }
    },
    signal,
  )
  return { result, asked }
}

test('texts, numbers, choices and booleans are asked for one by one, and returned with their types', async () => {
  const { result, asked } = await form(
    {
      name: { type: 'string', title: 'Your name', description: 'as in your passport' },
      age: { type: 'integer' },
      size: { type: 'number' },
      color: { type: 'string', enum: ['r', 'g'], enumNames: ['red', 'green'] },
      place: { type: 'string', oneOf: [{ const: 'x', title: 'here' }, { const: 'y' }] },
      sure: { type: 'boolean' },
      tags: { type: 'array', items: { type: 'string', enum: ['a', 'b', 'c'] } },
    },
    ['Ada', '36', ' 1.5 ', 'green', 'y', 'no', 'a, c'],
  )
  expect(result).toEqual({
    action: 'accept',
    content: { name: 'Ada', age: 36, size: 1.5, color: 'g', place: 'y', sure: false, tags: ['a', 'c'] },
  })
  expect(asked.map(({ kind }) => kind)).toEqual(['Ask', 'Ask', 'Ask', 'Select', 'Select', 'Select', 'Ask'])
  expect(asked[0]?.prompt).toBe('The MCP server "docs" asks: Tell me\nYour name, as in your passport')
  expect(asked[3]?.options).toEqual(['red', 'green'])
  expect(asked[4]?.options).toEqual(['here', 'y'])
  expect(asked[5]?.options).toEqual(['yes', 'no'])
  expect(asked[6]?.prompt).toContain('Any of: a, b, c')
})

test('an empty answer means the default, which is shown', async () => {
  const { result, asked } = await form(
    {
      name: { type: 'string', default: 'Ada' },
      age: { type: 'integer', default: 36 },
      tags: { type: 'array', items: { anyOf: [{ const: 'a', title: 'Alpha' }] }, default: ['a'] },
    },
    ['', undefined, null],
  )
  expect(result).toEqual({ action: 'accept', content: { name: 'Ada', age: 36, tags: ['a'] } })
  expect(asked[0]?.prompt).toContain('default: Ada')
})

test('an optional field may be left empty', async () => {
  const { result } = await form({ name: { type: 'string' }, age: { type: 'integer' } }, ['', '36'], ['age'])
  expect(result).toEqual({ action: 'accept', content: { age: 36 } })
})

test('an invalid answer is asked for again, and declined after three attempts', async () => {
  const corrected = await form({ age: { type: 'integer' } }, ['old', '3.5', '36'])
  expect(corrected.result).toEqual({ action: 'accept', content: { age: 36 } })
  for (const [schema, answer] of [
    [{ type: 'integer' }, 'old'],
    [{ type: 'string', enum: ['a'] }, 'b'],
    [{ type: 'array', items: { enum: ['a'] } }, 'a, b'],
    [{ type: 'string' }, ''],
  ] as const) {
    const { result, asked } = await form({ field: schema }, [answer])
    expect(result).toEqual({ action: 'decline' })
    expect(asked).toHaveLength(3)
  }
})

test('a rejection declines, and a timeout cancels', async () => {
  const fields = { a: { type: 'string' }, b: { type: 'string' } }
  expect((await form(fields, ['x', { status: 'rejected', reason: 'none of your business' }])).result).toEqual({
    action: 'decline',
  })
  expect((await form(fields, ['x', { status: 'timeout' }])).result).toEqual({ action: 'cancel' })
})

test('a form without fields is a confirmation', async () => {
  const { result, asked } = await form({}, [true])
  expect([result, asked[0]?.kind]).toEqual([{ action: 'accept', content: {} }, 'Confirm'])
  expect((await form({}, [false])).result).toEqual({ action: 'decline' })
})

test('forms, lists and texts are bounded, and hidden characters are shown', async () => {
  const many = Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`f${n}`, { type: 'string' }]))
  expect(await form(many, ['x'])).toEqual({ result: { action: 'decline' }, asked: [] })
  const long = { type: 'string', enum: Array.from({ length: 201 }, (_, n) => `${n}`) }
  expect(await form({ long }, ['1'])).toEqual({ result: { action: 'decline' }, asked: [] })
  const { asked } = await form({ a: { type: 'string', title: `\u001b[2J${'x'.repeat(100_000)}` } }, ['x'])
  expect(asked[0]?.prompt.length).toBeLessThan(3000)
  expect(asked[0]?.prompt).not.toContain('\u001b')
})

test('fields named like properties of every object work', async () => {
  const properties = JSON.parse('{"__proto__":{"type":"string"},"constructor":{"type":"string"}}') as object
  const { result } = await form(properties, ['a', 'b'])
  expect(JSON.stringify(result)).toBe('{"action":"accept","content":{"__proto__":"a","constructor":"b"}}')
  expect(Object.getPrototypeOf({})).toBe(Object.prototype)
})

test('a page is shown with its host, and not opened', async () => {
  const asked: string[] = []
  const open = (url: string, value: unknown) =>
    answerUrl(
      'docs',
      { message: 'Sign in', url },
      async ({ payload }) => {
        asked.push(String(payload.prompt))
        return { status: 'accepted', value }
      },
      signal,
    )
  expect(await open('https://pay.example/login?x=1', true)).toEqual({ action: 'accept' })
  expect(asked[0]).toContain('asks you to open a page at pay.example: Sign in\nhttps://pay.example/login?x=1')
  expect(await open('https://pay.example', false)).toEqual({ action: 'decline' })
  for (const url of ['http://pay.example', 'file:///etc/passwd', 'javascript:alert(1)', 'no address'])
    expect(await open(url, true)).toEqual({ action: 'decline' })
  expect(asked).toHaveLength(2)
})
