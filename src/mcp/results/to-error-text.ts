import { messageOf, printable } from '../../core/errors.ts'
import { createRedactor } from '../../platform/redact.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { shortened } from '../definitions/shortened.ts'

const mostRead = 64 * 1024
const mostShown = 2048

/** What went wrong with a server, for models, people and logs: short, without secrets, nothing in it hidden. */
export function toErrorText(error: unknown, secrets: readonly string[] = []): string {
  const known = secrets.filter((secret) => secret.length >= 4)
  const said = printable(messageOf(error)).slice(0, mostRead).replace(fromLibrary, '')
  const text = createRedactor({ secrets: known }).text(said)
  return shortened(fullyVisible(text, { lines: 'kept' }), mostShown) || 'it gave no reason'
}

/** Words of the library that mean nothing to a person. */
const fromLibrary = /^Version negotiation (?:probe )?failed: (?=.)/
