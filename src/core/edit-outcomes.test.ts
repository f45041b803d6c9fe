import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type EditOutcome,
  editOutcomesIn,
  editOutcomesText,
  parseEditOutcomesFromResult,
  readEditDecisions,
} from './edit-outcomes.ts'

const outcomes: fc.Arbitrary<EditOutcome[]> = fc.array(
  fc.record(
    {
      outcome: fc.constantFrom('applied', 'denied', 'failed'),
      reason: fc.oneof(
        fc.string({ minLength: 1 }).map((text) => text.replaceAll('\r', '') || 'x'),
        fc.constantFrom('a\nedit #2: applied', '\n', 'b\n\nedit #1: denied: c\n  d', ': denied'),
      ),
    },
    { requiredKeys: ['outcome'] },
  ),
  { minLength: 1, maxLength: 6 },
)

test('M09 a result tells what became of each edit, whatever the reasons say', () => {
  fc.assert(
    fc.property(outcomes, fc.constantFrom('a.ts', 'src/a b.ts', 'x: y'), (list, path) => {
      expect(parseEditOutcomesFromResult(editOutcomesText(path, list))).toEqual(list)
    }),
  )
})

test('M09 any other text is no such result', () => {
  const texts = [
    'Edited a.ts: 3 edits, 3 replacements',
    'Edited a.ts: 1/2 applied · 1 denied\nedit #1: applied',
    'Edited a.ts: 2/2 applied\nedit #1: applied\nedit #2: denied',
    'Edited a.ts: 1/2 applied · 1 denied\nedit #2: applied\nedit #1: denied',
  ]
  for (const text of texts) expect(parseEditOutcomesFromResult(text)).toBeUndefined()
  fc.assert(fc.property(fc.string(), (text) => void parseEditOutcomesFromResult(`Edited ${text}`)))
  for (const details of [undefined, {}, { edits: [] }, { edits: [{ outcome: 'eaten' }] }])
    expect(editOutcomesIn(details)).toBeUndefined()
})

test.each([[[]], ['allow'], [[{ decision: 'maybe' }]], [[{ decision: 'deny', note: 1 }]], [[null]]])(
  'HK04 %j is no decision about one edit',
  (value) => {
    expect(() => readEditDecisions(value, 1)).toThrow('edits must be a list of 1')
  },
)
