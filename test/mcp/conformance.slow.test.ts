import { afterAll, describe, expect, test } from 'vitest'
import { closingLine, runConformance, type Tally } from '../../scripts/conformance.ts'

/** What each revision requires of a client. */
const required = { '2025-11-25': 18, '2026-07-28': 32 }
const tallies: Tally[] = []

afterAll(() => console.log(closingLine(tallies)))

describe('the MCP project’s own conformance suite', () => {
  test.each(Object.entries(required))(
    'revision %s: all %i required scenarios pass',
    { timeout: 300_000 },
    async (revision, count) => {
      const tally = await runConformance(revision)
      tallies.push(tally)
      expect(tally.failures).toEqual([])
      expect(tally.passed).toBe(count)
    },
  )
})
