import type { LogEntry } from '../../core/log.ts'
import { textOf } from '../../core/turn.ts'
import { createRedactor } from '../../platform/redact.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { Io } from '../io.ts'
import { cutToWidth } from '../screen/text-width.ts'

const mostColumns = 60

/** What a session is called: the first thing somebody said in it, on one line, with nothing hidden and no secrets in it, those of the variables included. */
export function titleOf(entries: readonly LogEntry[], env: Io['env'] = {}): string {
  for (const entry of entries) {
    if (entry.type !== 'turn' || entry.turn.role !== 'user' || !Array.isArray(entry.turn.content)) continue
    const text = textOf(entry.turn).slice(0, 2000).trim()
    if (text !== '') return oneLine(createRedactor({ env }).text(text), mostColumns)
  }
  return ''
}

/** A text on one line of at most so many columns, with nothing hidden; what was cut off is an ellipsis. */
export function oneLine(text: string, columns: number): string {
  return cutToWidth(fullyVisible(text.replace(/\s+/g, ' ').trim()), columns)
}
