import { editAsTool } from '../test/damage/edit-as-tool.ts'
import { editCase, editOutcome } from '../test/damage/edits.ts'
import { countKinds, type Goals } from './counts.ts'
import type { Result } from './measure.ts'

/** What becomes of edits of our own sources that drifted from them, kind by kind. */
export async function edits(): Promise<Result[]> {
  return countKinds(editsGoals, (kind, seed) => editOutcome(editCase(kind, seed), editAsTool))
}

/** Of a hundred, so many were exact before, less three: the sources that are edited change. */
export const editsGoals: Goals = {
  none: 97,
  'indentation missing': 82,
  'indentation too deep': 97,
  'spaces for tabs': 97,
  'tabs for spaces': 97,
  'only old without indentation': 0,
  'only old too deep': 0,
  'only the first line without indentation': 97,
  'one line without indentation, the new ones with': 95,
  'one line without indentation, and the new ones': 0,
  'nested braces, one level less': 89,
  'nested braces, one level more': 91,
  'nested braces, only old one level less': 92,
  'nested braces, only old one level more': 88,
  'nested Python, one level less': 86,
  'nested Python, one level more': 91,
  'nested Python, only old one level less': 90,
  'nested Python, only old one level more': 86,
  'spaces at the ends of lines of the file': 97,
  'spaces at the ends of lines of the edit': 97,
  'CRLF in the file': 97,
  'CRLF in the edit': 97,
  'a line break at the end of old': 97,
  'blank lines around the edit': 97,
  'a blank line more inside old': 0,
  'curly quotes in the edit': 19,
  'curly quotes in old': 97,
  'curly quotes in the file': 19,
  'accents in two characters': 0,
  'spaces that do not break': 18,
  'line numbers with a tab': 97,
  'line numbers with an arrow': 97,
  'line numbers with a bar': 97,
  'line numbers with a colon': 0,
  'line numbers with a colon and a space': 0,
  'line numbers in old alone': 49,
  'the place moved': 97,
  'the place changed': 0,
  'the place changed, and a twin of other indentation elsewhere': 0,
  'a twin elsewhere': 0,
  'a twin of other indentation elsewhere': 97,
  'a twin, and neither is as it was given': 0,
  'the same insertion again': 0,
  'the same insertion again, without indentation': 0,
  'the same insertion again, into CRLF': 0,
  'the same twice': 0,
  'dots for what was left out': 0,
  'line breaks as escapes': 0,
}
