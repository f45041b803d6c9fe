import { isRecord } from '../core/is-record.ts'
import type { EntryBody } from '../core/log.ts'

const owner = 'workflow:partial'

/** What had been streamed of an answer when it was cut off. People see it; the model does not. */
export interface PartialNote {
  readonly id: string
  readonly text: string
}

/** As it is written into the log. */
export function partialEntry(note: PartialNote): EntryBody {
  return { type: 'state', owner, value: note }
}

/** As it is found there. */
export function partialOf(noteOwner: string, value: unknown): PartialNote | undefined {
  if (noteOwner !== owner || !isRecord(value) || typeof value.id !== 'string') return undefined
  return { id: value.id, text: String(value.text ?? '') }
}
