import { replaceText } from '../../src/tools/matching/replace.ts'
import type { MakeEdit } from './edits.ts'

/** Makes an edit as the tools do. */
export const editAsTool: MakeEdit = ({ text, old, new: fresh }) => {
  const result = replaceText(text, { old, new: fresh, all: false })
  return result.type === 'replaced' ? result.text : undefined
}
