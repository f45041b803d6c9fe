import { withCursor } from '../input/drawn-cursor.ts'
import { Editor } from '../input/editor.ts'
import type { Key } from '../input/key-decoder.ts'
import { own } from '../terminal/marks.ts'
import type { Paint } from '../terminal/paint.ts'
import { cutToWidth, textWidth } from '../terminal/text-width.ts'
import { createSearch, type Search, withoutSequences } from './search.ts'
import type { View, ViewSize } from './viewer.ts'

/** What a pager shows: items of one or several rows. It asks only for those in sight, and for the text of all in a search. */
export interface PagedItems {
  readonly length: number
  /** Painted rows, at most `columns` wide. */
  rows(index: number, columns: number): readonly string[]
  /** What a search looks through. */
  text(index: number): string
}

export interface PagerOptions {
  readonly paint: Paint
  /** Free of control characters. */
  readonly title: string
  items(): PagedItems
  /** The item at the top at first. Default: the first. At `end` the pager stays at the end as items are added. */
  readonly start?: number | 'end'
  /** Reads items before the first one; resolves with how many there are now. Called when the person is at the top, or searches. */
  readonly older?: () => Promise<number>
  /** Further keys, for the last row. */
  readonly hint?: string
  /** Takes a key before the pager does; a returned value closes it. */
  press?(key: Key, pager: PagerPosition): { readonly value: undefined } | undefined
  subscribe?(changed: () => void): () => void
}

/** Where a pager is. */
export interface PagerPosition {
  /** The item at the top. */
  readonly top: number
  goTo(item: number): void
}

/** A view that scrolls and searches. `q` and Esc close it. */
export function createPager(options: PagerOptions): View<undefined> {
  const { paint, title, items, start = 0, older, hint } = options
  let size: ViewSize = { columns: 80, rows: 24 }
  /** The first row in sight. */
  let top: Place = { item: start === 'end' ? 0 : start, row: 0 }
  let isAtEnd = start === 'end'
  let search: Search | undefined
  /** The row of the last hit, which may be below the top. */
  let hit: Place | undefined
  let note = ''
  let typed: Editor | undefined
  let reading: Promise<void> | undefined
  let changed = (): void => {}

  const height = (): number => Math.max(1, size.rows - 2)
  const rowsOf = (item: number): readonly string[] => items().rows(item, size.columns)

  /** The place `by` rows from another one, as far as there are rows. */
  function moved({ item, row }: Place, by: number): Place {
    const last = items().length - 1
    let [at, offset] = [item, row + by]
    while (offset < 0 && at > 0) offset += rowsOf(--at).length
    while (at < last && offset >= rowsOf(at).length) offset -= rowsOf(at++).length
    const most = Math.max(0, (items().length > 0 ? rowsOf(at).length : 1) - 1)
    return { item: Math.max(0, at), row: Math.min(Math.max(0, offset), most) }
  }
  function lastTop(): Place {
    const last = items().length - 1
    if (last < 0) return { item: 0, row: 0 }
    return moved({ item: last, row: rowsOf(last).length - 1 }, 1 - height())
  }
  function goTo(place: Place): void {
    const end = lastTop()
    isAtEnd = compare(place, end) >= 0
    top = isAtEnd ? end : place
    if (top.item === 0 && top.row === 0) void readOlder()
  }
  /** The rows in sight stay where they are as items are added above them. */
  function readOlder(): Promise<void> {
    if (!older) return Promise.resolve()
    reading ??= (async () => {
      try {
        const added = await older()
        top = { ...top, item: top.item + added }
        if (hit) hit = { ...hit, item: hit.item + added }
      } catch (error) {
        note = `what is older could not be read: ${error instanceof Error ? error.message : String(error)}`
      }
      changed()
    })()
    return reading
  }

  function hitsIn(item: number): number[] {
    if (!search?.isIn(items().text(item))) return []
    const found = rowsOf(item).flatMap((row, i) => (search!.isIn(withoutSequences(row)) ? [i] : []))
    return found.length > 0 ? found : [0] // broken between two rows
  }
  function findNext(from: Place, step: 1 | -1): Place | undefined {
    const { length } = items()
    for (let n = 0; n <= length; n++) {
      const item = (((from.item + n * step) % length) + length) % length
      const isHere = (row: number): boolean => n > 0 || (step > 0 ? row > from.row : row < from.row)
      const hits = hitsIn(item).filter(isHere)
      if (hits.length > 0) return { item, row: step > 0 ? hits[0]! : hits.at(-1)! }
    }
    return undefined
  }
  function jump(step: 1 | -1): void {
    if (!search || items().length === 0) return
    const from = hit ?? { ...top, row: top.row - step }
    hit = findNext(from, step)
    note = hit ? '' : `not found: ${search.text}`
    if (!hit) return
    const isInSight = compare(hit, top) >= 0 && compare(hit, moved(top, height() - 1)) <= 0
    if (!isInSight) goTo(moved(hit, -Math.floor(height() / 3)))
  }
  async function searchFor(text: string): Promise<void> {
    search = text === '' ? undefined : createSearch(text)
    hit = undefined
    jump(1)
    if (!search || !older) return
    await readOlder()
    if (!hit) jump(1)
    changed()
  }

  function typeSearch(key: Key): void {
    if (key.type === 'escape') typed = undefined
    else if (key.type === 'enter') {
      const text = typed!.fullText
      typed = undefined
      void searchFor(text)
    } else typed!.press(key)
  }

  const moves: Readonly<Record<string, () => void>> = {
    up: () => goTo(moved(top, -1)),
    down: () => goTo(moved(top, 1)),
    pageup: () => goTo(moved(top, 1 - height())),
    pagedown: () => goTo(moved(top, height() - 1)),
    home: () => goTo({ item: 0, row: 0 }),
    end: () => goTo(lastTop()),
    '/': () => {
      typed = new Editor()
      note = ''
    },
    n: () => jump(1),
    N: () => jump(-1),
  }

  function footer(): string {
    if (typed) {
      const { rows, caret } = typed.layout(size.columns - 2, 1)
      return `/${withCursor(rows[0]!, caret.column)}`
    }
    if (note !== '') return paint.yellow(note)
    const keys = search ? `n next · N previous · q closes` : `/ searches · q closes`
    return paint.dim(own([...(hint ? [hint] : []), keys].join(' · ')))
  }

  return {
    draw(now) {
      size = now
      const list = items()
      if (isAtEnd) top = lastTop()
      if (top.item >= list.length) top = { item: Math.max(0, list.length - 1), row: 0 }
      const rows: string[] = []
      for (let { item, row } = top; item < list.length && rows.length < height(); item++, row = 0)
        rows.push(...rowsOf(item).slice(row, row + height() - rows.length))
      const seen = search ? rows.map((row) => search!.highlight(row)) : rows
      const blank = Array.from({ length: height() - seen.length }, () => '')
      return [header(title, position(), now, paint), ...seen, ...blank, footer()]
    },
    press(key) {
      if (typed) {
        typeSearch(key)
        return undefined
      }
      const outcome = options.press?.(key, { top: top.item, goTo: (item) => goTo({ item, row: 0 }) })
      if (outcome) return outcome
      const name = pagerKey(key)
      if (name === 'close') return { value: undefined }
      if (name !== undefined) moves[name]?.()
      return undefined
    },
    subscribe(listener) {
      changed = listener
      return options.subscribe?.(listener) ?? (() => {})
    },
  }

  function position(): string {
    const { length } = items()
    if (length === 0) return ''
    return isAtEnd ? 'end' : `${top.item + 1} of ${length}`
  }
}

interface Place {
  readonly item: number
  readonly row: number
}

const compare = (a: Place, b: Place): number => a.item - b.item || a.row - b.row

/** What a key means in every viewer; `undefined` if it means nothing. */
export function pagerKey(key: Key): string | undefined {
  if (key.type === 'ctrl') return { f: 'pagedown', b: 'pageup', d: 'close' }[key.key]
  if (key.type === 'text') return key.isPaste ? undefined : (letters[key.text] ?? key.text)
  return key.type === 'escape' ? 'close' : key.type
}

const letters: Readonly<Record<string, string>> = {
  j: 'down',
  k: 'up',
  ' ': 'pagedown',
  b: 'pageup',
  g: 'home',
  G: 'end',
  q: 'close',
}

/** The first row of a viewer: its title, and at the right where one is. */
export function header(title: string, where: string, { columns }: ViewSize, paint: Paint): string {
  const room = columns - textWidth(where) - 2
  const name = cutToWidth(title, Math.max(1, room))
  const gap = ' '.repeat(Math.max(1, columns - textWidth(name) - textWidth(where)))
  return `${paint.bold(name)}${paint.dim(`${gap}${where}`)}`
}
