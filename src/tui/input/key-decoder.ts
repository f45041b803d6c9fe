import { StringDecoder } from 'node:string_decoder'
import type { Clock } from '../../core/clock.ts'
import { cleanText } from './clean-text.ts'
import type { Key } from './key.ts'
import { altKey, controlKey, csiKey, isControl, ss3Key } from './key-codes.ts'

export type { Key } from './key.ts'

interface KeyDecoder {
  push(chunk: Uint8Array | string): void
  /** Drops an incomplete sequence. */
  reset(): void
}

/**
 * Decodes the bytes of a terminal: UTF-8 in pieces of any size, the keys of xterm, of older terminals and of the kitty
 * protocol, pastes with and without brackets. An unknown sequence is dropped whole, so that no part of it is taken for
 * typed text.
 */
export function createKeyDecoder(emit: (key: Key) => void, clock: Clock): KeyDecoder {
  const utf8 = new StringDecoder('utf8')
  const paste = new PasteReader()
  let state: State = 'ground'
  let sequence = ''
  let cancelTimer = (): void => {}

  function send(key: Key | undefined): void {
    if (key) emit(key)
  }
  function to(next: State): void {
    state = next
    sequence = ''
  }
  function endPaste(): void {
    to('ground')
    const text = paste.take()
    if (text !== '') emit({ type: 'text', text, isPaste: true })
  }

  /** Each reads from `at` on and returns where it stopped. */
  const read: Readonly<Record<State, (input: string, at: number) => number>> = {
    ground(input, at) {
      const end = nextControl(input, at)
      if (end > at) {
        emit({ type: 'text', text: input.slice(at, end) })
        return end
      }
      const character = input[at]!
      if (character === '\x1b') to('escape')
      else if (character === '\x9b') to('csi')
      else send(controlKey(character))
      return at + (input.startsWith('\r\n', at) ? 2 : 1)
    },
    escape(input, at) {
      const character = String.fromCodePoint(input.codePointAt(at)!)
      const next = introducers[character]
      if (next) to(next)
      else {
        to('ground')
        const key = altKey(character)
        send(key ?? { type: 'escape' })
        if (!key) return at // a control character is a key of its own
      }
      return at + character.length
    },
    csi(input, at) {
      const character = input[at]!
      if (isControl(character)) return interrupted(at)
      if (sequence.length < longestSequence) sequence += character
      const isConsoleKey = sequence === '[' // a function key of the Linux console: one more character follows
      if (character >= '@' && character <= '~' && !isConsoleKey) {
        const ended = sequence
        to(ended === '200~' ? 'paste' : 'ground')
        send(csiKey(ended))
      }
      return at + 1
    },
    ss3(input, at) {
      const character = input[at]!
      if (isControl(character)) return interrupted(at)
      to('ground')
      send(ss3Key(character))
      return at + 1
    },
    string(input, at) {
      const character = input[at]!
      if (character === '\x03') return interrupted(at)
      const isEnd = character === '\x07' || character === '\x9c' || (character === '\\' && sequence === '\x1b')
      sequence = character
      if (isEnd) to('ground')
      return at + 1
    },
    paste(input, at) {
      const next = paste.read(input, at)
      if (next !== undefined) endPaste()
      return next ?? input.length
    },
    burst(input, at) {
      if (isText(input)) {
        paste.add(input)
        return input.length
      }
      endPaste()
      return at
    },
  }

  /** A control character ends an incomplete sequence. It may be Ctrl-C. */
  function interrupted(at: number): number {
    to('ground')
    return at
  }

  /** What has arrived while the process was busy is read first: it may be the rest. */
  function wait(ms: number): void {
    let isDue = true
    const cancel = clock.timer(ms, () => void setImmediate(() => isDue && giveUp()))
    cancelTimer = () => {
      isDue = false
      cancel()
    }
  }

  /** Ends an incomplete sequence: a lone ESC is a key, a paste is what came of it, anything else is dropped. */
  function giveUp(): void {
    const was = state
    if (was === 'paste' || was === 'burst') endPaste()
    to('ground')
    if (was === 'escape') emit({ type: 'escape' })
  }

  return {
    push(chunk) {
      cancelTimer()
      const input = typeof chunk === 'string' ? chunk : utf8.write(Buffer.from(chunk))
      if (state === 'ground' && isBurst(input)) to('burst')
      for (let at = 0; at < input.length; ) at = read[state](input, at)
      if (state !== 'ground') wait(waitMs[state] ?? sequenceMs)
    },
    reset() {
      cancelTimer()
      utf8.end()
      paste.take()
      to('ground')
    },
  }
}

type State = 'ground' | 'escape' | 'csi' | 'ss3' | 'string' | 'paste' | 'burst'

/** What ESC and a character begin. */
const introducers: Readonly<Partial<Record<string, State>>> = {
  '[': 'csi',
  O: 'ss3',
  P: 'string',
  X: 'string',
  ']': 'string',
  '^': 'string',
  _: 'string',
}

const sequenceMs = 1000
/**
 * How long an ESC may be the beginning of a sequence, and how long the next chunk may belong to the same burst or paste. A
 * connection may stall in the middle of a paste, and what follows must not be taken for typed lines, which would be sent.
 */
const waitMs: Readonly<Partial<Record<State, number>>> = { escape: 30, burst: 100, paste: 10_000 }
/** A paste that the terminal does not mark arrives as one chunk in which text follows a newline or a tab. */
const shortestBurst = 32
const longestSequence = 256

const isBurst = (input: string): boolean =>
  input.length >= shortestBurst && /[\r\n\t][^\r\n\t]/.test(input) && isText(input)

// biome-ignore-start lint/suspicious/noControlCharactersInRegex: they are what this is about
/** Whether there are no control characters but newlines and tabs. */
const isText = (input: string): boolean => !/[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/.test(input)

const control = /[\0-\x1f\x7f-\x9f]/g
// biome-ignore-end lint/suspicious/noControlCharactersInRegex: see above

function nextControl(input: string, from: number): number {
  control.lastIndex = from
  return control.exec(input)?.index ?? input.length
}

/** Collects a bracketed paste, whose end mark may be cut anywhere. Works on whole chunks: a paste may be megabytes long. */
class PasteReader {
  #pieces: string[] = []
  /** What may be the beginning of the end mark. */
  #tail = ''
  #endsWithReturn = false

  /** Reads from `at` on. Returns the place behind the end mark, `undefined` if the paste goes on. */
  read(chunk: string, at: number): number | undefined {
    const text = this.#tail + chunk.slice(at)
    const end = text.indexOf(endMark)
    if (end >= 0) {
      const next = at + end + endMark.length - this.#tail.length
      this.#tail = ''
      this.add(text.slice(0, end))
      return next
    }
    const kept = text.length - partOfEndMark(text)
    this.#tail = text.slice(kept)
    this.add(text.slice(0, kept))
    return undefined
  }

  /** Adds a piece of text. A newline may be cut between its two characters. */
  add(piece: string): void {
    if (piece === '') return
    const text = this.#endsWithReturn && piece.startsWith('\n') ? piece.slice(1) : piece
    this.#endsWithReturn = piece.endsWith('\r')
    this.#pieces.push(cleanText(text))
  }

  /** Everything so far, and begins anew. */
  take(): string {
    this.add(this.#tail)
    const text = this.#pieces.join('')
    this.#pieces = []
    this.#tail = ''
    this.#endsWithReturn = false
    return text
  }
}

const endMark = '\x1b[201~'

/** How many characters at the end of a text are the beginning of the end mark. */
function partOfEndMark(text: string): number {
  let length = Math.min(endMark.length - 1, text.length)
  while (!text.endsWith(endMark.slice(0, length))) length--
  return length
}
