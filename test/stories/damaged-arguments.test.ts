import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseArguments } from '../../src/core/tool-arguments.ts'
import { argumentDamages } from '../damage/argument-damages.ts'
import { argumentCase, argumentKinds, argumentOutcome } from '../damage/arguments.ts'
import { deceptiveText } from '../damage/deceptive-texts.ts'
import { Random } from '../damage/random.ts'
import { readAsEngine } from '../damage/read-as-engine.ts'
import { write } from '../damage/write-arguments.ts'

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

test('Q03 a text without quotes that contains the name of a property is refused', () => {
  fc.assert(
    fc.property(fc.nat(), (seed) => {
      const { text, schema = {} } = deceptiveText(new Random(seed))
      expect({ text, schema, input: readAsEngine({ text, schema }) }).toEqual({ text, schema, input: undefined })
    }),
    { numRuns: 2000 },
  )
})

test('Q04 texts without quotes and without commas are read, if the tool requires all properties', () => {
  const names = fc.stringMatching(/^[a-zäß_$][\w-]{0,5}$/)
  const texts = fc
    .stringMatching(/^[/~]?[a-zé][\w%<>=?&|+-]{0,5}( [\w%<>=?&|+-]{1,5}){0,2}$/)
    .filter((text) => !isWord.test(text))
  const values = fc.oneof(texts, fc.integer(), fc.boolean(), fc.array(fc.string()))
  fc.assert(
    fc.property(fc.dictionary(names, values), (meant) => {
      const text = write(meant, { key: (name) => name, propertyString: (value) => value })
      const properties = Object.fromEntries(Object.keys(meant).map((name) => [name, {}]))
      const input = readAsEngine({ text, schema: { properties, required: Object.keys(meant) } })
      expect({ text, input }).toEqual({ text, input: meant })
    }),
  )
})

const isWord = /^(?:true|false|null|none|nil|undefined|nan|inf|infinity|yes|no|on|off)$/i

test.each([
  ['str(true)', 'true'],
  ['Path(007)', '007'],
  ['str("a")', 'a'],
])('Q03 %s in the place of a value is refused: it may be a call, or a text without quotes', (call, inner) => {
  const schema = { properties: { pattern: { type: 'string' }, limit: { type: 'number' } } }
  const text = `{"pattern": ${call}, "limit": 0.5}`
  const isMadeBy = (kind: string, pattern: string): boolean =>
    Array.from({ length: 100 }, (_, seed) => new Random(seed)).some(
      (random) => argumentDamages[kind]!({ value: { pattern, limit: 0.5 }, schema }, random) === text,
    )
  expect(isMadeBy('functions around values', inner)).toBe(true)
  expect(isMadeBy('values without quotes', call)).toBe(true)
  expect(readAsEngine({ text, schema })).toBeUndefined()
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
