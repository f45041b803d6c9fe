import { messageOf } from '../../core/errors.ts'
import { visibleName } from '../../platform/visible-text.ts'
import { withCursor } from '../input/drawn-cursor.ts'
import { Editor } from '../input/editor.ts'
import type { Key } from '../input/key-decoder.ts'
import { own } from '../terminal/marks.ts'

import type { Paint } from '../terminal/paint.ts'
import { cutToWidth, textWidth } from '../terminal/text-width.ts'
import { header, pagerKey } from './pager.ts'
import { createSearch } from './search.ts'
import type { View, ViewSize } from './viewer.ts'

export interface ListOptions<T> {
  readonly paint: Paint
  title(): string
  items(): readonly T[]
  /** Reads further items; resolves with false if there are none. */
  readonly more?: () => Promise<boolean>
  /** One painted row. */
  line(item: T, columns: number): string
  /** What a search looks through. */
  text(item: T): string
  /** Painted rows about the selected item, beside the list or below it. */
  preview?(item: T, columns: number, rows: number): readonly string[]
  /** What is shown in place of an empty list. */
  readonly empty: string
  /** Keys for the last row. */
  readonly hint: string
  /** Takes a letter, or `enter`; a returned value closes the viewer. */
  press(key: string, list: ListControl<T>): { readonly value: T | undefined } | undefined
  /** Called once, when the list opens. */
  start?(list: ListControl<T>): unknown
}

/** What the keys of a list may use. */
export interface ListControl<T> {
  readonly selected: T | undefined
  /** Asks for a line of text in the last row. */
  ask(prompt: string, initial: string, onText: (text: string) => unknown): void
  /** Asks for a yes in the last row; every other key is a no. */
  confirm(question: string, onYes: () => unknown): void
  /** Selects the first item that fits, reading further ones until there is one. */
  select(fits: (item: T) => boolean): Promise<boolean>
  /** The items are others now: reads them from the beginning. */
  restart(): void
  /** Shows a note in the last row until the next key. */
  say(note: string): void
}

/** A view in which an item of a list is chosen. `/` searches as one types. Closes with `undefined` on `q` and Esc. */
export function createListView<T>(options: ListOptions<T>): View<T | undefined> {
  const { paint, more, preview } = options
  let size: ViewSize = { columns: 80, rows: 24 }
  let at = 0
  let filter = ''
  let note = ''
  let input: { readonly prompt: string; readonly editor: Editor; onText(text: string): unknown } | undefined
  let question: { readonly text: string; onYes(): unknown } | undefined
  let reading: Promise<void> | undefined
  let isComplete = more === undefined
  let changed = (): void => {}

  const shown = (): readonly T[] => {
    if (filter === '') return options.items()
    const search = createSearch(filter)
    return options.items().filter((item) => search.isIn(options.text(item)))
  }
  /** Reports a failure in the last row. */
  async function attempt(work: () => unknown): Promise<void> {
    try {
      await work()
    } catch (error) {
      note = visibleName(messageOf(error))
    }
    changed()
  }
  function readMore(): Promise<void> {
    if (!more || isComplete) return Promise.resolve()
    reading ??= (async () => {
      let hasMore = false // if it fails
      await attempt(async () => {
        hasMore = await more()
      })
      isComplete = !hasMore
      reading = undefined
      readIfNeeded()
      changed()
    })()
    return reading
  }
  function readIfNeeded(): void {
    if (at + size.rows >= shown().length) void readMore()
  }
  function moveTo(index: number): void {
    at = Math.max(0, Math.min(index, shown().length - 1))
    readIfNeeded()
  }

  const control: ListControl<T> = {
    get selected() {
      return shown()[at]
    },
    ask(prompt, initial, onText) {
      input = { prompt, editor: new Editor(initial), onText }
    },
    confirm(text, onYes) {
      question = { text, onYes }
    },
    async select(fits) {
      filter = ''
      for (let index = -1; ; await readMore()) {
        index = options.items().findIndex(fits)
        if (index >= 0) moveTo(index)
        if (index >= 0 || isComplete) return index >= 0
      }
    },
    restart() {
      at = 0
      isComplete = more === undefined
      void readMore()
    },
    say(text) {
      note = text
      changed()
    },
  }

  function typeInto(key: Key): void {
    const { editor, prompt, onText } = input!
    if (key.type === 'escape' || key.type === 'enter') {
      input = undefined
      if (key.type === 'enter' && prompt !== '/') void attempt(() => onText(editor.fullText))
      if (key.type === 'escape' && prompt === '/') filter = ''
    } else editor.press(key)
    if (prompt !== '/' || !input) return
    filter = editor.fullText
    moveTo(0)
  }
  function answer(key: Key): void {
    const { onYes } = question!
    question = undefined
    if (key.type === 'text' && !key.isPaste && key.text.toLowerCase() === 'y') void attempt(onYes)
  }

  const moves: Readonly<Record<string, () => void>> = {
    up: () => moveTo(at - 1),
    down: () => moveTo(at + 1),
    pageup: () => moveTo(at - listRows()),
    pagedown: () => moveTo(at + listRows()),
    home: () => moveTo(0),
    end: () => moveTo(shown().length - 1),
    '/': () => control.ask('/', filter, () => {}),
  }

  const isBeside = (): boolean => preview !== undefined && size.columns >= 99
  const isBelow = (): boolean => preview !== undefined && !isBeside() && size.rows >= 16
  const listRows = (): number => (isBelow() ? Math.ceil((size.rows - 2) / 2) : Math.max(1, size.rows - 2))

  function footer(): string {
    if (question) return paint.bold(paint.yellow(`${question.text} ${own('y yes · any other key: no')}`))
    if (input) {
      const { rows, caret } = input.editor.layout(Math.max(8, size.columns - textWidth(input.prompt) - 1), 1)
      return `${input.prompt}${withCursor(rows[0]!, caret.column)}`
    }
    if (note !== '') return paint.yellow(note)
    return paint.dim(own(`${options.hint} · / searches · q closes`))
  }
  function listLines(items: readonly T[], columns: number): string[] {
    if (items.length === 0) return [paint.dim(reading ? 'reading …' : filter === '' ? options.empty : 'none found')]
    const from = Math.max(0, Math.min(at - Math.floor(listRows() / 2), items.length - listRows()))
    return items.slice(from, from + listRows()).map((item, i) => {
      const line = cutToWidth(options.line(item, columns - 2), columns - 2)
      return from + i === at ? `${paint.cyan('▸')} ${paint.bold(line)}` : `  ${line}`
    })
  }
  const padded = (line: string, columns: number): string =>
    `${line}${' '.repeat(Math.max(0, columns - textWidth(line)))}`

  return {
    draw(now) {
      size = now
      const items = shown()
      at = Math.max(0, Math.min(at, items.length - 1))
      const columns = isBeside() ? Math.floor(size.columns / 2) : size.columns
      const left = listLines(items, columns)
      const item = items[at]
      const room = Math.max(1, size.rows - 2 - (isBeside() ? 0 : listRows() + 1))
      const about = item !== undefined && (isBeside() || isBelow()) ? preview!(item, previewColumns(columns), room) : []
      const rows = Array.from({ length: Math.max(1, size.rows - 2) }, (_, i) => {
        if (isBeside()) return `${padded(left[i] ?? '', columns)}${paint.dim(own('│'))} ${about[i] ?? ''}`
        if (i < listRows()) return left[i] ?? ''
        return i === listRows() ? paint.dim(own('─').repeat(size.columns)) : (about[i - listRows() - 1] ?? '')
      })
      const count = items.length === 0 ? '' : `${at + 1} of ${items.length}${isComplete ? '' : '+'}`
      return [header(options.title(), count, size, paint), ...rows, footer()]
    },
    press(key) {
      note = ''
      if (question) answer(key)
      else if (input) typeInto(key)
      else {
        const name = pagerKey(key)
        if (name === 'close') return { value: undefined }
        const outcome = name === undefined ? undefined : options.press(name, control)
        if (outcome) return outcome
        if (name !== undefined) moves[name]?.()
      }
      return undefined
    },
    subscribe(listener) {
      changed = listener
      void readMore()
      void attempt(() => options.start?.(control))
      return () => {
        changed = () => {}
      }
    },
  }

  function previewColumns(columns: number): number {
    return isBeside() ? size.columns - columns - 2 : size.columns
  }
}
