import { describe, expect, test } from 'vitest'
import { tokenBreakdown } from '../plugins/tokens/token-breakdown.ts'
import { tokenRing } from './token-ring.ts'

const counts = (total: number, limit?: number) => ({
  system: total,
  tools: 0,
  user: 0,
  assistant: 0,
  toolResults: 0,
  total,
  ...(limit !== undefined && { limit }),
})

describe('the ring', () => {
  test('has a segment for each kind, one after the other, as shares of the limit', () => {
    const ring = tokenRing({ system: 10, tools: 0, user: 20, assistant: 5, toolResults: 15, total: 50, limit: 100 })
    expect(ring).toEqual({
      segments: [
        { kind: 'system', tokens: 10, start: 0, end: 0.1 },
        { kind: 'user', tokens: 20, start: 0.1, end: 0.3 },
        { kind: 'assistant', tokens: 5, start: 0.3, end: 0.35 },
        { kind: 'toolResults', tokens: 15, start: 0.35, end: 0.5 },
      ],
      ratio: 0.5,
      level: 'ok',
      label: '50% of 100 tokens',
    })
  })

  test.each([
    [80, 'ok', '80%'],
    [81, 'warning', '81%'],
    [95, 'warning', '95%'],
    [96, 'danger', '96%'],
    [99.9, 'danger', '99%'],
    [100, 'danger', '100%'],
    [0.5, 'ok', 'under 1%'],
    [0, 'ok', '0%'],
  ])('D027 with %f of 100 is %s', (total, level, percent) => {
    expect(tokenRing(counts(total, 100))).toMatchObject({ level, label: `${percent} of 100 tokens` })
  })

  test('is full above the limit', () => {
    const ring = tokenRing({ system: 100, tools: 100, user: 0, assistant: 0, toolResults: 0, total: 200, limit: 100 })
    expect(ring).toMatchObject({ ratio: 2, level: 'danger', label: '200% of 100 tokens' })
    expect(ring.segments.map(({ start, end }) => [start, end])).toEqual([
      [0, 0.5],
      [0.5, 1],
    ])
  })

  test.each([undefined, 0, -1, Number.NaN, Number.POSITIVE_INFINITY])(
    'with the limit %s shows shares of the total',
    (limit) => {
      const ring = tokenRing({ ...counts(50, limit), user: 150, total: 200 })
      expect(ring).toEqual({
        segments: [
          { kind: 'system', tokens: 50, start: 0, end: 0.25 },
          { kind: 'user', tokens: 150, start: 0.25, end: 1 },
        ],
        level: 'ok',
        label: '200 tokens, limit unknown',
      })
    },
  )

  test('without tokens is empty', () => {
    expect(tokenRing(counts(0))).toEqual({ segments: [], level: 'ok', label: '0 tokens, limit unknown' })
    expect(tokenRing({ ...counts(0, 100), user: Number.NaN }).segments).toEqual([])
  })

  test.each([
    [999, '999'],
    [1000, '1k'],
    [8192, '8.2k'],
    [128_000, '128k'],
    [999_600, '1M'],
    [1_048_576, '1M'],
    [12_500_000, '13M'],
  ])('writes %i as %s', (limit, text) => {
    expect(tokenRing(counts(0, limit)).label).toBe(`0% of ${text} tokens`)
  })

  test('takes the breakdown of a request', () => {
    const ring = tokenRing(tokenBreakdown({ system: 'a'.repeat(40), tools: [], messages: [] }, 100))
    expect(ring).toMatchObject({ segments: [{ kind: 'system', tokens: 10 }], ratio: 0.1 })
  })
})
