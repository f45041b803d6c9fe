import { StringDecoder } from 'node:string_decoder'
import type { Clock } from '../../core/clock.ts'

/** A key, or text that was typed or pasted. */
export type Key =
  /** A paste keeps its newlines, as `\n`. */
  | { readonly type: 'text'; readonly text: string; readonly isPaste?: true }
  | {
      readonly type:
        | 'enter'
        | 'escape'
        | 'backspace'
        | 'delete'
        | 'up'
        | 'down'
        | 'left'
        | 'right'
        | 'tab'
        | 'home'
        | 'end'
    }
  /** Ctrl and a letter: `c`, `d`, `u`. */
  | { readonly type: 'ctrl'; readonly key: string }

interface KeyDecoder {
  push(chunk: Uint8Array | string): void
  /** Drops an incomplete sequence. */
  reset(): void
}

/**
 * Decodes the bytes of a terminal: UTF-8 in pieces of any size, the keys of xterm and of older terminals, bracketed
 * pastes. An unknown sequence is dropped whole, so that no part of it is taken for typed text.
 */
export function createKeyDecoder(emit: (key: Key) => void, clock: Clock): KeyDecoder {
  const utf8 = new StringDecoder('utf8')
  let state: State = 'ground'
  let sequence = ''
  /** How many characters of `pasteEnd` were read: to compare the end at each character would be slow. */
  let endSeen = 0
  let text = ''
  let hasReturned = false
  let cancelTimer = (): void => {}

  function flush(): void {
    if (text === '') return
    const typed = text
    text = ''
    emit({ type: 'text', text: typed })
  }
  function send(key: Key | undefined): void {
    flush()
    if (key) emit(key)
  }
  function to(next: State): void {
    state = next
    sequence = ''
    endSeen = 0
  }

  const steps: Readonly<Record<State, (character: string) => void>> = {
    ground(character) {
      const isLineFeedOfReturn = hasReturned && character === '\n'
      hasReturned = character === '\r'
      if (character === '\x1b') to('escape')
      else if (character === '\x9b') to('csi')
      else if (isPrintable(character)) text += character
      else if (!isLineFeedOfReturn) send(controlKey(character))
    },
    escape(character) {
      if (character === '[') return to('csi')
      if (character === 'O') return to('ss3')
      if ('PX]^_'.includes(character)) return to('string')
      const isAlt = isPrintable(character)
      if (isAlt) return to('ground')
      send({ type: 'escape' })
      to('ground')
      steps.ground(character)
    },
    csi(character) {
      if (character < ' ') return interrupted(character)
      sequence += character
      if (character === '[' && sequence === '[') return // a function key of the Linux console: one more character follows
      if (character < '@' || character > '~') return
      const ended = sequence
      if (ended === '200~') return to('paste')
      to('ground')
      send(csiKey(ended))
    },
    ss3(character) {
      if (character < ' ') return interrupted(character)
      to('ground')
      send(character === 'M' ? { type: 'enter' } : named(letters[character]))
    },
    string(character) {
      if (character === '\x03') return interrupted(character)
      const isEnd = character === '\x07' || character === '\x9c' || (character === '\\' && sequence === '\x1b')
      sequence = character
      if (isEnd) to('ground')
    },
    paste(character) {
      sequence += character
      endSeen = character === pasteEnd[endSeen] ? endSeen + 1 : Number(character === pasteEnd[0])
      if (endSeen === pasteEnd.length) endPaste()
    },
  }

  /** A control character ends an incomplete sequence. It may be Ctrl-C. */
  function interrupted(character: string): void {
    to('ground')
    steps.ground(character)
  }

  function endPaste(): void {
    const pasted = cleanPaste(sequence.endsWith(pasteEnd) ? sequence.slice(0, -pasteEnd.length) : sequence)
    to('ground')
    flush()
    if (pasted !== '') emit({ type: 'text', text: pasted, isPaste: true })
  }

  /** Ends an incomplete sequence: a lone ESC is a key, anything else is dropped. */
  function giveUp(): void {
    const was = state
    if (was === 'paste') endPaste()
    to('ground')
    if (was === 'escape') emit({ type: 'escape' })
  }

  return {
    push(chunk) {
      cancelTimer()
      for (const character of typeof chunk === 'string' ? chunk : utf8.write(Buffer.from(chunk)))
        steps[state](character)
      flush()
      if (state !== 'ground') cancelTimer = clock.timer(state === 'escape' ? escapeMs : sequenceMs, giveUp)
    },
    reset() {
      cancelTimer()
      utf8.end()
      text = ''
      to('ground')
    },
  }
}

type State = 'ground' | 'escape' | 'csi' | 'ss3' | 'string' | 'paste'

/** How long an ESC may be the beginning of a sequence. */
const escapeMs = 50
const sequenceMs = 1000
const pasteEnd = '\x1b[201~'

type PlainKey = Exclude<Key['type'], 'text' | 'ctrl'>

const letters: Readonly<Record<string, PlainKey>> = { A: 'up', B: 'down', C: 'right', D: 'left', H: 'home', F: 'end' }
const numbers: Readonly<Record<string, PlainKey>> = {
  '1': 'home',
  '3': 'delete',
  '4': 'end',
  '7': 'home',
  '8': 'end',
}

const named = (type: PlainKey | undefined): Key | undefined => type && { type }

/** Ignores the modifiers Shift and Ctrl. */
function csiKey(sequence: string): Key | undefined {
  const [, number = '', final = ''] = /^(\d*)(?:;\d+)*([A-Za-z~])$/.exec(sequence) ?? []
  return final === '~' ? named(numbers[number]) : named(letters[final])
}

function controlKey(character: string): Key | undefined {
  if (character === '\r' || character === '\n') return { type: 'enter' }
  if (character === '\t') return { type: 'tab' }
  if (character === '\x7f' || character === '\b') return { type: 'backspace' }
  const code = character.charCodeAt(0)
  return code >= 1 && code <= 26 ? { type: 'ctrl', key: String.fromCharCode(code + 96) } : undefined
}

const isPrintable = (character: string): boolean => !/\p{Cc}/u.test(character)

/** Keeps newlines and tabs, removes other control characters. */
function cleanPaste(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(/(?![\n\t])\p{Cc}/gu, '')
}
