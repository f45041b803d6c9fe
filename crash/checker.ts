import { createHash } from 'node:crypto'
import type { LogEntry } from '../src/core/log.ts'
import { type Evidence, entriesOf, type Snapshot, type Violation } from './evidence.ts'
import { approved, effectsOnce, nothingAgain, nothingLost, opens } from './rules-effects.ts'
import { oneResult, oneWriter, stableEvents, wholeTurns } from './rules-log.ts'
import { trueSummaries } from './rules-summary.ts'

/**
 * The violations of the guarantees I1 to I9. Pure: it compares the content of the store, the ledger of external observations,
 * and the result of an earlier check. Run it right after a crash, before anything is repaired, and again at the end.
 */
export function check(evidence: Evidence): Violation[] {
  return [
    ...nothingLost(evidence),
    ...wholeTurns(evidence),
    ...oneResult(evidence),
    ...nothingAgain(evidence),
    ...effectsOnce(evidence),
    ...approved(evidence),
    ...oneWriter(evidence),
    ...stableEvents(evidence, digestOf),
    ...opens(evidence),
    ...trueSummaries(evidence),
  ]
}

/** The state that the next check compares with. */
export function snapshotOf({ sessions, ledger }: Evidence): Snapshot {
  const answered = new Set<string>()
  for (const [session, entries] of Object.entries(sessions))
    for (const { callId } of entriesOf(entries, 'call_result')) answered.add(`${session} ${callId}`)
  const digests = Object.fromEntries(
    Object.entries(sessions).map(([session, entries]) => [session, entries.map(digestOf)]),
  )
  return { notes: ledger, digests, answered }
}

/** A short digest of an entry, independent of the order of its fields. */
export function digestOf(entry: LogEntry): string {
  return createHash('sha1').update(sorted(entry)).digest('base64url')
}

function sorted(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
  })
}
