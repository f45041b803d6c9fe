import { placeholder, type Redactor } from '../../platform/redact.ts'

/**
 * Hides secrets in what a person is asked to approve, and never anything else: only what is a secret by itself goes, or
 * what stands behind a name within the same word. A redactor for logs would rather hide too much, and with that what a
 * command does: of `password= ./evil` the program, of `TOKEN=abcdef&&curl` the second command.
 */
export function maskSecrets(text: string, redactor: Redactor): string {
  const parts = text.split(between)
  const redacted = redactor.pieces(parts)
  let masked = ''
  for (let i = 0; i < parts.length; ) {
    const from = i
    while (i < parts.length && redacted[i] !== parts[i]) i++
    masked += i === from ? parts[i++] : maskedRun(parts.slice(from, i), redactor)
  }
  return masked
}

/** All that a shell, or any other language, could read as more than a part of a word. Kept by `split`. */
const between = /([^\w.+/=~@%:,-]+)/

/** Neighbours in which a redactor would hide something. */
function maskedRun(parts: readonly string[], redactor: Redactor): string {
  const run = parts.join('')
  const masked = redactor.text(run)
  const [before = '', after, ...more] = masked.split(placeholder)
  const secret = run.slice(before.length, run.length - (after?.length ?? 0))
  const isOne = after !== undefined && more.length === 0 && isSecretAlone(secret, redactor)
  return isOne ? masked : parts.map((part) => redactor.text(part)).join('')
}

function isSecretAlone(text: string, redactor: Redactor): boolean {
  // A private key is known by its first and last line, and anything could stand between them.
  return !text.includes('-----BEGIN') && redactor.text(text).replace(placeholder, '') === ''
}
