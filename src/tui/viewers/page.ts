import { visibleName, visibleText } from '../../platform/visible-text.ts'
import type { KeyBindings } from '../input/key-bindings.ts'
import { keyGroupsWith } from '../keys.ts'
import { wrapLine } from '../markdown/spans.ts'
import type { Paint } from '../terminal/paint.ts'
import { wrapToWidth } from '../terminal/text-width.ts'
import { diffView } from './diff.ts'
import { createPager } from './pager.ts'
import type { View } from './viewer.ts'

/** A page of text, or a diff. */
export function pageView(
  page: { readonly title: string; readonly text: string; readonly syntax?: 'diff' },
  paint: Paint,
): View<undefined> {
  const title = visibleName(page.title)
  if (page.syntax === 'diff') return diffView({ title, diff: page.text, paint })
  return linesView(title, visibleText(page.text).replaceAll('\r', '').replaceAll('\t', '    ').split('\n'), paint)
}

/** The keys, by the place in which they count. */
export function keysView(paint: Paint, bindings: KeyBindings = {}): View<undefined> {
  const groups = keyGroupsWith(bindings)
  // Room for the longest keys, between two blanks on each side.
  const indent = 4 + Math.max(...groups.flatMap(({ keys }) => keys.map((row) => row.keys.length)))
  const items = groups.flatMap(({ where, keys }, i) => [...(i === 0 ? [] : ['']), where, ...keys])
  return createPager({
    paint,
    title: 'Keys',
    items: () => ({
      length: items.length,
      rows(i, columns) {
        const item = items[i]!
        if (typeof item === 'string') return [paint.bold(item)]
        // What a key does stands beside it, or below it where there is little room.
        const left = columns - indent >= leastBeside ? indent : 4
        const rows = wrapLine(item.does, (text) => text, columns - left).map((line) => `${' '.repeat(left)}${line}`)
        const keys = `  ${item.keys}`
        if (left < indent) return [paint.cyan(keys), ...rows]
        const [first = '', ...more] = rows
        return [`${paint.cyan(keys)}${first.slice(keys.length)}`, ...more]
      },
      text(i) {
        const item = items[i]!
        return typeof item === 'string' ? item : `${item.keys} ${item.does}`
      },
    }),
  })
}

const leastBeside = 24

function linesView(title: string, lines: readonly string[], paint: Paint): View<undefined> {
  return createPager({
    paint,
    title,
    items: () => ({
      length: lines.length,
      rows: (i, columns) => wrapToWidth(lines[i]!, columns),
      text: (i) => lines[i]!,
    }),
  })
}
