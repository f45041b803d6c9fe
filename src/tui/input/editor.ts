import type { OutgoingMessage } from '../../chat/chat.ts'
import { textWidth } from '../terminal/text-width.ts'
import { type Attachment, Attachments, anyMark, lineCount, type Piece } from './attachments.ts'
import { cleanText } from './clean-text.ts'
import { type EditorAction, editorAction } from './editor-keys.ts'
import { nextGrapheme, previousGrapheme } from './graphemes.ts'
import type { Key } from './key.ts'
import { KillRing } from './kill-ring.ts'
import { nextRow, previousRow, type Row, visibleRows } from './rows.ts'
import { SoftWrap } from './soft-wrap.ts'
import { type Place, TextBuffer } from './text-buffer.ts'
import { blankSeparatedStart, wordEnd, wordStart } from './words.ts'

/** The rows of an editor on the screen. */
export interface EditorLayout {
  readonly rows: readonly string[]
  /** Counted from the first of `rows`, in columns. */
  readonly caret: { readonly row: number; readonly column: number }
  readonly hasMoreAbove: boolean
  readonly hasMoreBelow: boolean
}

/**
 * The text that a person is writing, in any number of lines. It knows keys and nothing of the terminal. Long pastes and
 * images stand in it as attachments, which move and are deleted as one character.
 */
export class Editor {
  readonly #buffer = new TextBuffer()
  readonly #attachments = new Attachments()
  readonly #killRing = new KillRing()
  #wrap = this.#wrapFor(80)
  #columns = 80
  #top: Row = { line: 0, row: 0 }
  /** The column to which Up and Down return after shorter rows. */
  #goal: number | undefined
  #last: EditorAction | undefined

  constructor(text = '') {
    this.insert(text)
  }

  /** What is shown: the text with labels in place of attachments. */
  get text(): string {
    return this.#attachments.shown(this.#marked)
  }
  /** The text with pastes in place. Images stay labels. */
  get fullText(): string {
    return this.#attachments.full(this.#marked)
  }
  get isEmpty(): boolean {
    return this.#buffer.lines.length === 1 && this.#buffer.line === ''
  }
  /** Of the line with the caret, the text before it and behind it: for completion. */
  get around(): { readonly before: string; readonly after: string } {
    const { line, caret } = this.#buffer
    return {
      before: this.#attachments.shown(line.slice(0, caret.at)),
      after: this.#attachments.shown(line.slice(caret.at)),
    }
  }
  /** Whether Up would leave the text, so that it may recall earlier prompts. */
  get isOnFirstRow(): boolean {
    return previousRow(this.#caretRow, this.#buffer.lines, this.#wrap) === undefined
  }
  get isOnLastRow(): boolean {
    return nextRow(this.#caretRow, this.#buffer.lines, this.#wrap) === undefined
  }

  /** What is sent: the text as shown, and with attachments the parts for the model, with the pastes in place. */
  message(): OutgoingMessage {
    const parts = this.#attachments.parts(this.#marked)
    return parts ? { text: this.text, parts } : { text: this.text }
  }

  /** Text and attachments, to be stored. */
  pieces(): Piece[] {
    return this.#attachments.pieces(this.#marked)
  }

  /** Says what the key did; `undefined` if nothing, so that it may mean something else. */
  press(key: Key): 'edited' | 'moved' | undefined {
    if (key.type === 'text') {
      if (key.isPaste) this.paste(key.text)
      else this.#edit(() => this.#buffer.type(cleanText(key.text)))
      return 'edited'
    }
    const action = editorAction(key)
    if (!action) return undefined
    const change = this.#actions[action]()
    if (action !== 'up' && action !== 'down') this.#goal = undefined
    this.#last = change && action
    return change
  }

  /** Inserts a paste at the caret; a long one becomes an attachment. */
  paste(text: string): void {
    const pasted = cleanText(text)
    const isLong = pasted.length > mostPasted || lineCount(pasted) > mostPastedLines
    if (!isLong || !this.attach({ kind: 'paste', text: pasted })) this.insert(pasted)
  }

  /** Inserts text at the caret as it is. */
  insert(text: string): void {
    const { caret } = this.#buffer
    this.#edit(() => this.#buffer.replace(caret, caret, cleanText(text)))
  }

  /** Inserts an attachment at the caret. Returns false if there are too many. */
  attach(attachment: Attachment): boolean {
    const mark = this.#attachments.add(attachment)
    const { caret } = this.#buffer
    if (mark) this.#edit(() => this.#buffer.replace(caret, caret, mark))
    return mark !== undefined
  }

  /** Replaces the last `length` UTF-16 units before the caret, on its line: what a completion does. */
  replaceBefore(length: number, text: string): void {
    const { caret } = this.#buffer
    const from = { line: caret.line, at: Math.max(0, caret.at - length) }
    this.#edit(() => this.#buffer.replace(from, caret, cleanText(text)))
  }

  /** Replaces everything, with the caret at the end. Undo brings the old text back. */
  set(content: string | readonly Piece[]): void {
    const pieces = typeof content === 'string' ? [content] : content
    const text = pieces.map((piece) => (typeof piece === 'string' ? cleanText(piece) : this.#attachments.add(piece)))
    this.#edit(() => this.#buffer.replace(textStart, this.#buffer.end, text.join('')))
  }

  /** Begins anew after the text was sent. What was cut can still be inserted. */
  reset(): void {
    this.#killRing.map((text) => this.#attachments.full(text))
    this.#attachments.clear()
    this.#buffer.reset()
    this.#wrap = this.#wrapFor(this.#columns)
    this.#edit(() => {})
  }

  /** The rows around the caret, at most `mostRows`, each narrower than `columns`: the caret needs a column too. */
  layout(columns: number, mostRows: number): EditorLayout {
    if (columns !== this.#columns) this.#wrap = this.#wrapFor(columns)
    this.#columns = columns
    const { lines } = this.#buffer
    const caret = this.#caretRow
    const shown = visibleRows({ lines, wrap: this.#wrap, top: this.#top, caret, most: Math.max(1, mostRows) })
    this.#top = shown[0]!
    return {
      rows: shown.map((row) => this.#shownRow(row)),
      caret: {
        row: shown.findIndex(({ line, row }) => line === caret.line && row === caret.row),
        column: this.#column,
      },
      hasMoreAbove: previousRow(this.#top, lines, this.#wrap) !== undefined,
      hasMoreBelow: nextRow(shown.at(-1)!, lines, this.#wrap) !== undefined,
    }
  }

  readonly #actions: Readonly<Record<EditorAction, () => 'edited' | 'moved' | undefined>> = {
    left: () => this.#moveTo(this.#left),
    right: () => this.#moveTo(this.#right),
    up: () => this.#moveToRow(previousRow(this.#caretRow, this.#buffer.lines, this.#wrap)),
    down: () => this.#moveToRow(nextRow(this.#caretRow, this.#buffer.lines, this.#wrap)),
    wordLeft: () => this.#moveTo(this.#leftTo(wordStart)),
    wordRight: () => this.#moveTo(this.#rightTo(wordEnd)),
    lineStart: () => this.#moveTo({ ...this.#buffer.caret, at: 0 }),
    lineEnd: () => this.#moveTo({ ...this.#buffer.caret, at: this.#buffer.line.length }),
    textStart: () => this.#moveTo(textStart),
    textEnd: () => this.#moveTo(this.#buffer.end),
    newline: () => this.#replace(this.#buffer.caret, '\n'),
    // An even number of backslashes is meant as it stands.
    escapedNewline: () => {
      const { caret, line } = this.#buffer
      const backslashes = /\\*$/.exec(line)![0].length
      const isEscaped = caret.at === line.length && backslashes % 2 === 1
      return isEscaped ? this.#replace({ ...caret, at: caret.at - 1 }, '\n') : undefined
    },
    deleteLeft: () => this.#replace(this.#left, ''),
    deleteRight: () => this.#replace(this.#right, ''),
    cutWordLeft: () => this.#cut(this.#leftTo(wordStart)),
    cutBlankSeparated: () => this.#cut(this.#leftTo(blankSeparatedStart)),
    cutWordRight: () => this.#cut(this.#rightTo(wordEnd)),
    cutToLineStart: () => this.#cut(this.#leftTo(() => 0)),
    cutToLineEnd: () => this.#cut(this.#rightTo((line) => line.length)),
    yank: () => this.#replace(this.#buffer.caret, this.#killRing.current ?? ''),
    yankEarlier: () => {
      if (this.#last !== 'yank' && this.#last !== 'yankEarlier') return undefined
      this.#buffer.undo()
      return this.#replace(this.#buffer.caret, this.#killRing.rotate() ?? '')
    },
    undo: () => (this.#buffer.undo() ? 'edited' : undefined),
    redo: () => (this.#buffer.redo() ? 'edited' : undefined),
    expandPaste: () => {
      const { caret, line } = this.#buffer
      // That before the caret, else the first behind it: the person may have typed on.
      const isPaste = (i: number): boolean => this.#attachments.get(line[i]!)?.kind === 'paste'
      const marks = Array.from(line.matchAll(anyMark), ({ index }) => index).filter(isPaste)
      const at = marks.findLast((i) => i < caret.at) ?? marks[0]
      const attachment = at === undefined ? undefined : this.#attachments.get(line[at]!)
      if (at === undefined || attachment?.kind !== 'paste') return undefined
      this.#buffer.moveTo({ ...caret, at })
      return this.#replace({ ...caret, at: at + 1 }, attachment.text)
    },
  }

  get #marked(): string {
    return this.#buffer.lines.join('\n')
  }

  /** The place before the caret; at the start of a line the end of the line before. */
  get #left(): Place {
    return this.#leftTo(previousGrapheme)
  }
  get #right(): Place {
    return this.#rightTo(nextGrapheme)
  }
  #leftTo(find: (line: string, at: number) => number): Place {
    const { caret, line, lines } = this.#buffer
    if (caret.at > 0) return { line: caret.line, at: find(line, caret.at) }
    return caret.line > 0 ? { line: caret.line - 1, at: lines[caret.line - 1]!.length } : caret
  }
  #rightTo(find: (line: string, at: number) => number): Place {
    const { caret, line, lines } = this.#buffer
    if (caret.at < line.length) return { line: caret.line, at: find(line, caret.at) }
    return caret.line < lines.length - 1 ? { line: caret.line + 1, at: 0 } : caret
  }

  #moveTo(place: Place): 'moved' | undefined {
    return this.#buffer.moveTo(place) ? 'moved' : undefined
  }

  /** Replaces what is between the caret and `place`. */
  #replace(place: Place, text: string): 'edited' | undefined {
    const { caret } = this.#buffer
    const isBefore = place.line < caret.line || (place.line === caret.line && place.at < caret.at)
    const [from, to] = isBefore ? [place, caret] : [caret, place]
    return this.#buffer.replace(from, to, text) !== '' || text !== '' ? 'edited' : undefined
  }

  #cut(place: Place): 'edited' | undefined {
    const { caret } = this.#buffer
    const isBefore = place.line < caret.line || (place.line === caret.line && place.at < caret.at)
    const text = isBefore ? this.#buffer.slice(place, caret) : this.#buffer.slice(caret, place)
    const side = isBefore ? 'before' : 'after'
    this.#killRing.add(text, this.#last?.startsWith('cut') ? side : undefined)
    return this.#replace(place, '')
  }

  #moveToRow(target: Row | undefined): 'moved' | undefined {
    if (!target) return undefined
    this.#goal ??= this.#column
    const { from, to, goesOn } = this.#range(target)
    const line = this.#buffer.lines[target.line]!
    // The end of a row that goes on below is the start of the next one.
    const most = goesOn ? previousGrapheme(line, to) : to
    return this.#moveTo({
      line: target.line,
      at: Math.min(most, from + this.#wrap.atColumn(line.slice(from, to), this.#goal)),
    })
  }

  /** The part of its line that a row shows, and whether another row follows in this line. */
  #range({ line, row }: Row): { readonly from: number; readonly to: number; readonly goesOn: boolean } {
    const text = this.#buffer.lines[line]!
    const starts = this.#wrap.rows(text)
    return { from: starts[row]!, to: starts[row + 1] ?? text.length, goesOn: row + 1 < starts.length }
  }

  #shownRow(row: Row): string {
    const { from, to, goesOn } = this.#range(row)
    const text = this.#buffer.lines[row.line]!.slice(from, to)
    return this.#wrap.shown(goesOn && text.endsWith(' ') ? text.slice(0, -1) : text)
  }

  get #caretRow(): Row {
    const { caret, line } = this.#buffer
    return { line: caret.line, row: this.#wrap.rows(line).findLastIndex((start) => start <= caret.at) }
  }

  get #column(): number {
    const { caret, line } = this.#buffer
    return textWidth(this.#wrap.shown(line.slice(this.#range(this.#caretRow).from, caret.at)))
  }

  #edit(change: () => void): void {
    change()
    this.#goal = undefined
    this.#last = undefined
  }

  #wrapFor(columns: number): SoftWrap {
    return new SoftWrap(columns, (mark) => this.#attachments.label(mark) ?? '')
  }
}

const textStart: Place = { line: 0, at: 0 }
const mostPasted = 2000
const mostPastedLines = 10
