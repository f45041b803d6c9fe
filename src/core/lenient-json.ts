import { type BareText, isSeparate, readBareText } from './bare-text.ts'
import { maxNesting } from './plain-json.ts'
import type { JsonSchema } from './tool.ts'
import { setOwn } from './turn.ts'

/** A text that was read. */
export interface LenientJson {
  readonly value: unknown
  /** The source text of each property of the outermost object. */
  readonly sources: ReadonlyMap<string, string>
  /** Whether a number, at any depth, is written differently than JavaScript writes it: `3.10`, `1e3`. */
  readonly hasOtherNotation: boolean
}

/** The text could not be read. The message names the character and its position. */
export class LenientJsonError extends Error {}

/**
 * Reads JSON, and beyond it only what has one possible meaning: single and typographic quotes, Python's literals and
 * tuples, names without quotes, comments, a comma too many, line breaks in strings. Everything else is refused: an
 * escape that JSON does not have, a property that is there twice, a number that would lose digits. The schema of the
 * outermost object tells where some texts without quotes end.
 */
export function parseLenientJson(text: string, schema?: JsonSchema): LenientJson {
  const reader = new Reader(text, schema)
  return { value: reader.whole(), sources: reader.sources, hasOtherNotation: reader.hasOtherNotation }
}

/** JSON's own whitespace, other spaces, and characters without width. */
const space = /[\s\u200B-\u200D\u2060\uFEFF]*/y
const closing: Readonly<Record<string, string>> = { '"': '"', "'": "'", '`': '`', '“': '”', '‘': '’' }
/** The characters of a string up to its end or an escape. */
const plainIn: Readonly<Record<string, RegExp>> = {
  ...{ '"': /[^"\\]*/y, "'": /[^'\\]*/y, '`': /[^`\\]*/y, '”': /[^”\\]*/y, '’': /[^’\\]*/y },
}
const escapes: Readonly<Record<string, string>> = {
  ...{ '"': '"', "'": "'", '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' },
}
const words: Readonly<Record<string, boolean | null>> = {
  ...{ true: true, false: false, null: null, True: true, False: false, None: null },
}
const number = /[+-]?(?:0[xX][\da-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?![\w.])/y
/** Digits that are one number in base 8 and another in base 10: `010`, but not `07` or `08`. */
const isOctalOrDecimal = /^[+-]?0+[1-7][0-7]+$/
const name = /[\p{L}_$][\p{L}\p{N}_$-]*/uy

class Reader {
  readonly sources = new Map<string, string>()
  hasOtherNotation = false
  readonly #text: string
  readonly #schema: JsonSchema | undefined
  #at = 0
  #depth = 0

  constructor(text: string, schema: JsonSchema | undefined) {
    this.#text = text
    this.#schema = schema
  }

  whole(): unknown {
    this.#skip()
    const value = this.#value()
    this.#skip()
    const rest = this.#text[this.#at]
    if (rest === undefined) return value
    if (rest === '}' || rest === ']' || rest === ')') throw this.#error(`there is a ${rest} too many`)
    throw this.#error(`${this.#shown()} follows the end of the ${typeof value === 'object' ? 'object' : 'value'}`)
  }

  #value(): unknown {
    const char = this.#text[this.#at]
    if (char === undefined) throw this.#error('a value is missing; it looks cut off')
    if (char === '{') return this.#nested(() => this.#object())
    if (char === '[') return this.#nested(() => this.#list(']'))
    if (char === '(') return this.#nested(() => this.#list(')'))
    if (closing[char] !== undefined) return this.#string()
    const word = this.#match(name)
    if (word !== '' && Object.hasOwn(words, word) && this.#isEndOfValue()) return words[word]
    this.#at -= word.length
    return this.#number()
  }

  #nested<T>(read: () => T): T {
    if (++this.#depth > maxNesting) throw new LenientJsonError(`nested deeper than ${maxNesting} levels`)
    const value = read()
    this.#depth--
    return value
  }

  #object(): Record<string, unknown> {
    const start = this.#at++
    const schema = this.#depth === 1 ? this.#schema : undefined
    const object: Record<string, unknown> = {}
    let hasBareText = false
    let doubtAt: number | undefined
    while (!this.#isClosed('}', start, 'object')) {
      const keyAt = this.#at
      const key = this.#key(start)
      const spaces = this.#skip()
      const valueAt = this.#at
      const bare = spaces <= 1 ? this.#bareText(key, schema) : undefined
      const value = bare ? bare.text : this.#value()
      if (Object.hasOwn(object, key) && JSON.stringify(object[key]) !== JSON.stringify(value))
        throw this.#error(`the property ${JSON.stringify(key)} is there twice with different values`, keyAt)
      // Even if both are equal, one of them may be part of a text without quotes.
      if (Object.hasOwn(object, key) && hasBareText)
        throw this.#error(`the property ${JSON.stringify(key)} is there twice; put texts in quotes`, keyAt)
      if (doubtAt !== undefined && !isSeparate(schema!, key, { value, isBare: bare !== undefined }))
        throw this.#error('the text without quotes may end here or go on; put a text in quotes', doubtAt)
      hasBareText ||= bare !== undefined
      doubtAt = bare?.isBeforeBareName ? this.#at : undefined
      setOwn(object, key, value)
      if (this.#depth === 1) this.sources.set(key, this.#text.slice(valueAt, this.#at))
      this.#separator('}', typeof value === 'string')
    }
    return object
  }

  #list(close: ']' | ')'): unknown[] {
    const start = this.#at++
    const list: unknown[] = []
    let commas = 0
    while (!this.#isClosed(close, start, 'list')) {
      const value = this.#value()
      list.push(value)
      if (this.#separator(close, typeof value === 'string')) commas++
    }
    // In Python a single value in parentheses is not a tuple.
    if (close === ')' && list.length === 1 && commas === 0)
      throw this.#error('"(" begins neither a value nor a tuple', start)
    return list
  }

  #isClosed(close: string, start: number, what: string): boolean {
    this.#skip()
    const char = this.#text[this.#at]
    if (char === undefined) throw this.#open(what, start)
    if (char === close) this.#at++
    return char === close
  }

  /**
   * Skips a comma. It may be missing between values with an unambiguous end; after a string, the following text may be
   * part of it, if a quote in it was not escaped.
   */
  #separator(close: string, isAfterString: boolean): boolean {
    const spaces = this.#skip()
    const char = this.#text[this.#at]
    if (char === ',') {
      this.#at++
      return true
    }
    if (char === undefined || char === close) return false
    const isNext = closing[char] !== undefined || (close !== '}' && /[\d{[-]/.test(char))
    if (isNext && !isAfterString && (spaces > 0 || !/[\d-]/.test(char))) return false
    const hint = isAfterString ? ' (a quote inside a string is written \\")' : ''
    throw this.#error(`expected "," or "${close}", got ${this.#shown()}${hint}`)
  }

  /** The name of a property; the position is then behind its colon. */
  #key(start: number): string {
    const nameAt = this.#at
    const isQuoted = closing[this.#text[this.#at]!] !== undefined
    const key = isQuoted ? this.#string() : this.#match(name)
    if (key === '' && !isQuoted) throw this.#error(`expected the name of a property, got ${this.#shown()}`)
    if (/\p{Cc}/u.test(key)) throw this.#error(`the name ${JSON.stringify(key)} has a control character`, nameAt)
    this.#skip()
    if (this.#text[this.#at] === undefined) throw this.#open('object', start)
    if (this.#text[this.#at] !== ':')
      throw this.#error(`expected ":" after the name ${JSON.stringify(key)}, got ${this.#shown()}`)
    this.#at++
    return key
  }

  #bareText(key: string, schema: JsonSchema | undefined): BareText | undefined {
    const bare = readBareText(this.#text, this.#at, key, schema)
    this.#at += bare?.length ?? 0
    return bare
  }

  #string(): string {
    const start = this.#at
    const close = closing[this.#text[start]!]!
    let value = ''
    let from = ++this.#at
    for (;;) {
      this.#match(plainIn[close]!)
      if (this.#at === this.#text.length) throw this.#open('string', start)
      if (this.#text[this.#at] === close) break
      value += this.#text.slice(from, this.#at) + this.#escape(start, close)
      from = this.#at
    }
    value += this.#text.slice(from, this.#at++)
    if (!value.isWellFormed()) {
      const code = value.charCodeAt(value.search(/\p{Surrogate}/u)).toString(16)
      throw this.#error(`the string has half a character (\\u${code})`, start)
    }
    return value
  }

  #escape(start: number, close: string): string {
    const at = this.#at
    const char = this.#text[at + 1]
    if (char === undefined) throw this.#open('string', start)
    this.#at += 2
    if (char === 'u') {
      const digits = this.#text.slice(at + 2, at + 6)
      this.#at += 4
      if (/^[\da-fA-F]{4}$/.test(digits)) return String.fromCharCode(Number.parseInt(digits, 16))
      throw this.#error(`${JSON.stringify(`\\u${digits}`)} is not a JSON escape: \\u takes four hexadecimal digits`, at)
    }
    if (Object.hasOwn(escapes, char)) return escapes[char]!
    if (char === close) return char
    throw this.#error(`\\${visible(char)} is not a JSON escape; write \\\\ for a backslash`, at)
  }

  #number(): number {
    const start = this.#at
    const source = this.#match(number)
    if (source === '' || !this.#isEndOfValue())
      throw this.#error(`${this.#shown(start)} is not a JSON value; put a text in quotes`, start)
    if (isOctalOrDecimal.test(source))
      throw this.#error(`the number ${cut(source)} may be octal or decimal; write it without the 0 in front`, start)
    const value = exactNumber(source)
    if (value === undefined)
      throw this.#error(
        `the number ${cut(source)} cannot be kept exactly; put it in quotes if the tool takes a text`,
        start,
      )
    this.hasOtherNotation ||= String(value) !== source
    return value
  }

  #isEndOfValue(): boolean {
    return /[\s,}\])/#\u200B-\u200D\u2060\uFEFF]|^$/.test(this.#text[this.#at] ?? '')
  }

  /** Skips space and comments; returns the number of characters. */
  #skip(): number {
    const start = this.#at
    for (;;) {
      this.#match(space)
      const char = this.#text[this.#at]
      const next = this.#text[this.#at + 1]
      if (char === '#' || (char === '/' && next === '/')) this.#match(/[^\n\r]*/y)
      else if (char === '/' && next === '*') {
        const end = this.#text.indexOf('*/', this.#at + 2)
        if (end < 0) throw this.#open('comment', this.#at)
        this.#at = end + 2
      } else return this.#at - start
    }
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0] ?? ''
    this.#at += found.length
    return found
  }

  #open(what: string, start: number): LenientJsonError {
    return this.#error(`the ${what} that begins here is not closed; it looks cut off`, start)
  }

  #error(problem: string, at = this.#at): LenientJsonError {
    return new LenientJsonError(`at position ${at}: ${problem}`)
  }

  /** The text at this position, for a message. */
  #shown(at = this.#at): string {
    const rest = this.#text.slice(at)
    return JSON.stringify(cut(/^[\p{L}\p{N}_.+-]+/u.exec(rest)?.[0] ?? String.fromCodePoint(rest.codePointAt(0) ?? 0)))
  }
}

/**
 * The number in a text; `undefined` if there is none, or if JavaScript would have to round it. Only a fraction that stays
 * one may lose digits.
 */
export function exactNumber(source: string): number | undefined {
  number.lastIndex = 0
  if (number.exec(source)?.[0] !== source) return undefined
  const digits = source.replace(/^[+-]/, '')
  const size = Number(digits)
  if (!Number.isFinite(size)) return undefined
  const written = /^0x/i.test(digits) ? String(BigInt(digits)) : digits
  const isExact =
    !Number.isInteger(size) || [String(size), String(BigInt(size))].some((text) => decimal(text) === decimal(written))
  return isExact ? size * (source.startsWith('-') ? -1 : 1) : undefined
}

/** The same text for every notation of one number: `1200`, `1.2e3` and `12e2` give `12e2`. */
function decimal(text: string): string {
  const [, whole = '', fraction = '', exponent = 0] = /^(\d*)\.?(\d*)(?:e(.*))?$/i.exec(text)!
  const digits = (whole + fraction).replace(/^0+/, '')
  let length = digits.length
  while (digits[length - 1] === '0') length-- // the pattern /0+$/ would be slow for many zeros
  return length === 0
    ? '0'
    : `${digits.slice(0, length)}e${Number(exponent) - fraction.length + digits.length - length}`
}

const cut = (text: string): string => (text.length > 40 ? `${text.slice(0, 39).toWellFormed()}…` : text)
const visible = (char: string): string => (/[\p{C}\p{Z}]/u.test(char) ? JSON.stringify(char) : char)
