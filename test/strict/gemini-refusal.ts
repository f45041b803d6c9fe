import { type Json, Refusal, unknownField } from './refusal.ts'

/** An error of Google's APIs. */
export function refuse(message: string, code = 400, status = 'INVALID_ARGUMENT'): Refusal {
  return new Refusal(message, code, { error: { code, message, status } })
}

/** Refuses unknown fields. */
export function checkFields(value: Json, known: readonly string[], at: string): void {
  const extra = unknownField(value, known)
  if (extra === undefined) return
  const where = at === '' ? '' : ` at '${at}'`
  throw refuse(`Invalid JSON payload received. Unknown name "${extra}"${where}: Cannot find field.`)
}

export const namePattern = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/
