import { createHash } from 'node:crypto'

/** A signature of a strict server: valid only for this model and the signed content. */
export const sign = (model: string, what: string): string =>
  Buffer.from(`${model}:${createHash('sha256').update(what).digest('hex').slice(0, 24)}`).toString('base64')

export type Verdict = 'good' | 'other model' | 'edited' | 'no signature'

export function verify(model: string, what: string, signature: unknown): Verdict {
  const [, signer, digest] = /^(.*):([0-9a-f]{24})$/s.exec(Buffer.from(String(signature), 'base64').toString()) ?? []
  if (signer === undefined || digest === undefined) return 'no signature'
  if (signer !== model) return 'other model'
  return sign(model, what) === signature ? 'good' : 'edited'
}
