import type { Editor } from '../../src/tui/input/editor.ts'
import type { Key, NamedKey } from '../../src/tui/input/key.ts'

/** Keys by name (`ctrl+w`, `alt+b`, `shift+enter`, `up`); anything else is typed. */
export function keyNamed(name: string): Key {
  const parts = name.split('+')
  const last = parts.at(-1)!
  const modifiers = Object.fromEntries(parts.slice(0, -1).map((modifier) => [modifier, true]))
  if (isNamed(last)) return { type: last, ...modifiers }
  const [modifier] = parts
  if (parts.length === 2 && (modifier === 'ctrl' || modifier === 'alt')) return { type: modifier, key: last }
  return { type: 'text', text: name }
}

export function pressAll(editor: Editor, ...names: string[]): Editor {
  for (const name of names) editor.press(keyNamed(name))
  return editor
}

/** The rows with `|` at the caret. */
export function drawn(editor: Editor, columns = 40, rows = 100): string[] {
  const { rows: shown, caret } = editor.layout(columns, rows)
  const marked = [...shown]
  let [at, width] = [0, 0]
  const row = [...(marked[caret.row] ?? '')]
  for (; at < row.length && width < caret.column; at++) width += row[at]! > '\u2e80' ? 2 : 1
  marked[caret.row] = [...row.slice(0, at), '|', ...row.slice(at)].join('')
  return marked
}

const names = ['enter', 'escape', 'backspace', 'delete', 'up', 'down', 'left', 'right', 'tab', 'home', 'end'] as const
const isNamed = (name: string): name is NamedKey['type'] => (names as readonly string[]).includes(name)
