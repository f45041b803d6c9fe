import type { CallOutcome, EntryBody } from './log.ts'

/** What the model reads where a call did not run, or where nobody knows. */
export const syntheticText = {
  aborted: 'Aborted: the run was stopped',
  skipped: 'Skipped: the user sent a new message',
  unknown:
    'Interrupted: the process stopped while this call ran. Its effects may or may not have happened; check before repeating it.',
} as const satisfies Partial<Record<CallOutcome, string>>

/** A result for a call that has none of its own: no call stays without an answer. `more` is what is known beside that. */
export function syntheticResult(callId: string, outcome: keyof typeof syntheticText, more = ''): EntryBody {
  const output = more ? `${syntheticText[outcome]} ${more}` : syntheticText[outcome]
  return { type: 'call_result', callId, output, isError: true, outcome }
}
