import { messageOf } from '../core/errors.ts'
import { fullyVisible } from '../platform/visible-text.ts'

/** An error of foreign code or a foreign file as a short, visible text, whatever was thrown. */
export function problemOf(error: unknown): string {
  return fullyVisible(wordsOf(error).slice(0, longest))
}

const longest = 2000

/** Reading the message of a hostile error may itself throw, or give no text. */
function wordsOf(error: unknown): string {
  try {
    const words: unknown = messageOf(error)
    if (typeof words === 'string') return words
  } catch {}
  return 'it threw something that cannot be read'
}
