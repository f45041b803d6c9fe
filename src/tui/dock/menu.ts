import type { Completion } from '../../chat/command.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { Paint } from '../terminal/paint.ts'
import { cutToWidth, textWidth } from '../terminal/text-width.ts'

/** A list below the input line, from which one item is selected. */
export interface Menu {
  readonly items: readonly Completion[]
  readonly selected: number
}

/** The menu with another item selected; it begins again at its ends. */
export function moveSelection(menu: Menu, by: 1 | -1): Menu {
  const { items, selected } = menu
  return { ...menu, selected: (selected + by + items.length) % items.length }
}

/** At most `most` lines, around the selected item, with its details beside the labels. */
export function menuLines(
  menu: Menu,
  { paint, columns, most }: { paint: Paint; columns: number; most: number },
): string[] {
  const { items, selected } = menu
  const count = Math.min(items.length, most)
  const from = Math.min(Math.max(0, selected - Math.floor(count / 2)), items.length - count)
  const shown = items.slice(from, from + count)
  const labels = shown.map(({ label, text }) => cutToWidth(fullyVisible(label ?? text), Math.max(8, columns - 6)))
  const wide = Math.min(Math.max(...labels.map(textWidth)), Math.floor(columns / 2))
  return shown.map(({ detail = '' }, i) => {
    const label = labels[i]!
    const gap = ' '.repeat(Math.max(0, wide - textWidth(label)) + 2)
    // Blanks at the end would be wrapped in a narrower window, and push live lines out of it.
    const beside = detail === '' ? '' : paint.dim(`${gap}${fullyVisible(detail)}`)
    const isSelected = from + i === selected
    const title = `${isSelected ? '▸' : ' '} ${label}`
    return ` ${isSelected ? paint.bold(paint.cyan(title)) : title}${beside}`
  })
}
