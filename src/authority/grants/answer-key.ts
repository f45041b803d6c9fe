import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { join } from 'node:path'
import type { EditDecision } from '../../core/edit-outcomes.ts'
import { CodedError } from '../../core/errors.ts'
import type { PendingCall } from '../../core/store.ts'
import { writeFileAtomic } from '../../platform/files.ts'
import { withLock } from '../../platform/lock.ts'
import { PrivateFileError, readPrivateFile } from '../private-file.ts'

/** The content of a signature. It counts for no other call, session, decision or person. */
export interface SignedAnswer {
  readonly sessionId: string
  readonly callId: string
  readonly digest: string
  readonly decision: 'allow' | 'deny'
  readonly by: string
  readonly scope?: string
  readonly where?: 'outside'
  readonly edits?: readonly EditDecision[]
  readonly rule?: string
}

/** Signs answers, so that entries written into a log by others are recognised as forged. */
export interface AnswerKey {
  /** Identifies the key without revealing it. Absent for a key that ends with its process. */
  readonly id?: string
  /** Another text each time, so that two equal answers can be told apart. */
  sign(answer: SignedAnswer): string
  /** Whether `mac` was made for exactly this answer with this key. */
  verify(answer: SignedAnswer, mac: string | undefined): boolean
}

/** The key of an authority: from its secret, else from its home, else one that ends with this process. */
export async function answerKeyFor(options: { answerSecret?: Uint8Array; home?: string }): Promise<AnswerKey> {
  const { answerSecret, home } = options
  if (answerSecret !== undefined) return answerKeyFromSecret(answerSecret)
  if (home !== undefined) return openAnswerKey(home)
  const { sign, verify } = answerKeyFromSecret(randomBytes(32))
  return { sign, verify }
}

/** Throws if the question names another key: an answer signed with this key would not count. */
export function requireKey(callId: string, key: AnswerKey, pending: PendingCall | undefined): void {
  const wanted = pending?.signature?.keyId
  if (wanted === undefined || wanted === key.id) return
  throw new CodedError(
    'Validation/WrongAnswerKey',
    `call "${callId}" was asked about by an authority with the key ${wanted}, and this one has ` +
      `${key.id === undefined ? 'a key that only this process knows' : `the key ${key.id}`}, so its "allow" would not ` +
      'count. Give it the home or answerSecret of the one that asked, or run the session with this one, which asks anew',
  )
}

/** The key in the user's own folder. Created on first use, once even if several processes start together. */
export async function openAnswerKey(folder: string): Promise<AnswerKey> {
  const path = join(folder, 'approval.key')
  const secret = (await readSecret(path)) ?? (await withLock(`${path}.lock`, () => makeSecret(path)))
  return answerKeyFromSecret(secret)
}

/** A key from a secret, for answers given on one machine and used on another. */
export function answerKeyFromSecret(secret: Uint8Array): AnswerKey {
  if (!(secret instanceof Uint8Array) || secret.length < secretBytes)
    throw new TypeError(`The secret for signed answers must be at least ${secretBytes} random bytes`)
  const key = Uint8Array.from(secret)
  const macOf = (text: string): Buffer => createHmac('sha256', key).update(text).digest()
  const tagOf = (text: string): Buffer => macOf(text).subarray(0, tagBytes)

  return {
    id: macOf('libero answer key').toString('hex').slice(0, 16),
    sign(answer) {
      const nonce = randomBytes(nonceBytes).toString('hex')
      const text = signedText(answer, nonce)
      if (text === undefined) throw new TypeError('An answer to sign needs sessionId, callId, digest, decision and by')
      return nonce + tagOf(text).toString('hex')
    },
    verify(answer, mac) {
      if (typeof mac !== 'string' || !macPattern.test(mac)) return false
      const nonce = mac.slice(0, nonceBytes * 2)
      const text = signedText(answer, nonce)
      return text !== undefined && timingSafeEqual(tagOf(text), Buffer.from(mac.slice(nonce.length), 'hex'))
    },
  }
}

const secretBytes = 32
/** A signature has 32 bytes: a random number, and as much of the HMAC as fits. */
const nonceBytes = 8
const tagBytes = 24
const macPattern = /^[0-9a-f]{64}$/

async function readSecret(path: string): Promise<Uint8Array | undefined> {
  const file = await readPrivateFile(path)
  if (!file) return undefined
  const text = file.text.trim()
  if (/^[0-9a-f]{64}$/.test(text)) return Buffer.from(text, 'hex')
  throw new PrivateFileError(
    `${path} is no key of ${secretBytes} bytes; delete it to get a new one, and what was answered but not used yet is asked again`,
  )
}

async function makeSecret(path: string): Promise<Uint8Array> {
  const there = await readSecret(path)
  if (there) return there
  const secret = randomBytes(secretBytes)
  await writeFileAtomic(path, `${secret.toString('hex')}\n`)
  return secret
}

/** The text to sign: unambiguous, in a fixed order, with a prefix that no other signed text has. */
function signedText(answer: SignedAnswer, nonce: string): string | undefined {
  const { sessionId, callId, digest, decision, by, scope, where, edits, rule } = answer ?? {}
  const fields = [sessionId, callId, digest, decision, by]
  const isWhole = fields.every((field) => typeof field === 'string') && (decision === 'allow' || decision === 'deny')
  if (!isWhole || [scope, rule].some((text) => text !== undefined && typeof text !== 'string')) return undefined
  const extent = edits ? [where ?? null, edits.map((one) => [one.decision, one.note ?? null])] : where ? [where] : []
  const kept = rule === undefined ? [] : [{ rule }]
  return JSON.stringify(['libero answer 2', nonce, ...fields, scope ?? null, ...extent, ...kept])
}
