import { messageOf, printable } from '../../core/errors.ts'
import { createRedactor } from '../../platform/redact.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { shortened } from '../definitions/shortened.ts'

const mostRead = 64 * 1024
const mostShown = 2048

/** What went wrong with a server, for models, people and logs: short, without secrets, nothing in it hidden. */
export function toErrorText(error: unknown, secrets: readonly string[] = []): string {
  const known = secrets.filter((secret) => secret.length >= 4)
  const text = withoutSecrets(printable(messageOf(error)).slice(0, mostRead), known)
  return shortened(fullyVisible(text, { lines: 'kept' }), mostShown) || 'it gave no reason'
}

function withoutSecrets(text: string, secrets: readonly string[]): string {
  try {
    return createRedactor({ secrets }).text(text)
  } catch {
    // Tens of thousands of letters make a pattern that is too large. The error of that quotes them, and goes nowhere.
    const rest = secrets.reduce((cut, secret) => cut.replaceAll(secret, '[REDACTED]'), text)
    return createRedactor().text(rest)
  }
}
