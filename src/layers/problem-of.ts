import { messageOf } from '../core/errors.ts'
import { fullyVisible } from '../platform/visible-text.ts'

/** What went wrong with foreign code or a foreign file, fit to be shown: whatever was thrown, it is a short, visible text. */
export function problemOf(error: unknown): string {
  return fullyVisible(wordsOf(error).slice(0, longest))
}

const longest = 2000

/** An error may be made so that reading it fails, or gives no text. */
function wordsOf(error: unknown): string {
  try {
    const words: unknown = messageOf(error)
    if (typeof words === 'string') return words
  } catch {}
  return 'it threw something that cannot be read'
}
