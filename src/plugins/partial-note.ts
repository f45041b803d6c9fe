import { isRecord } from '../core/is-record.ts'

const owner = 'workflow:partial'

/**
 * What had been streamed of an answer when it was cut off, in logs of earlier versions: people see it, the model does not.
 * Now it is a turn that is marked as interrupted.
 */
export interface PartialNote {
  readonly id: string
  readonly text: string
}

export function partialOf(noteOwner: string, value: unknown): PartialNote | undefined {
  if (noteOwner !== owner || !isRecord(value) || typeof value.id !== 'string') return undefined
  return { id: value.id, text: String(value.text ?? '') }
}
