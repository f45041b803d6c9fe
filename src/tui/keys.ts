import { type KeyAction, type KeyBindings, keyActions } from './input/key-bindings.ts'

/** A key and what it does. The app, the hints, the viewer of keys and the docs use this one table. */
export interface KeyHelp {
  /** As it is shown: `alt+enter`. Several that do the same are separated by blanks. */
  readonly keys: string
  readonly does: string
}

export interface KeyGroup {
  readonly where: string
  readonly keys: readonly KeyHelp[]
}

/** The table as it is with the keys that a person chose: theirs on top, and without those that they took away. */
export function keyGroupsWith(bindings: KeyBindings): readonly KeyGroup[] {
  const own = Object.entries(bindings).filter(([, action]) => action !== 'none')
  if (Object.keys(bindings).length === 0) return keyGroups
  const left = keyGroups.map(({ where, keys }) => ({
    where,
    keys: isBindable.has(where) ? keys.flatMap((row) => withoutBound(row, bindings)) : keys,
  }))
  return [...(own.length > 0 ? [{ where: 'Your own', keys: own.map(ownRow) }] : []), ...left]
}

const isBindable = new Set(['Input line', 'Editing', 'Working'])

function ownRow([keys, action]: readonly [string, string]): KeyHelp {
  if (action.startsWith('/')) return { keys, does: `runs ${action}` }
  const by: string = keyActions[action as KeyAction]
  const row = keyGroups.flatMap((group) => group.keys).find((one) => one.keys.split(' ').includes(by))
  // A row about several keys does not say which of them does what.
  return { keys, does: row?.keys === by ? row.does : `as ${by}: ${row?.does ?? action}` }
}

function withoutBound(row: KeyHelp, bindings: KeyBindings): KeyHelp[] {
  const keys = row.keys.split(' ').filter((key) => !Object.hasOwn(bindings, key))
  return keys.length > 0 ? [{ ...row, keys: keys.join(' ') }] : []
}

export const keyGroups: readonly KeyGroup[] = [
  {
    where: 'Input line',
    keys: [
      { keys: 'enter', does: 'sends; while the agent works it steers' },
      { keys: 'alt+enter', does: 'sends when the agent is done' },
      { keys: 'alt+up', does: 'takes the last queued message back' },
      { keys: 'shift+enter ctrl+j \\+enter', does: 'a new line' },
      { keys: 'up down', does: 'earlier messages, from the first and the last line' },
      { keys: 'ctrl+r', does: 'searches earlier messages' },
      { keys: 'ctrl+g', does: 'opens the text in your editor' },
      { keys: 'ctrl+v', does: 'attaches the image on the clipboard' },
      { keys: 'tab', does: 'completes /commands and @files' },
      { keys: '?', does: 'on an empty line: these keys' },
    ],
  },
  {
    where: 'Editing',
    keys: [
      { keys: 'alt+b alt+f ctrl+left ctrl+right', does: 'by words' },
      { keys: 'ctrl+a ctrl+e home end', does: 'to the start, to the end of the line' },
      { keys: 'ctrl+home ctrl+end', does: 'to the start, to the end of the text' },
      { keys: 'ctrl+w alt+backspace alt+d', does: 'cuts back to a blank, the word before, the word behind' },
      { keys: 'ctrl+u ctrl+k', does: 'cuts to the start, to the end of the line' },
      { keys: 'ctrl+y alt+y', does: 'inserts what was cut, what was cut before it' },
      { keys: 'ctrl+_ alt+z', does: 'undo, redo' },
      { keys: 'alt+p', does: 'shows a pasted text in place of its label' },
    ],
  },
  {
    where: 'Working',
    keys: [
      { keys: 'esc', does: 'closes the topmost thing, else stops the run' },
      { keys: 'esc esc', does: 'on an empty line: goes back to an earlier message' },
      { keys: 'shift+tab', does: 'the next mode, never yolo' },
      { keys: 'ctrl+o', does: 'the last call, with its whole output' },
      { keys: 'ctrl+t', does: 'the whole conversation' },
      { keys: 'ctrl+w', does: 'on an empty line: what waits in other sessions' },
      { keys: 'ctrl+p', does: 'the commands' },
      { keys: 'ctrl+l', does: 'draws the lines at the bottom again' },
      { keys: 'ctrl+z', does: 'suspends the program' },
      { keys: 'ctrl+c', does: 'clears the line, which is kept; twice: leaves' },
      { keys: 'ctrl+d', does: 'on an empty line: leaves' },
    ],
  },
  {
    where: 'Deciding',
    keys: [
      { keys: 'y', does: 'yes, once' },
      { keys: 's', does: 'yes, in this session' },
      { keys: 'p', does: 'yes, always in this project' },
      { keys: 'c', does: 'change what is always allowed, or the plan' },
      { keys: 'o', does: 'yes, once, outside the sandbox' },
      { keys: 'e', does: 'decide on each call or edit' },
      { keys: 'x', does: 'yes, once, all except those you mark' },
      { keys: 'n esc', does: 'no' },
      { keys: 'r', does: 'no, and say why' },
      { keys: 'w', does: 'why am I asked' },
    ],
  },
  {
    where: 'Viewers',
    keys: [
      { keys: 'up down j k', does: 'a row' },
      { keys: 'pageup pagedown b space', does: 'a page' },
      { keys: 'home end g G', does: 'to the beginning, to the end' },
      { keys: '/', does: 'searches' },
      { keys: 'n N', does: 'the next hit, the one before' },
      { keys: '[ ] s', does: 'in a diff: the change before, the next one; one or two columns' },
      { keys: 'd r f', does: 'among sessions: deletes, renames; this folder or all' },
      { keys: ':', does: 'in the log: goes to a number' },
      { keys: 'q esc', does: 'closes' },
    ],
  },
]
