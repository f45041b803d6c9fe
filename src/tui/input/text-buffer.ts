import { graphemeEdge } from './graphemes.ts'

/** A place between two grapheme clusters: `at` counts UTF-16 units of the line. */
export interface Place {
  readonly line: number
  readonly at: number
}

/**
 * Text in lines, with a caret, undo and redo. Every change is a replacement of a range, so that a key costs no more in a
 * long text than in a short one, and so that undo needs no copies.
 */
export class TextBuffer {
  #lines: string[] = ['']
  #caret: Place = start
  #undo: Change[] = []
  #redo: Change[] = []
  /** Whether the next typed text joins the last change. */
  #isTyping = false

  get lines(): readonly string[] {
    return this.#lines
  }
  get caret(): Place {
    return this.#caret
  }
  get end(): Place {
    return { line: this.#lines.length - 1, at: this.#lines.at(-1)!.length }
  }
  /** The line with the caret. */
  get line(): string {
    return this.#lines[this.#caret.line]!
  }

  /** Returns whether the caret moved. The place is moved into the text and to the end of a cluster. */
  moveTo(place: Place): boolean {
    const line = Math.max(0, Math.min(place.line, this.#lines.length - 1))
    const next = { line, at: graphemeEdge(this.#lines[line]!, place.at) }
    this.#isTyping = false
    const isMoved = !isSame(next, this.#caret)
    this.#caret = next
    return isMoved
  }

  slice(from: Place, to: Place): string {
    if (from.line === to.line) return this.#lines[from.line]!.slice(from.at, to.at)
    const between = this.#lines.slice(from.line + 1, to.line)
    return [this.#lines[from.line]!.slice(from.at), ...between, this.#lines[to.line]!.slice(0, to.at)].join('\n')
  }

  /** Replaces a range and puts the caret behind the new text. Returns the old text. */
  replace(from: Place, to: Place, text: string): string {
    const before = this.#caret
    const removed = this.slice(from, to)
    if (removed === '' && text === '') return removed
    this.#apply(from, to, text)
    this.#undo.push({ from, removed, inserted: text, before, after: this.#caret })
    if (this.#undo.length > mostChanges) this.#undo.shift()
    this.#redo = []
    this.#isTyping = false
    return removed
  }

  /** Inserts at the caret. What is typed without a pause in between is undone word by word, not letter by letter. */
  type(text: string): void {
    const last = this.#isTyping ? this.#undo.at(-1) : undefined
    const isJoined = last && isSame(endOf(last.from, last.inserted), this.#caret) && !/\s$/.test(last.inserted)
    this.replace(this.#caret, this.#caret, text)
    if (isJoined) this.#undo.splice(-2, 2, { ...last, inserted: last.inserted + text, after: this.#caret })
    this.#isTyping = true
  }

  undo(): boolean {
    const change = this.#undo.pop()
    if (!change) return false
    this.#apply(change.from, endOf(change.from, change.inserted), change.removed)
    this.#redo.push(change)
    this.moveTo(change.before)
    return true
  }

  redo(): boolean {
    const change = this.#redo.pop()
    if (!change) return false
    this.#apply(change.from, endOf(change.from, change.removed), change.inserted)
    this.#undo.push(change)
    this.moveTo(change.after)
    return true
  }

  /** Removes the text and what undo knows of it. */
  reset(): void {
    this.#lines = ['']
    this.#caret = start
    this.#undo = []
    this.#redo = []
    this.#isTyping = false
  }

  #apply(from: Place, to: Place, text: string): void {
    const head = this.#lines[from.line]!.slice(0, from.at)
    const tail = this.#lines[to.line]!.slice(to.at)
    const end = endOf(from, text)
    if (from.line === to.line && end.line === from.line) this.#lines[from.line] = head + text + tail
    else {
      const lines = (head + text + tail).split('\n')
      this.#lines = this.#lines.slice(0, from.line).concat(lines, this.#lines.slice(to.line + 1))
    }
    this.#caret = { line: end.line, at: graphemeEdge(this.#lines[end.line]!, end.at) }
  }
}

interface Change {
  readonly from: Place
  readonly removed: string
  readonly inserted: string
  /** The caret before and after it. */
  readonly before: Place
  readonly after: Place
}

const start: Place = { line: 0, at: 0 }
const mostChanges = 1000

const isSame = (a: Place, b: Place): boolean => a.line === b.line && a.at === b.at

/** Where a text ends that begins at `from`. */
function endOf(from: Place, text: string): Place {
  const last = text.lastIndexOf('\n')
  if (last < 0) return { line: from.line, at: from.at + text.length }
  let lines = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++
  return { line: from.line + lines, at: text.length - last - 1 }
}
