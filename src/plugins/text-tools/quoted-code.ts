import type { Piece } from './call-body.ts'
import { longestThoughtTag, readTag, type ThoughtTag, thoughtTagAt } from './read-tag.ts'
import type { TextCallPattern } from './text-call-pattern.ts'

/**
 * How a fence ends: `done`: as text that was emitted; `held`: held back, to be checked for calls; `inline`: it is inline
 * code; `thought`: a thought ended before the fence.
 */
export type FenceEnding = 'done' | 'held' | 'inline' | 'thought'

interface FenceStep {
  readonly read: number
  /** The part that is text in any case. */
  readonly text: string
  readonly ending?: FenceEnding
}

/** Reads a fenced code block. It is held back only if it begins with a call. */
export class Fence {
  readonly ticks: string
  /** The rest of its first line. */
  info = ''
  readonly #patterns: readonly TextCallPattern[]
  #state: 'info' | 'lead' | 'open' | 'held' = 'info'
  #lead = ''
  #body = ''
  #lineAt = 0
  #line: 'indent' | 'ticks' | 'space' | 'other' = 'indent'
  #count = 0
  #lineBegins = ''
  /** Whether a thought began in the fence, or all thoughts are over: then none can end in it. */
  #isThinking: boolean

  constructor(ticks: string, options: { patterns: readonly TextCallPattern[]; isThoughtOver: boolean }) {
    this.ticks = ticks
    this.#patterns = options.patterns
    this.#isThinking = options.isThoughtOver
  }

  get head(): string {
    return this.ticks + this.info + this.#lead
  }

  get isHeld(): boolean {
    return this.#state === 'held'
  }

  get inner(): string {
    return this.#isClosed() ? this.#body.slice(0, this.#lineAt) : this.#body
  }

  get tail(): string {
    return this.#isClosed() ? this.#body.slice(this.#lineAt) : ''
  }

  read(piece: Piece): FenceStep {
    if (this.#state === 'info') return this.#readInfo(piece.text)
    if (this.#state === 'lead') return this.#readLead(piece)
    return this.#readLine(piece.text)
  }

  ending(): FenceEnding {
    if (this.#state === 'info') return 'inline'
    if (this.#isThoughtEnd()) return 'thought'
    return this.#state === 'open' ? 'done' : 'held'
  }

  #readInfo(text: string): FenceStep {
    const line = lineOf(text)
    if (this.ticks[0] === '`' && line.includes('`')) return { read: 0, text: '', ending: 'inline' }
    this.info += line
    if (line.endsWith('\n')) this.#state = 'lead'
    return { read: line.length, text: '' }
  }

  #readLead(piece: Piece): FenceStep {
    const space = piece.text.length - piece.text.trimStart().length
    if (space > 0) {
      this.#lead += piece.text.slice(0, space)
      return { read: space, text: '' }
    }
    const tag = piece.text[0] === '<' ? readTag({ ...piece, at: 0 }, this.#patterns) : undefined
    if (tag === 'more') return { read: 0, text: '' }
    this.#state = tag?.kind === 'open' || tag?.kind === 'wrap' ? 'held' : 'open'
    const { read, text, ending } = this.#readLine(piece.text)
    return { read, text: this.#state === 'open' ? this.head + text : text, ...(ending && { ending }) }
  }

  #readLine(text: string): FenceStep {
    const isHeld = this.#state === 'held'
    const line = lineOf(text)
    const isWhole = line.endsWith('\n')
    const said = isWhole ? line.slice(0, -1) : line
    this.#follow(said)
    this.#lineBegins = (this.#lineBegins + said).trimStart().slice(0, longestThoughtTag + 1)
    if (isHeld) this.#body += said
    const shown = isHeld ? '' : said
    if (!isWhole) return { read: said.length, text: shown }
    if (this.#isClosed() || this.#isThoughtEnd()) return { read: said.length, text: shown, ending: this.ending() }
    if (this.#thoughtTag()?.kind === 'thought opens') this.#isThinking = true
    this.#lineBegins = ''
    this.#line = 'indent'
    this.#count = 0
    if (isHeld) this.#lineAt = (this.#body += '\n').length
    return { read: line.length, text: isHeld ? '' : line }
  }

  /** Looks for the closing fence. */
  #follow(said: string): void {
    for (let i = 0; i < said.length && this.#line !== 'other'; i++) this.#line = this.#lineAfter(said[i]!)
  }

  #lineAfter(char: string): 'indent' | 'ticks' | 'space' | 'other' {
    if (char === this.ticks[0] && this.#line !== 'space') {
      this.#count++
      return 'ticks'
    }
    if (char !== ' ' && char !== '\t' && char !== '\r') return 'other'
    return this.#line === 'indent' ? 'indent' : 'space'
  }

  #thoughtTag(): ThoughtTag | undefined {
    const tag = thoughtTagAt({ text: this.#lineBegins, at: 0, isEnd: true })
    return tag === 'more' ? undefined : tag
  }

  /** The line has nothing but the closing tag of a thought that began before the fence. */
  #isThoughtEnd(): boolean {
    const tag = this.#isThinking ? undefined : this.#thoughtTag()
    return tag?.kind === 'thought ends' && this.#lineBegins.trimEnd().length === tag.end
  }

  #isClosed(): boolean {
    return (this.#line === 'ticks' || this.#line === 'space') && this.#count >= this.ticks.length
  }
}

function lineOf(text: string): string {
  const end = text.indexOf('\n')
  return end < 0 ? text : text.slice(0, end + 1)
}

/** Whether a position in a line is quoted: in backticks, or after a `>` at its beginning. */
export class InlineCode {
  /** The number of backticks that opened the current code. */
  #ticks = 0
  #isQuote = false
  #holdsThoughtEnd = false

  get isQuoted(): boolean {
    return this.#ticks > 0 || this.#isQuote
  }

  /** Backticks in a row open or close code. */
  toggle(count: number): void {
    if (this.#ticks === 0) this.#ticks = count
    else if (this.#ticks === count) {
      this.#ticks = 0
      this.#holdsThoughtEnd = false
    }
  }

  quoteLine(): void {
    this.#isQuote = true
  }

  /** The closing tag of a thought is in backticks. */
  holdThoughtEnd(): void {
    if (!this.#isQuote) this.#holdsThoughtEnd = true
  }

  /** The tag came after a backtick that was never closed, so it was not quoted. */
  get wasThoughtEnd(): boolean {
    return this.#holdsThoughtEnd
  }

  end(): void {
    this.#ticks = 0
    this.#isQuote = false
    this.#holdsThoughtEnd = false
  }
}
