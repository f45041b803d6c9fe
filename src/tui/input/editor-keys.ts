import type { Key } from './key.ts'
import { keyName } from './key-name.ts'

/** What the editor can do with its text. */
export type EditorAction =
  | 'left'
  | 'right'
  | 'up'
  | 'down'
  | 'wordLeft'
  | 'wordRight'
  | 'lineStart'
  | 'lineEnd'
  | 'textStart'
  | 'textEnd'
  | 'newline'
  | 'escapedNewline'
  | 'deleteLeft'
  | 'deleteRight'
  | 'cutWordLeft'
  | 'cutBlankSeparated'
  | 'cutWordRight'
  | 'cutToLineStart'
  | 'cutToLineEnd'
  | 'yank'
  | 'yankEarlier'
  | 'undo'
  | 'redo'
  | 'expandPaste'

/** The action of a key; `undefined` if it is none of the editor's. Shift changes nothing unless it is in the table. */
export function editorAction(key: Key): EditorAction | undefined {
  const name = keyName(key)
  if (name === undefined) return undefined
  return bindings.get(name) ?? bindings.get(name.replace('shift+', ''))
}

const bindings: ReadonlyMap<string, EditorAction> = new Map([
  ['left', 'left'],
  ['ctrl+b', 'left'],
  ['right', 'right'],
  ['ctrl+f', 'right'],
  ['up', 'up'],
  ['down', 'down'],
  ['alt+b', 'wordLeft'],
  ['alt+left', 'wordLeft'],
  ['ctrl+left', 'wordLeft'],
  ['alt+f', 'wordRight'],
  ['alt+right', 'wordRight'],
  ['ctrl+right', 'wordRight'],
  ['home', 'lineStart'],
  ['ctrl+a', 'lineStart'],
  ['end', 'lineEnd'],
  ['ctrl+e', 'lineEnd'],
  ['ctrl+home', 'textStart'],
  ['alt+<', 'textStart'],
  ['ctrl+end', 'textEnd'],
  ['alt+>', 'textEnd'],
  ['ctrl+j', 'newline'],
  ['shift+enter', 'newline'],
  ['enter', 'escapedNewline'],
  ['backspace', 'deleteLeft'],
  ['ctrl+h', 'deleteLeft'],
  ['delete', 'deleteRight'],
  ['ctrl+d', 'deleteRight'],
  ['ctrl+w', 'cutBlankSeparated'],
  ['alt+backspace', 'cutWordLeft'],
  ['ctrl+backspace', 'cutWordLeft'],
  ['alt+d', 'cutWordRight'],
  ['alt+delete', 'cutWordRight'],
  ['ctrl+delete', 'cutWordRight'],
  ['ctrl+u', 'cutToLineStart'],
  ['ctrl+k', 'cutToLineEnd'],
  ['ctrl+y', 'yank'],
  ['alt+y', 'yankEarlier'],
  ['ctrl+_', 'undo'],
  ['alt+z', 'redo'],
  ['alt+p', 'expandPaste'],
])
