import type { LogEntry } from '../../core/log.ts'
import type { EntryRange } from '../../core/store.ts'
import { visibleText } from '../../platform/visible-text.ts'
import { formatSize } from '../rows/format.ts'
import type { Paint } from '../terminal/paint.ts'
import { wrapToWidth } from '../terminal/text-width.ts'
import { createListView } from './list.ts'
import { createPager } from './pager.ts'
import type { View } from './viewer.ts'

export interface InspectorOptions {
  readonly paint: Paint
  /** Entries of the log, as the store reads them. */
  read(range: EntryRange): Promise<readonly LogEntry[]>
  /** The entry that is selected at first. Default: the last. */
  readonly at?: number
  readonly title?: string
}

/** The entries of a log, the last first: number, type, time, size, and the JSON of one. Enter closes with the selected one. */
export function inspectorView({ paint, read, at, title = 'Log' }: InspectorOptions): View<LogEntry | undefined> {
  let entries: LogEntry[] = []

  async function more(): Promise<boolean> {
    const before = entries.at(-1)?.seq
    const page = await read({ limit: pageSize, fromEnd: true, ...(before !== undefined && { before }) })
    entries = [...entries, ...page.toReversed()]
    return page.length === pageSize && page[0]!.seq > 1
  }
  return createListView<LogEntry>({
    paint,
    title: () => title,
    items: () => entries,
    more,
    text: (entry) => `${entry.seq} ${entry.type} ${JSON.stringify(entry)}`,
    line: (entry) => entryLine(entry, paint),
    preview: (entry, columns) => jsonLines(entry, columns).slice(0, 200),
    empty: 'the log is empty',
    hint: 'Enter shows · : goes to a number',
    press(key, list) {
      if (key === 'enter') return list.selected && { value: list.selected }
      if (key === ':')
        list.ask('entry: ', '', async (text) => {
          const seq = Number(text.trim())
          const isFound = Number.isInteger(seq) && (await list.select((entry) => entry.seq <= seq))
          if (!isFound) list.say(`there is no entry ${visibleText(text.trim())}`)
        })
      return undefined
    },
    start: (list) => (at === undefined ? undefined : list.select((entry) => entry.seq <= at)),
  })
}

const pageSize = 200

function entryLine(entry: LogEntry, paint: Paint): string {
  const time = new Date(entry.at).toISOString().slice(11, 23)
  const about = 'callId' in entry && typeof entry.callId === 'string' ? ` ${visibleText(entry.callId)}` : ''
  const size = formatSize(JSON.stringify(entry).length)
  return `${String(entry.seq).padStart(6)} ${entry.type.padEnd(20)} ${paint.dim(`${time} ${size.padStart(9)}${about}`)}`
}

/** One entry as JSON, whole. */
export function entryView(entry: LogEntry, paint: Paint): View<undefined> {
  const lines = JSON.stringify(entry, undefined, 2).split('\n')
  return createPager({
    paint,
    title: `Entry ${entry.seq}: ${entry.type}`,
    items: () => ({
      length: lines.length,
      rows: (i, columns) => wrapToWidth(visibleText(lines[i]!), columns),
      text: (i) => lines[i]!,
    }),
  })
}

function jsonLines(entry: LogEntry, columns: number): string[] {
  const text = JSON.stringify(entry, undefined, 2).slice(0, 20_000)
  return visibleText(text)
    .split('\n')
    .flatMap((line) => wrapToWidth(line, Math.max(8, columns)))
}
