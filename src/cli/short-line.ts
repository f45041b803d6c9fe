import { visibleName } from '../platform/visible-text.ts'

/** The beginning of a text, on one line of a list. */
export function shortLine(text: string): string {
  const line = visibleName(text.replace(/\s+/g, ' '))
  return line.length > 100 ? `${line.slice(0, 99)}…` : line
}
