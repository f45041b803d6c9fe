import type { CallOutcome, EntryBody } from './log.ts'

/** What the model reads where a call did not run, or where nobody knows. */
export const syntheticText = {
  aborted: 'Aborted: the run was stopped',
  skipped: 'Skipped: the user sent a new message',
  unknown:
    'Interrupted: the process stopped while this call ran. Its effects may or may not have happened; check before repeating it.',
} as const satisfies Partial<Record<CallOutcome, string>>

/** A result for a call that has none of its own: no call stays without an answer. */
export function syntheticResult(callId: string, outcome: keyof typeof syntheticText): EntryBody {
  return { type: 'call_result', callId, output: syntheticText[outcome], isError: true, outcome }
}
