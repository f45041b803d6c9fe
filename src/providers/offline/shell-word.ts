import { shellQuote } from '../../core/posix-path.ts'

/** A text as one word of a POSIX shell, in quotes only where it needs them: people read these commands. */
export function shellWord(text: string): string {
  return /^[\w./:@%+=-]+$/.test(text) ? text : shellQuote(text)
}
