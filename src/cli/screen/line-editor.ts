import { visibleName } from '../../platform/visible-text.ts'
import type { Key } from './key-decoder.ts'
import { graphemesOf, textWidth } from './text-width.ts'

/** A line of text with a cursor that moves by grapheme clusters. */
export class LineEditor {
  #before: string[] = []
  #after: string[] = []

  constructor(text = '') {
    this.#insert(text)
  }

  get text(): string {
    return [...this.#before, ...this.#after].join('')
  }

  /** Returns false for a key that does not edit. */
  press(key: Key): boolean {
    if (key.type === 'text') this.#insert(key.text)
    else {
      const edit = key.type === 'ctrl' ? controls[key.key] : key.type
      if (edit === undefined || !Object.hasOwn(this.#edits, edit)) return false
      this.#edits[edit]!()
    }
    return true
  }

  /** The part around the cursor that fits `columns`; the cursor is on `under`. */
  view(columns: number): { readonly before: string; readonly under: string; readonly after: string } {
    const under = shown(this.#after[0] ?? ' ')
    const room = Math.max(1, columns) - textWidth(under)
    const before = nearest(
      this.#before.slice(-columns).toReversed(),
      room - Math.min(this.#after.length, Math.floor(room / 4)),
    )
    const after = nearest(this.#after.slice(1, columns), room - widthOf(before))
    return { before: before.toReversed().join(''), under, after: after.join('') }
  }

  readonly #edits: Readonly<Record<string, () => void>> = {
    left: () => this.#moveTo(this.#before.length - 1),
    right: () => this.#moveTo(this.#before.length + 1),
    home: () => this.#moveTo(0),
    end: () => this.#moveTo(this.#before.length + this.#after.length),
    backspace: () => void this.#before.pop(),
    delete: () => void this.#after.shift(),
    clearBefore: () => void (this.#before = []),
    clearAfter: () => void (this.#after = []),
    clearWord: () => {
      while (this.#before.length > 0 && isBlank(this.#before.at(-1)!)) this.#before.pop()
      while (this.#before.length > 0 && !isBlank(this.#before.at(-1)!)) this.#before.pop()
    },
  }

  #moveTo(index: number): void {
    const all = [...this.#before, ...this.#after]
    this.#before = all.slice(0, Math.max(0, index))
    this.#after = all.slice(Math.max(0, index))
  }

  /** New text may combine with the character before it: an accent, a skin tone. */
  #insert(text: string): void {
    const last = this.#before.pop() ?? ''
    for (const grapheme of graphemesOf(last + text)) this.#before.push(grapheme)
  }
}

const controls: Readonly<Record<string, string>> = {
  a: 'home',
  e: 'end',
  b: 'left',
  f: 'right',
  d: 'delete',
  u: 'clearBefore',
  k: 'clearAfter',
  w: 'clearWord',
}

const isBlank = (grapheme: string): boolean => grapheme.trim() === ''

/** Newlines and tabs of a paste are shown as one character each. */
function shown(grapheme: string): string {
  if (grapheme === '\n') return '⏎'
  return grapheme === '\t' ? '⇥' : visibleName(grapheme)
}

/** The first of them that fit `room` columns. */
function nearest(graphemes: readonly string[], room: number): string[] {
  const seen: string[] = []
  let left = room
  for (const grapheme of graphemes) {
    const text = shown(grapheme)
    left -= textWidth(text)
    if (left < 0) break
    seen.push(text)
  }
  return seen
}

const widthOf = (texts: readonly string[]): number => texts.reduce((sum, text) => sum + textWidth(text), 0)
