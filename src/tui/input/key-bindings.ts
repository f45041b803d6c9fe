import { didYouMean } from '../../core/nearest.ts'
import type { Key, NamedKey } from './key.ts'
import { keyName } from './key-name.ts'

/** Keys that the person chose for the input line: a key, and an action, a command such as `/waiting`, or `none`. */
export type KeyBindings = Readonly<Record<string, string>>

/** What a key may be bound to, each with the key that it has by itself. Enter, Esc, Ctrl+C and Ctrl+D stay as they are. */
export const keyActions = {
  queue: 'alt+enter',
  takeBack: 'alt+up',
  newline: 'ctrl+j',
  searchHistory: 'ctrl+r',
  editor: 'ctrl+g',
  attachImage: 'ctrl+v',
  mode: 'shift+tab',
  call: 'ctrl+o',
  transcript: 'ctrl+t',
  commands: 'ctrl+p',
  redraw: 'ctrl+l',
  suspend: 'ctrl+z',
  wordLeft: 'alt+b',
  wordRight: 'alt+f',
  lineStart: 'ctrl+a',
  lineEnd: 'ctrl+e',
  textStart: 'ctrl+home',
  textEnd: 'ctrl+end',
  cutToBlank: 'ctrl+w',
  cutWordLeft: 'alt+backspace',
  cutWordRight: 'alt+d',
  cutToLineStart: 'ctrl+u',
  cutToLineEnd: 'ctrl+k',
  yank: 'ctrl+y',
  yankEarlier: 'alt+y',
  undo: 'ctrl+_',
  redo: 'alt+z',
  showPaste: 'alt+p',
} as const

export type KeyAction = keyof typeof keyActions

/** Throws a `TypeError` that names the key and what to write, unless all keys and actions are known. */
export function checkKeyBindings(bindings: KeyBindings): void {
  for (const [name, action] of Object.entries(bindings)) {
    const problem = keyProblem(name) ?? actionProblem(action)
    if (problem !== undefined) throw new TypeError(`keys: "${name}": "${action}" cannot be used: ${problem}`)
  }
}

/** What a pressed key means: another key, a command to run, or nothing. Keys that are not bound mean themselves. */
export function createKeyMap(bindings: KeyBindings): (key: Key) => Key | { readonly command: string } | undefined {
  checkKeyBindings(bindings)
  const bound = new Map(Object.entries(bindings))
  return (key) => {
    const action = bound.get(keyName(key) ?? '')
    if (action === undefined) return key
    if (action.startsWith('/')) return { command: action }
    return isAction(action) ? keyNamed(keyActions[action]) : undefined
  }
}

function keyProblem(name: string): string | undefined {
  if (fixed.has(name)) return `${name} always means the same; bind another key`
  if (name === name.toLowerCase() && keyPattern.test(name)) return undefined
  return 'there is no such key; write "ctrl+x", "alt+e" or a named key with ctrl, alt or shift, such as "alt+up"'
}

function actionProblem(action: string): string | undefined {
  if (action === 'none' || isAction(action) || /^\/[^\s/]/.test(action)) return undefined
  const names = ['none', ...Object.keys(keyActions)]
  return `there is no such action${didYouMean(action, names) || `; there are ${names.join(', ')}, and commands such as /cost`}`
}

const isAction = (name: string): name is KeyAction => Object.hasOwn(keyActions, name)

const fixed = new Set([
  'enter',
  'escape',
  'esc',
  'ctrl+c',
  'ctrl+d',
  'ctrl+m',
  'ctrl+i',
  'ctrl+[',
  'up',
  'down',
  'left',
  'right',
])
const named = 'enter|backspace|delete|up|down|left|right|tab|home|end|pageup|pagedown'
const keyPattern = new RegExp(`^(?:(?:ctrl|alt)\\+[!-~]|(?=.*\\+)(?:ctrl\\+)?(?:alt\\+)?(?:shift\\+)?(?:${named}))$`)

/** The key with a name of `keyActions`. */
function keyNamed(name: string): Key {
  const parts = name.split('+')
  const last = parts.at(-1)!
  const held = Object.fromEntries(parts.slice(0, -1).map((modifier) => [modifier, true as const]))
  if (last.length > 1) return { type: last as NamedKey['type'], ...held }
  return { type: parts[0] as 'ctrl' | 'alt', key: last }
}
