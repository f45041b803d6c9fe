import { messageOf } from '../../core/errors.ts'
import { createRedactor } from '../../platform/redact.ts'
import { visibleText } from '../../platform/visible-text.ts'
import { shortened } from '../definitions/shortened.ts'

const mostRead = 64 * 1024
const mostShown = 2048

/** What went wrong with a server, for models, people and logs: short, without secrets, nothing in it hidden. */
export function toErrorText(error: unknown, secrets: readonly string[] = []): string {
  const redactor = createRedactor({ secrets: secrets.filter((secret) => secret.length >= 4) })
  const text = redactor.text(messageOf(error).slice(0, mostRead))
  return shortened(visibleText(text).toWellFormed(), mostShown) || 'it gave no reason'
}
