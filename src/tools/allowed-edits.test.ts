import fc from 'fast-check'
import { expect, test } from 'vitest'
import { applyAllowed, type EditFunctions } from './allowed-edits.ts'
import type { EditInput } from './edit-file.ts'
import { replaceText } from './matching/replace.ts'
import { countedDiff } from './text/diff.ts'

const tools: EditFunctions = {
  apply: (text, { old_string, new_string, replace_all: all = false }) =>
    replaceText(text, { old: old_string, new: new_string, all }),
  diffOf: (before, after, options) => countedDiff('a', before, after, options),
  yieldIfDue: async () => {},
}
const outcomesOf = async (text: string, inputs: readonly EditInput[], allowed: readonly boolean[]) => {
  const decisions = allowed.map((one) => ({ decision: one ? 'allow' : 'deny' }) as const)
  const { outcomes, ...made } = await applyAllowed(text, inputs, decisions, tools)
  return { text: made.text, outcomes: outcomes.map(({ outcome }) => outcome) }
}
const rename = (old_string: string, new_string: string): EditInput => ({ old_string, new_string })

test('HK01 of edits of different lines exactly the allowed ones are made, in every combination', async () => {
  const lines = ['alpha', 'beta', 'gamma', 'delta', 'epsilon']
  const inputs = lines.map((line) => rename(line, `${line.toUpperCase()}\nnew`))
  const each = fc.array(fc.boolean(), { minLength: lines.length, maxLength: lines.length })
  await fc.assert(
    fc.asyncProperty(each, async (allowed) => {
      const { text, outcomes } = await outcomesOf(lines.join('\n'), inputs, allowed)
      expect(text).toBe(lines.map((line, i) => (allowed[i] ? inputs[i]!.new_string : line)).join('\n'))
      expect(outcomes).toEqual(allowed.map((one) => (one ? 'applied' : 'denied')))
    }),
  )
})

test('HK08 whatever the edits, those before the first denied one fare as if all were allowed', async () => {
  const word = fc.constantFrom('a', 'b', 'c', 'd')
  const words = fc.array(word, { minLength: 1, maxLength: 3 }).map((list) => list.join('\n'))
  const input = fc.record({ old_string: words, new_string: words, replace_all: fc.boolean() })
  await fc.assert(
    fc.asyncProperty(
      fc.array(word, { minLength: 1, maxLength: 8 }),
      fc.array(fc.tuple(input, fc.boolean()), { minLength: 2, maxLength: 5 }),
      async (lines, decided) => {
        const before = lines.join('\n')
        const allowed = decided.map(([, one]) => one)
        const inputs = decided.map(([one]) => one)
        const { outcomes } = await outcomesOf(before, inputs, allowed)
        const { outcomes: all } = await outcomesOf(
          before,
          inputs,
          allowed.map(() => true),
        )
        const firstDenied = allowed.indexOf(false)
        for (const [i, outcome] of outcomes.entries()) {
          if (!allowed[i]) expect(outcome).toBe('denied')
          // Up to the first denial nothing differs from what was shown.
          else if (firstDenied < 0 || i < firstDenied) expect(outcome).toBe(all[i])
        }
      },
    ),
  )
})

test('HK08 an edit that finds its text elsewhere without the denied one fails, and says why', async () => {
  const inputs = [rename('x = 1', 'y = 1\nx = 2'), rename('x = ', 'z = ')]
  const { outcomes, text } = await applyAllowed('x = 1\n', inputs, [{ decision: 'deny' }, { decision: 'allow' }], tools)
  expect(text).toBe('x = 1\n')
  expect(outcomes[1]).toMatchObject({ outcome: 'failed', reason: expect.stringContaining('other lines') })
})
