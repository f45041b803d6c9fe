import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fuzzyIndex, fuzzyScore } from './fuzzy-match.ts'

const text = fc.string({ unit: fc.constantFrom(...'abcdeABCDE/._- é1'), minLength: 1, maxLength: 40 })

describe('a fuzzy match', () => {
  test('UI44 every subsequence of a text matches it, and nothing else does', () => {
    fc.assert(
      fc.property(text, fc.array(fc.boolean(), { minLength: 40, maxLength: 40 }), text, (whole, keep, other) => {
        const part = [...whole].filter((_, i) => keep[i]).join('')
        expect(fuzzyScore(part, whole)).toBeTypeOf('number')
        expect(fuzzyScore(part.toUpperCase(), whole)).toBeTypeOf('number')
        expect(fuzzyScore(other, whole) !== undefined).toBe(isSubsequence(other.toLowerCase(), whole.toLowerCase()))
      }),
    )
  })

  test('UI44 a text that begins with the query comes before all that do not', () => {
    fc.assert(
      fc.property(fc.array(text, { minLength: 2, maxLength: 30 }), text, (texts, query) => {
        const found = fuzzyIndex(texts, String).best(query, 100)
        const begins = found.map((one) => one.toLowerCase().startsWith(query.toLowerCase()))
        expect(begins).toEqual(begins.toSorted((a, b) => Number(b) - Number(a)))
        const matching = texts.filter((one) => fuzzyScore(query, one) !== undefined)
        expect(found.toSorted()).toEqual(matching.toSorted())
      }),
    )
  })

  test('letters together, at word starts and in the name of the file count more', () => {
    const files = [
      'src/core/loop.ts',
      'docs/rollup.md',
      'src/cli/run/open-agent.ts',
      'src/tools/read-file.ts',
      'loops/x.ts',
    ]
    const best = (query: string) => fuzzyIndex(files, String).best(query, 2)[0]
    expect(best('loop.')).toBe('src/core/loop.ts')
    expect(best('oa')).toBe('src/cli/run/open-agent.ts')
    expect(best('readfile')).toBe('src/tools/read-file.ts')
    expect(best('rollup')).toBe('docs/rollup.md')
    expect(best('src/cli')).toBe('src/cli/run/open-agent.ts')
    expect(best('zzz')).toBeUndefined()
  })
})

function isSubsequence(part: string, whole: string): boolean {
  let at = 0
  for (const letter of whole) if (letter === part[at]) at++
  return at === part.length
}
