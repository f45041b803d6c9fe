import fc from 'fast-check'
import { expect, test } from 'vitest'
import { line, underLayers } from '../../test/authority/call-kit.ts'
import { around, calls, changedCalls, entries, layers, lines, settings } from '../../test/authority/random-calls.ts'
import { rounds } from '../../test/soak.ts'
import { decide } from './decide.ts'
import type { DecisionContext } from './decision-context.ts'
import type { JudgedCall } from './judged-call.ts'

const looseness = { deny: 0, ask: 1, allow: 2 }
const looseOf = (call: JudgedCall, context: DecisionContext): number => looseness[decide(call, context).verdict]

const runs = { numRuns: rounds(500, 2000) }

test('an additional deny rule never loosens a decision', () => {
  fc.assert(
    fc.property(calls, settings, entries, around, (call, own, entry, rest) => {
      const before = looseOf(call, underLayers({ launch: own }, rest))
      const after = looseOf(call, underLayers({ launch: { ...own, deny: [...(own.deny ?? []), entry] } }, rest))
      expect(after).toBeLessThanOrEqual(before)
    }),
    runs,
  )
})

test('a line is never judged more loosely than any of its commands alone', () => {
  fc.assert(
    fc.property(lines, settings, (call, own) => {
      // Where every call is to be confirmed, `cd src` alone is covered by no rule, and needs none in a line that is.
      const context = underLayers({ launch: { ...own, tools: {} } })
      const { commands: all, ...rest } = call.shell!
      const whole = looseOf(call, context)
      for (const one of all) expect(whole).toBeLessThanOrEqual(looseOf(line([one], rest), context))
    }),
    runs,
  )
})

test('TR-05 no setting of a project loosens any decision', () => {
  fc.assert(
    fc.property(calls, layers, settings, around, (call, own, project, rest) => {
      const without = looseOf(call, underLayers(own, rest))
      expect(looseOf(call, underLayers({ ...own, project }, rest))).toBeLessThanOrEqual(without)
    }),
    runs,
  )
})

test('nothing is allowed that a deny rule of any layer names', () => {
  fc.assert(
    fc.property(calls, layers, around, (call, own, rest) => {
      const context = underLayers(
        { ...own, project: { deny: ['shell', 'read_file', 'write_file', 'spawn', 'other'] } },
        rest,
      )
      expect(decide(call, context)).toMatchObject({ verdict: 'deny', by: 'deny-rule' })
    }),
    { numRuns: 300 },
  )
})

test('PI-02 no setting allows a changed tool silently; only an approval of the new definition does', () => {
  fc.assert(
    fc.property(changedCalls, layers, around, (call, own, { grant, ...rest }) => {
      const unapproved = underLayers(own, rest)
      expect(decide(call, unapproved).verdict).not.toBe('allow')
      expect(decide(call, { ...unapproved, floor: 'deny' }).verdict).toBe('deny')
      const { verdict, by } = decide(call, { ...unapproved, ...(grant && { grant }) })
      if (verdict !== 'allow') return
      expect(by).toBe('grant')
      expect(call.origin.digest).toBe('new')
    }),
    runs,
  )
})

test('PI-02 a changed tool is never judged more loosely', () => {
  fc.assert(
    fc.property(changedCalls, layers, around, (call, own, rest) => {
      const context = underLayers(own, rest)
      const before = { ...call, origin: { ...call.origin, isChanged: false } }
      expect(looseOf(call, context)).toBeLessThanOrEqual(looseOf(before, context))
    }),
    runs,
  )
})
