import { isRecord } from '../core/is-record.ts'
import type { EntryOf, LogEntry } from '../core/log.ts'
import type { NoticeRow } from './rows.ts'

type Notice = Pick<NoticeRow, 'about' | 'text' | 'run'>

/** What an entry tells a person about the session itself; `undefined` for all other entries. */
export function noticeOf(entry: LogEntry): Notice | undefined {
  switch (entry.type) {
    case 'run_started':
      return entry.unconfined === undefined ? undefined : { about: 'sandbox', text: entry.unconfined }
    case 'run_ended': {
      const text = endingOf(entry)
      const { runId, status, stop, error } = entry
      const run = { runId, status, stop, ...(error && { error }) }
      return text === undefined ? undefined : { about: 'run', text, run }
    }
    case 'rewind': {
      const text = `Went back to entry ${entry.toSeq}; what came after it is no longer part of the conversation`
      return { about: 'rewind', text }
    }
    case 'label':
      return { about: 'label', text: `Label: ${entry.text}` }
    case 'parked':
      return { about: 'parked', text: `Parked: ${entry.reason}` }
    case 'unparked':
      return { about: 'unparked', text: 'Runs may be started again' }
    case 'state':
      if (entry.owner === 'snapshot') return rolledBack(entry.value)
      return entry.owner === 'fork' ? forkedFrom(entry.value) : undefined
    default:
      return undefined
  }
}

function endingOf({ status, stop, error }: EntryOf<'run_ended'>): string | undefined {
  if (status === 'completed') return limits.get(stop)
  if (status === 'suspended') return 'The run ended here, to wait for an answer'
  if (status === 'left') return 'The process left the run here, for another one to continue it'
  if (status === 'aborted') return stop === 'forked' ? undefined : 'Stopped'
  if (stop === 'crashed') return 'The process ended during this run'
  return `The run failed: ${error?.message ?? stop}`
}

function forkedFrom(value: unknown): Notice | undefined {
  if (typeof value !== 'object' || value === null || !('session' in value)) return undefined
  return { about: 'fork', text: `A copy of session ${String(value.session)} up to here` }
}

/** A rollback that rewinds has the notice of its rewind. */
function rolledBack(value: unknown): Notice | undefined {
  const begun = isRecord(value) ? value.rollback : undefined
  if (!isRecord(begun)) return undefined
  if (begun.added !== undefined)
    return { about: 'rewind', text: 'What was taken back is part of the conversation again' }
  if (begun.scope !== 'files') return undefined
  return { about: 'files', text: `The files were restored to how they were after entry ${String(begun.to)}` }
}

/** The limits that end a run as completed. */
const limits = new Map([
  ['max_turns', 'The run ended at its limit of model calls; the task may be unfinished'],
  ['budget', 'The run ended because its budget is used up; the task may be unfinished'],
])
