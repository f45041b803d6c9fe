import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseArguments } from '../../src/core/tool-arguments.ts'
import { argumentCase, argumentKinds, argumentOutcome } from '../damage/arguments.ts'
import { readAsEngine } from '../damage/read-as-engine.ts'

test('Q01 Q03 Q04 damaged arguments become what was meant, or are refused, whatever the damage', () => {
  fc.assert(
    fc.property(fc.constantFrom(...argumentKinds), fc.nat(), (kind, seed) => {
      const one = argumentCase(kind, seed)
      expect({ kind, text: one.text, outcome: argumentOutcome(one, readAsEngine) }).not.toMatchObject({
        outcome: 'wrong',
      })
    }),
    { numRuns: 1500 },
  )
})

test('any JSON object is read as JSON.parse reads it, however it is spaced and escaped', () => {
  const input = fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue({ stringUnit: 'grapheme' }))
  fc.assert(
    fc.property(input, fc.constantFrom('', ' ', '\t'), (given, space) => {
      const text = JSON.stringify(given, null, space).replace(/[^\x20-\x7e\n\t]/g, escaped)
      expect(parseArguments(text, false).input).toEqual(JSON.parse(text))
    }),
  )
})

const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
