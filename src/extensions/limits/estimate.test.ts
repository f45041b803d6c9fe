import { describe, expect, test } from 'vitest'
import type { ModelRequest } from '../../core/provider.ts'
import type { Message } from '../../core/turn.ts'
import { Estimator, thinkingTokens } from './estimate.ts'

const tools: ModelRequest['tools'] = []
const said = (text: string, role: Message['role'] = 'user'): Message => ({ role, content: [{ type: 'text', text }] })
const asking = (...messages: Message[]): ModelRequest => ({
  model: 'm',
  system: 'be good',
  tools,
  messages,
  maxTokens: 100,
  thinking: 'off',
  cache: true,
})
const prose = 'It was a bright cold day in April, and the clocks were striking thirteen. '.repeat(200)

describe('the first estimate', () => {
  test('is above what a service counts, and below three times that', () => {
    const real = prose.length / 4.4 // as services count English
    const estimate = new Estimator().inputTokens(asking(said(prose)))
    expect(estimate).toBeGreaterThan(real)
    expect(estimate).toBeLessThan(real * 3)
  })

  test.each([
    ['base64', 'aGVsbG8gd29ybGQhIQ+/'.repeat(500), 1.4],
    ['hashes', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 '.repeat(100), 1.6],
    ['Chinese', '今天天气很好我们去公园散步吧'.repeat(100), 3],
  ])('holds for %s', (_, text, bytesPerToken) => {
    const real = new TextEncoder().encode(text).length / bytesPerToken
    expect(new Estimator().inputTokens(asking(said(text)))).toBeGreaterThan(real)
  })

  test('counts images at a flat figure, wherever they are', () => {
    const image = { type: 'image', mediaType: 'image/png', data: 'A'.repeat(1_000_000) } as const
    const alone = new Estimator().inputTokens(asking({ role: 'user', content: [image] }))
    const result = { type: 'tool_result', callId: '1', output: [image] } as const
    const inResult = new Estimator().inputTokens(asking({ role: 'user', content: [result] }))
    expect(alone).toBeGreaterThan(5000)
    expect(alone).toBeLessThan(6500)
    expect(inResult).toBeGreaterThan(5000)
    expect(inResult).toBeLessThan(6500)
  })

  test('counts tools, schemas and signatures', () => {
    const small = new Estimator().inputTokens(asking(said('hi')))
    const tool = { name: 't', description: prose, inputSchema: { type: 'object' } }
    expect(new Estimator().inputTokens({ ...asking(said('hi')), tools: [tool] })).toBeGreaterThan(small + 3000)
    expect(
      new Estimator().inputTokens({ ...asking(said('hi')), outputSchema: { description: prose } }),
    ).toBeGreaterThan(small + 3000)
    const thought: Message = {
      role: 'assistant',
      content: [{ type: 'thinking', text: '', signature: 'c2lnbmF0dXJl'.repeat(100) }],
    }
    expect(new Estimator().inputTokens(asking(said('hi'), thought))).toBeGreaterThan(small + 700)
  })
})

describe('after a reply', () => {
  const first = said(prose)
  const real = Math.round(prose.length / 4.4)

  test('the beginning counts as what it was, and what came since by its size', () => {
    const estimator = new Estimator()
    estimator.learn(asking(first), real)
    const estimate = estimator.inputTokens(asking(first, said('fine', 'assistant'), said(prose)))
    expect(estimate).toBeGreaterThan(real * 2)
    expect(estimate).toBeLessThan(real * 1.02 + prose.length / 3 + 100)
  })

  test('a list that has grown under our hands is no other one', () => {
    const estimator = new Estimator()
    const messages = [first]
    estimator.learn({ ...asking(), messages }, real)
    messages.push(said('fine', 'assistant'), said('go on'))
    expect(estimator.inputTokens({ ...asking(), messages })).toBeLessThan(real * 1.02 + 100)
  })

  test('another conversation is never thought to be smaller for it', () => {
    const estimator = new Estimator()
    const rough = estimator.inputTokens(asking(said(prose)))
    estimator.learn(asking(said('hi', 'user')), 12)
    expect(estimator.inputTokens(asking(said(prose)))).toBe(rough)
  })

  test('a service that counts more than we thought is believed', () => {
    const estimator = new Estimator()
    const rough = estimator.inputTokens(asking(first))
    estimator.learn(asking(first), rough * 2)
    expect(estimator.inputTokens(asking(said(prose)))).toBeGreaterThanOrEqual(rough * 2)
    expect(estimator.inputTokens(asking(first, said(prose)))).toBeGreaterThan(rough * 3)
  })

  test('one that counts nothing teaches nothing', () => {
    const estimator = new Estimator()
    const rough = estimator.inputTokens(asking(first))
    estimator.learn(asking(first), 0)
    expect(estimator.inputTokens(asking(first))).toBe(rough)
  })
})

test('thinking comes on top only where a wire adds it', () => {
  const request = asking()
  expect(thinkingTokens(request)).toBe(0)
  expect(thinkingTokens({ ...request, thinking: 'adaptive', thinkingBudget: 5000 })).toBe(0)
  expect(thinkingTokens({ ...request, thinking: 'high' })).toBe(32_768)
  expect(thinkingTokens({ ...request, thinking: 'low', thinkingBudget: 10 })).toBe(1024)
})
