/** Reads a pattern character by character, and escapes that mean the same inside and outside classes. */
export class RegexReader {
  readonly #characters: readonly string[]
  #at = 0

  constructor(pattern: string) {
    this.#characters = Array.from(pattern)
  }

  isAtEnd(): boolean {
    return this.#at >= this.#characters.length
  }

  peek(ahead = 0): string | undefined {
    return this.#characters[this.#at + ahead]
  }

  /** The next character; there must be one. */
  next(): string {
    const character = this.#characters[this.#at++]
    if (character === undefined) throw new PatternProblem('incomplete escape sequence or class')
    return character
  }

  take(text: string): boolean {
    for (let i = 0; i < text.length; i++) if (this.peek(i) !== text[i]) return false
    this.#at += text.length
    return true
  }

  takeOne<Text extends string>(texts: readonly Text[]): Text | undefined {
    return texts.find((text) => this.take(text))
  }

  /** Takes the text up to and including `end`; undefined if there is none. */
  takeUntil(end: string): string | undefined {
    const stop = this.#characters.indexOf(end, this.#at)
    if (stop < 0) return undefined
    const text = this.#characters.slice(this.#at, stop).join('')
    this.#at = stop + 1
    return text
  }

  /** Spaces, and comments up to the end of their line. */
  skipBlanks(): void {
    for (;;) {
      const character = this.peek()
      if (character === '#') while (!this.isAtEnd() && this.next() !== '\n');
      else if (character !== undefined && /\s/.test(character)) this.#at++
      else return
    }
  }

  /** `\d`, `\W`, `\p{Greek}` and the like, after the backslash. */
  readClassEscape(): ClassSet | undefined {
    const name = this.takeOne(['d', 's', 'w', 'D', 'S', 'W', 'p', 'P'])
    if (name === undefined) return undefined
    const isNegated = name < 'a'
    const small = name.toLowerCase()
    const set: ClassSet =
      small === 'p' ? this.#readProperty() : { kind: 'perl', name: small === 'd' || small === 's' ? small : 'w' }
    return isNegated ? { kind: 'not', set } : set
  }

  #readProperty(): ClassSet {
    const name = this.take('{') ? this.takeUntil('}') : this.next()
    if (!name) throw new PatternProblem('incomplete Unicode class')
    const isNegated = name.startsWith('^') || name.includes('!=')
    const set: ClassSet = { kind: 'property', name: name.replace(/^\^/, '').replace('!=', '=') }
    return isNegated ? { kind: 'not', set } : set
  }

  /** An escape that stands for one character, after the backslash. */
  readCharacterEscape(): string {
    const character = this.next()
    const control = controls[character]
    if (control !== undefined) return control
    if (character === 'x') return this.#readHex(2)
    if (character === 'u') return this.#readHex(4)
    if (character === 'U') return this.#readHex(8)
    if (/[0-9]/.test(character)) throw new PatternProblem('backreferences are not supported')
    if (/^[!-/:-@[-`{-~ ]$/.test(character)) return character
    throw new PatternProblem(`unrecognized escape sequence "\\${character}"`)
  }

  #readHex(digits: number): string {
    const isBraced = this.take('{')
    let hex = isBraced ? (this.takeUntil('}') ?? '') : ''
    while (!isBraced && hex.length < digits) hex += this.next()
    const code = /^[0-9a-fA-F]+$/.test(hex) ? Number.parseInt(hex, 16) : Number.NaN
    if (!(code <= 0x10ffff) || (code >= 0xd800 && code < 0xe000))
      throw new PatternProblem('hexadecimal literal is not a Unicode scalar value')
    return String.fromCodePoint(code)
  }
}

const controls: Readonly<Record<string, string>> = {
  a: '\x07',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
}

/** A parsed regular expression of ripgrep's dialect (Rust's). */
export type RegexNode =
  | { readonly kind: 'literal'; readonly character: string; readonly ignoreCase: boolean }
  | { readonly kind: 'any'; readonly crossesLines: boolean }
  | { readonly kind: 'class'; readonly set: ClassSet; readonly ignoreCase: boolean }
  | { readonly kind: 'assertion'; readonly what: Assertion }
  | { readonly kind: 'repeat'; readonly node: RegexNode; readonly times: string; readonly least: number }
  | { readonly kind: 'sequence'; readonly nodes: readonly RegexNode[] }
  | { readonly kind: 'either'; readonly options: readonly RegexNode[] }

export type Assertion =
  | 'lineStart'
  | 'lineEnd'
  | 'textStart'
  | 'textEnd'
  | 'wordEdge'
  | 'noWordEdge'
  | 'wordStart'
  | 'wordEnd'
  | 'wordStartHalf'
  | 'wordEndHalf'

export type ClassSet =
  | { readonly kind: 'range'; readonly from: string; readonly to: string }
  | { readonly kind: 'perl'; readonly name: 'd' | 's' | 'w' }
  | { readonly kind: 'property'; readonly name: string }
  | { readonly kind: 'not'; readonly set: ClassSet }
  | { readonly kind: 'union'; readonly sets: readonly ClassSet[] }
  | { readonly kind: 'and' | 'minus' | 'xor'; readonly left: ClassSet; readonly right: ClassSet }

/** An invalid pattern. */
export class PatternProblem extends Error {}

/** `i`, `m`, `s`, `U` (swaps lazy and greedy), `x` (ignores spaces and comments). */
export interface RegexFlags {
  readonly i: boolean
  readonly m: boolean
  readonly s: boolean
  readonly U: boolean
  readonly x: boolean
}
