import type { RenderProblem } from '../knowledge-store.ts'

/** Markup that is opened and never closed. TiddlyWiki shows it as plain text, without an error. */
export function unclosedMarks(text: string): RenderProblem[] {
  const plain = withoutCode(text)
  return marks.flatMap(([open, close, what]) => {
    const found: RenderProblem[] = []
    let end = -1
    let from = plain.indexOf(open)
    while (from !== -1 && found.length < most) {
      const next = plain.indexOf(open, from + open.length)
      // Searched once, not from each mark, as a text may have a million of them.
      if (end < from) end = plain.indexOf(close, from)
      if (end === -1) end = plain.length
      const start = plain.slice(from, from + 60).split('\n')[0]!
      const isOpen = end === plain.length || (next !== -1 && next < end && plain.slice(from, next).includes('\n\n'))
      if (isOpen && /^..[^\s<>{}[\]|]/.test(start))
        found.push({ kind: 'syntax', message: `The ${what} "${start}" is never closed with ${close}` })
      from = next
    }
    return found
  })
}

const most = 20

const marks = [
  ['<<', '>>', 'macro call'],
  ['{{', '}}', 'transclusion'],
  ['[[', ']]', 'link'],
] as const

/** The text without code and comments, which have no markup. Linear in the length of the text. */
export function withoutCode(text: string): string {
  const parts: string[] = []
  const neverClosed = new Set<string>()
  const opening = /^```[^\n]*\n|<!--|``?/gm
  let kept = 0
  for (let match = opening.exec(text); match; match = opening.exec(text)) {
    const close = closings.find(([open]) => match![0].startsWith(open))![1]
    const from = opening.lastIndex - (close === '\n```' ? 1 : 0)
    const end = neverClosed.has(close) ? -1 : text.indexOf(close, from)
    if (end === -1) neverClosed.add(close)
    if (end === -1 || (close.startsWith('`') && text.slice(from, end).includes('\n'))) continue
    parts.push(text.slice(kept, match.index), ' ')
    kept = end + close.length
    opening.lastIndex = kept
  }
  return parts.join('') + text.slice(kept)
}

const closings = [
  ['```', '\n```'],
  ['<!--', '-->'],
  ['``', '``'],
  ['`', '`'],
] as const
