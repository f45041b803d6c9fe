import type { Key, Modifiers, NamedKey } from './key.ts'

/**
 * The key of a control sequence, without its introducer: `A`, `1;5C`, `3~` of xterm; `13;2u` of the kitty protocol;
 * `27;2;13~` of modifyOtherKeys. `undefined` if it is none, or the release of one.
 */
export function csiKey(sequence: string): Key | undefined {
  const [, parameters = '', final = ''] = /^([\d:;]*)([A-Za-z~])$/.exec(sequence) ?? []
  const groups = parameters.split(';').map((group) => group.split(':').map(Number))
  const [[first = 0, shifted] = [], [modifiers = 1, event] = [], [third = 0] = []] = groups
  if (final === 'R' && groups.length === 2) return { type: 'report', column: modifiers }
  const held = modifiersOf(modifiers)
  if (!held || event === released) return undefined
  if (final === 'u') return codeKey(first, held, shifted)
  if (final === '~') return first === 27 ? codeKey(third, held) : named(numbers[first], held)
  if (final === 'Z') return { type: 'tab', ...held, shift: true }
  if (sequence === 'I' || sequence === 'O') return { type: 'focus', isFocused: sequence === 'I' }
  return named(letters[final], held)
}

/** The key of `ESC O` and a letter, as keypads and older terminals send it. */
export function ss3Key(letter: string): Key | undefined {
  return letter === 'M' ? { type: 'enter' } : named(letters[letter], {})
}

/** The key of a control character. */
export function controlKey(character: string): Key | undefined {
  if (character === '\x7f') return { type: 'backspace' }
  const code = character.charCodeAt(0)
  return code >= 1 && code <= 31 ? ctrlKey(String.fromCharCode(code + 64)) : undefined
}

/** ESC before a character is how terminals send Alt. */
export function altKey(character: string): Key | undefined {
  if (character === '\r' || character === '\n') return { type: 'enter', alt: true }
  if (character === '\t') return { type: 'tab', alt: true }
  if (character === '\x7f' || character === '\b') return { type: 'backspace', alt: true }
  return isControl(character) ? undefined : { type: 'alt', key: character }
}

export const isControl = (character: string): boolean => {
  const code = character.charCodeAt(0)
  return code < 0x20 || (code >= 0x7f && code <= 0x9f)
}

/** The key with this Unicode number, or one of those that kitty numbers itself. */
function codeKey(code: number, held: Modifiers, shifted?: number): Key | undefined {
  if (codes.has(code)) return named(codes.get(code), held)
  const character = keypad.get(code) ?? characterOf(held.shift && shifted ? shifted : code)
  if (character === undefined) return undefined
  const typed = held.shift && character.toUpperCase().length === character.length ? character.toUpperCase() : character
  if (held.ctrl) return held.alt ? undefined : ctrlKey(typed === '-' && held.shift ? '_' : typed)
  return held.alt ? { type: 'alt', key: typed } : { type: 'text', text: typed }
}

/** What terminals without a protocol cannot tell apart is one key in all of them: Ctrl+M is Enter, Ctrl+/ is Ctrl+_. */
function ctrlKey(character: string): Key | undefined {
  const key = character.toLowerCase()
  const type = sameKeys[key]
  if (type) return { type }
  if (key === '/') return { type: 'ctrl', key: '_' }
  return /^[a-z\\\]^_]$/.test(key) ? { type: 'ctrl', key } : undefined
}

const sameKeys: Readonly<Record<string, NamedKey['type']>> = { i: 'tab', m: 'enter', h: 'backspace', '[': 'escape' }

function characterOf(code: number): string | undefined {
  const isPrivate = code >= 0xe000 && code <= 0xf8ff
  const isHalf = code >= 0xd800 && code <= 0xdfff
  if (code > 0x10ffff || isPrivate || isHalf) return undefined
  const character = String.fromCodePoint(code)
  return isControl(character) ? undefined : character
}

/** `undefined` with a modifier that we have no keys for. Caps Lock and Num Lock are no modifiers. */
function modifiersOf(value: number): Modifiers | undefined {
  const bits = Math.max(0, value - 1)
  const isHeld = (bit: number): boolean => (bits & bit) !== 0
  if (isHeld(8) || isHeld(16)) return undefined
  return {
    ...(isHeld(1) && { shift: true }),
    ...((isHeld(2) || isHeld(32)) && { alt: true }),
    ...(isHeld(4) && { ctrl: true }),
  }
}

const released = 3

const named = (type: NamedKey['type'] | undefined, held: Modifiers): Key | undefined => type && { type, ...held }

const letters: Readonly<Record<string, NamedKey['type']>> = {
  A: 'up',
  B: 'down',
  C: 'right',
  D: 'left',
  H: 'home',
  F: 'end',
}

const numbers: Readonly<Record<number, NamedKey['type']>> = {
  1: 'home',
  3: 'delete',
  4: 'end',
  5: 'pageup',
  6: 'pagedown',
  7: 'home',
  8: 'end',
}

const codes: ReadonlyMap<number, NamedKey['type']> = new Map([
  [8, 'backspace'],
  [9, 'tab'],
  [13, 'enter'],
  [27, 'escape'],
  [127, 'backspace'],
  [57414, 'enter'],
  [57417, 'left'],
  [57418, 'right'],
  [57419, 'up'],
  [57420, 'down'],
  [57421, 'pageup'],
  [57422, 'pagedown'],
  [57423, 'home'],
  [57424, 'end'],
  [57426, 'delete'],
])

/** The keypad of the kitty protocol. */
const keypad: ReadonlyMap<number, string> = new Map(
  [...'0123456789./*-+']
    .map((character, i): [number, string] => [57399 + i, character])
    .concat([
      [57415, '='],
      [57416, ','],
    ]),
)
