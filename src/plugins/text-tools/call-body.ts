import { isObjectText, parametersText, readNamedCall } from './read-parameters.ts'
import { isCutClose, readTag, type ThoughtTag, thoughtTagAt } from './read-tag.ts'
import type { TextCallPattern } from './text-call-pattern.ts'

/** A part of a text, and whether the text ends with it. */
export interface Piece {
  readonly text: string
  readonly isEnd: boolean
}

/**
 * How a body ends: as a call; as plain text; `again`: as a call whose closing tag seemed to be inside quotes; `thought`:
 * as plain text, because a thought ended inside those quotes.
 */
export type BodyEnding = 'call' | 'text' | 'again' | 'thought'

interface BodyStep {
  /** The number of characters that were read. */
  readonly read: number
  /** The next part of the parameters, for the stream of events. */
  readonly args: string
  /** The body has just begun as JSON. */
  readonly isJson: boolean
  readonly ending?: BodyEnding
}

/**
 * The text between the tags of a call. In JSON a closing tag inside quotes does not close the call, as long as the whole
 * can be read that way; anywhere else the first closing tag does.
 */
export class CallBody {
  isStarted = false
  readonly #name: string | undefined
  readonly #head: string
  readonly #isLiteral: boolean
  readonly #patterns: readonly TextCallPattern[]
  #text = ''
  #tail = ''
  #kind: 'lead' | 'json' | 'raw' | 'literal' = 'lead'
  #depth = 0
  #quote = ''
  /** A value is complete, and only spaces follow. */
  #isWhole = false
  /** The first closing tag inside quotes. */
  #quoted: { readonly from: number; readonly to: number } | undefined
  /** Where a thought ends inside quotes that began before this body. */
  #thought: number | undefined
  #isThinking = false
  #args = ''
  #space = ''
  #held = ''

  constructor(
    { name, head, isLiteral }: { name: string | undefined; head: string; isLiteral: boolean },
    patterns: readonly TextCallPattern[],
  ) {
    this.#name = name
    this.#head = head
    this.#isLiteral = isLiteral
    this.#patterns = patterns
  }

  get words(): readonly [head: string, body: string, tail: string] {
    return [this.#head, this.#text, this.#tail]
  }

  /** Undefined if the name should be inside the body and is not. */
  get name(): string | undefined {
    return this.#name ?? readNamedCall(this.#text)?.name
  }

  get nameIn(): 'json' | undefined {
    return this.#name === undefined ? 'json' : undefined
  }

  /** Parameters that were not yet emitted. */
  get unsent(): string {
    return this.isStarted ? this.#held.trimEnd() : parametersText(this.#text, this.nameIn)
  }

  read(piece: Piece): BodyStep {
    const wasStarted = this.isStarted
    this.#args = ''
    let at = 0
    let ending: BodyEnding | undefined
    while (at < piece.text.length) {
      const step = this.#step(piece, at)
      if (step === 0) break
      if (typeof step === 'number') {
        this.#take(piece.text.slice(at, at + step))
        at += step
        continue
      }
      ending = step.ending
      this.#tail = piece.text.slice(at, at + step.tail)
      at += step.tail
      break
    }
    const isJson = this.isStarted && !wasStarted
    return { read: at, args: this.#args, isJson, ...(ending && { ending }) }
  }

  /** How it ends at the end of the text: without its closing tag, only a complete value is a call. */
  ending(): BodyEnding {
    if (this.#isWhole && isObjectText(this.#text)) return 'call'
    return this.#untrusted() ?? 'text'
  }

  /** Ends it at its first closing tag, or before the end of a thought, and returns the text after that. */
  rewind(ending: 'again' | 'thought'): string {
    const { from, to } = ending === 'again' ? this.#quoted! : { from: this.#thought!, to: this.#thought! }
    const whole = this.#text
    this.#text = whole.slice(0, from)
    this.#tail = whole.slice(from, to)
    this.#held = ''
    return whole.slice(to)
  }

  #take(text: string): void {
    this.#text += text
    if (!this.isStarted) return
    if (this.#quoted) this.#held += text
    else if (text.trim() === '') this.#space += text
    else {
      const { length } = text.trimEnd()
      this.#args += this.#space + text.slice(0, length)
      this.#space = text.slice(length)
    }
    if (this.#quoted && this.#space !== '') {
      this.#held = this.#space + this.#held
      this.#space = ''
    }
  }

  /** How many characters belong to the body, 0 if more text is needed, or how it ends. */
  #step(piece: Piece, at: number): number | { ending: BodyEnding; tail: number } {
    const char = piece.text[at]!
    if (this.#kind === 'lead') {
      const space = lengthOf(spaces, piece.text, at)
      if (space > 0) return space
      this.#kind = this.#kindBy(char)
    }
    if (this.#kind !== 'json') return this.#stepRaw(piece, at)
    return this.#quote === '' ? this.#stepJson(piece, at) : this.#stepQuoted(piece, at)
  }

  #kindBy(char: string): 'json' | 'raw' | 'literal' {
    if (char !== '{' && char !== '[') return 'raw'
    if (this.#isLiteral) return 'literal'
    // Parameters are only emitted after the name of the call.
    this.isStarted = this.#name !== undefined
    return 'json'
  }

  #stepRaw(piece: Piece, at: number): number | { ending: BodyEnding; tail: number } {
    const before = lengthOf(untilTag, piece.text, at)
    if (before > 0) return before
    const thought = this.#thoughtTag(piece, at)
    if (thought === 'more') return 0
    if (thought) return thought === 'ends' ? { ending: 'text', tail: 0 } : 1
    const tag = readTag({ ...piece, at }, this.#patterns)
    if (tag === 'more') return 0
    if (tag?.kind === 'close') return { ending: 'call', tail: tag.end - at }
    // The model began another call: it abandoned this one, or only mentioned it.
    if (tag?.kind === 'open' && this.#kind === 'raw') return { ending: 'text', tail: 0 }
    return 1
  }

  #stepJson(piece: Piece, at: number): number | { ending: BodyEnding; tail: number } {
    const { text, isEnd } = piece
    const char = text[at]!
    const space = lengthOf(spaces, text, at)
    if (space > 0) return space
    if (char === '<') {
      const thought = this.#thoughtTag(piece, at)
      if (thought === 'more') return 0
      if (thought === 'ends') return { ending: 'text', tail: 0 }
      const tag = readTag({ ...piece, at }, this.#patterns)
      if (tag === 'more') return 0
      if (tag?.kind === 'close') return this.#closed(tag.end - at)
      if (tag && this.#isWhole) return this.#closed(0)
      if (isEnd && this.#isWhole && isCutClose(text.slice(at), this.#patterns)) return this.#closed(text.length - at)
    }
    const isClosing = char === '}' || char === ']'
    if (char === '{' || char === '[') this.#depth++
    if (isClosing) this.#depth = Math.max(0, this.#depth - 1)
    if (char === '"' || char === "'") this.#quote = char
    this.#isWhole = isClosing && this.#depth === 0
    return Math.max(1, lengthOf(outside, text, at))
  }

  #closed(tail: number): { ending: BodyEnding; tail: number } {
    const untrusted = this.#untrusted()
    return untrusted && !isObjectText(this.#text) ? { ending: untrusted, tail: 0 } : { ending: 'call', tail }
  }

  /** How it ends instead if its quotes are not balanced. */
  #untrusted(): 'again' | 'thought' | undefined {
    const quoted = this.#quoted?.from ?? Number.POSITIVE_INFINITY
    if (this.#thought !== undefined && this.#thought < quoted) return 'thought'
    return this.#quoted && 'again'
  }

  /** A thought that begins and ends in the body is part of the parameters. */
  #thoughtTag(piece: Piece, at: number): 'opens' | 'ends' | 'closes' | 'more' | undefined {
    const tag: ThoughtTag | 'more' | undefined = thoughtTagAt({ ...piece, at })
    if (!tag || tag === 'more') return tag
    const wasThinking = this.#isThinking
    this.#isThinking = tag.kind === 'thought opens'
    if (this.#isThinking) return 'opens'
    return wasThinking ? 'closes' : 'ends'
  }

  #stepQuoted(piece: Piece, at: number): number {
    const { text, isEnd } = piece
    const char = text[at]!
    if (char === '\\') {
      if (at + 1 === text.length && !isEnd) return 0
      return Math.min(2, text.length - at)
    }
    if (char === '<' && this.#thought === undefined) {
      const thought = this.#thoughtTag(piece, at)
      if (thought === 'more') return 0
      if (thought === 'ends') this.#thought = this.#text.length
    }
    if (char === '<' && !this.#quoted) {
      const tag = readTag({ ...piece, at }, this.#patterns)
      if (tag === 'more') return 0
      const from = this.#text.length
      if (tag?.kind === 'close') this.#quoted = { from, to: from + tag.end - at }
    }
    if (char === this.#quote) this.#quote = ''
    return Math.max(1, lengthOf(inside, text, at))
  }
}

const spaces = /\s+/y
const untilTag = /[^<]+/y
const outside = /[^\s"'<{}[\]]+/y
const inside = /[^"'\\<]+/y

function lengthOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0].length ?? 0
}
