import { describe, expect, test } from 'vitest'
import { estimateTokens } from '../../core/estimate-tokens.ts'
import type { Message, SessionContentBlock } from '../../core/turn.ts'
import { messageTokens } from './message-tokens.ts'
import { type TokenBreakdown, tokenBreakdown, tokenLevel, withReported } from './token-breakdown.ts'

const read = { name: 'read', description: 'Reads a file.', inputSchema: { type: 'object', properties: {} } }

const conversation: readonly Message[] = [
  {
    role: 'user',
    content: [text('a'.repeat(40)), { type: 'image', mediaType: 'image/png', data: 'AAAA'.repeat(999) }],
  },
  {
    role: 'assistant',
    content: [
      { type: 'thinking', text: 'b'.repeat(20) },
      text('c'.repeat(12)),
      { type: 'tool_call', id: '1', name: 'read', input: { path: 'x' } },
    ],
  },
  {
    role: 'user',
    content: [
      { type: 'tool_result', callId: '1', output: 'd'.repeat(80) },
      {
        type: 'tool_result',
        callId: '2',
        output: [text('e'.repeat(8)), { type: 'document', mediaType: 'application/pdf', data: 'AAAA' }],
      },
      text('f'.repeat(4)),
    ],
  },
]

describe('a breakdown', () => {
  test('D026 the five categories sum to the total', () => {
    const found = tokenBreakdown({ system: 's'.repeat(400), tools: [read], messages: conversation })
    const tools = estimateTokens(JSON.stringify(read))
    const call = estimateTokens('read{"path":"x"}')
    expect(found).toEqual({
      system: 100,
      tools,
      user: 10 + 100 + 1,
      assistant: 5 + 3 + call,
      toolResults: 20 + 2 + 100,
      total: 100 + tools + 111 + 8 + call + 122,
      level: 'ok',
    })
    expect(sumOf(found)).toBe(found.total)
  })

  test('D026 nothing counts nothing', () => {
    const found = tokenBreakdown({ system: '', tools: [], messages: [] }, 100)
    expect(found).toMatchObject({ total: 0, ratio: 0, limit: 100, level: 'ok' })
  })

  test('D026 arguments that could not be read count as they were written', () => {
    const call = { type: 'tool_call', id: '1', name: 'read', input: {}, raw: 'x'.repeat(36) } as const
    const { assistant } = tokenBreakdown({ system: '', tools: [], messages: [{ role: 'assistant', content: [call] }] })
    expect(assistant).toBe(10)
  })

  test('a message is counted once, however often it is asked for', () => {
    let reads = 0
    const message: Message = {
      role: 'user',
      get content() {
        reads++
        return [text('hello')]
      },
    }
    for (let round = 0; round < 50; round++) tokenBreakdown({ system: '', tools: [], messages: [message] })
    expect(messageTokens(message)).toEqual({ texts: 2, results: 0, total: 2 })
    expect(reads).toBe(1)
  })

  test('a tool is written out once, however often it is asked for', () => {
    let reads = 0
    const tool = {
      ...read,
      get inputSchema() {
        reads++
        return { type: 'object' }
      },
    }
    for (let round = 0; round < 50; round++) tokenBreakdown({ system: '', tools: [tool], messages: [] })
    expect(reads).toBe(1)
  })
})

describe('how full a context is', () => {
  test.each([
    [0, 'ok'],
    [799, 'ok'],
    [800, 'ok'],
    [801, 'warning'],
    [949, 'warning'],
    [950, 'warning'],
    [951, 'danger'],
    [1000, 'danger'],
    [2000, 'danger'],
  ])('D027 over 0.8 is a warning, over 0.95 a danger: %i of 1000 is %s', (tokens, level) => {
    const found = tokenBreakdown({ system: 'abcd'.repeat(tokens), tools: [], messages: [] }, 1000)
    expect(found).toMatchObject({ total: tokens, limit: 1000, ratio: tokens / 1000, level })
    expect(tokenLevel(tokens / 1000)).toBe(level)
  })

  test.each([undefined, 0, -1, Number.NaN])(
    'D027 without a limit there is no ratio, and nothing to warn of: %s',
    (limit) => {
      const found = tokenBreakdown({ system: 'abcd'.repeat(1000), tools: [], messages: [] }, limit)
      expect(found.level).toBe('ok')
      expect(found).not.toHaveProperty('ratio')
      expect(found).not.toHaveProperty('limit')
    },
  )
})

describe('the total of a provider', () => {
  const estimate = tokenBreakdown({ system: 's'.repeat(400), tools: [read], messages: conversation }, 10_000)

  test.each([1, 7, 333, 9_000, 123_457])('D026 is the total, and the parts still sum to it: %i', (input) => {
    const found = withReported(estimate, { input, output: 99, cacheRead: 20, cacheCreation: 3 })
    expect(found.total).toBe(input + 23)
    expect(sumOf(found)).toBe(found.total)
    expect(found.reported).toBe(true)
    expect(found.ratio).toBe((input + 23) / 10_000)
    for (const part of partsOf(found)) expect(part >= 0 && Number.isInteger(part)).toBe(true)
  })

  test('scales the parts by their share', () => {
    const found = withReported(estimate, { input: estimate.total * 3, output: 0 })
    for (const [i, part] of partsOf(found).entries()) expect(Math.abs(part - partsOf(estimate)[i]! * 3)).toBeLessThan(2)
  })

  test('D027 decides how full the context is', () => {
    expect(estimate.level).toBe('ok')
    expect(withReported(estimate, { input: 9_000, output: 0 }).level).toBe('warning')
    expect(withReported(estimate, { input: 9_000, output: 0, cacheRead: 501 }).level).toBe('danger')
  })

  test('changes nothing where it is nothing', () => {
    expect(withReported(estimate, { input: 0, output: 5 })).toBe(estimate)
    expect(withReported(estimate, { input: Number.NaN, output: 5 })).toBe(estimate)
  })

  test('goes to the system prompt if there are no estimates', () => {
    const found = withReported(tokenBreakdown({ system: '', tools: [], messages: [] }), { input: 12, output: 0 })
    expect(found).toMatchObject({ system: 12, total: 12 })
  })
})

function text(words: string): SessionContentBlock & { readonly type: 'text' } {
  return { type: 'text', text: words }
}

function partsOf({ system, tools, user, assistant, toolResults }: TokenBreakdown): number[] {
  return [system, tools, user, assistant, toolResults]
}

function sumOf(breakdown: TokenBreakdown): number {
  return partsOf(breakdown).reduce((sum, part) => sum + part, 0)
}
