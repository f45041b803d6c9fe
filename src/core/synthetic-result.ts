import type { CallOutcome, EntryBody } from './log.ts'
import type { ReplayClass } from './tool.ts'
import type { Transcript } from './transcript.ts'

export const stopped = 'Aborted: the run was stopped'
const unbegun = 'before this call began; it did not run'

/** What the model reads where a call did not run, or where it is not known what it did. */
export const syntheticText = {
  aborted: `${stopped} ${unbegun}`,
  skipped: 'Skipped: the user sent a new message',
  unknown:
    'Interrupted: the process stopped while this call ran. Its effects may or may not have happened; check before repeating it.',
} as const satisfies Partial<Record<CallOutcome, string>>

/** A result for a call that has none of its own: no call stays without an answer. `more` is what is known beside that. */
export function syntheticResult(callId: string, outcome: keyof typeof syntheticText, more = ''): EntryBody {
  const output = more ? `${syntheticText[outcome]} ${more}` : syntheticText[outcome]
  return { type: 'call_result', callId, output, isError: true, outcome }
}

/** The same for an open call of a run that was stopped; it may have begun, in that run or before. */
export function abortedResult(transcript: Transcript, callId: string, why = stopped): EntryBody {
  const start = transcript.startOf(callId)
  const output = start ? interruptedText(why, start) : `${why} ${unbegun}`
  return { type: 'call_result', callId, output, isError: true, outcome: 'aborted' }
}

/** What the model reads of a call that was stopped after it had begun. */
export function interruptedText(why: string, call: { readonly replay?: ReplayClass }, soFar = ''): string {
  const effects = call.replay === 'pure' ? '' : ' Its effects may or may not have happened; check before repeating it.'
  const printed = soFar.trim() === '' ? '' : `\nUntil then:\n${soFar}`
  return `${why} while this call ran.${effects}${printed}`
}
