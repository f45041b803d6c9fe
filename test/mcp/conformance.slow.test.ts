import { afterAll, describe, expect, test } from 'vitest'
import { closingLine, runConformance, type Tally } from '../../scripts/conformance.ts'
import { sampleOf } from '../soak.ts'

/** What each revision requires of a client. */
const required = { '2025-11-25': 18, '2026-07-28': 32 }
const tallies: Tally[] = []

afterAll(() => console.log(closingLine(tallies)))

describe('the MCP project’s own conformance suite', () => {
  test.each(sampleOf(Object.entries(required), 1))(
    'revision %s: scenarios out of all %i that are required pass',
    { timeout: 300_000 },
    async (revision, count) => {
      let all = 0
      const tally = await runConformance(revision, (scenarios) => {
        all = scenarios.length
        return sampleOf(scenarios, 2)
      })
      tallies.push(tally)
      expect(tally.failures).toEqual([])
      expect(tally.passed).toBe(tally.required)
      expect(all).toBe(count)
    },
  )
})
