import { isRecord } from '../../core/is-record.ts'
import { fullyVisible } from '../../platform/visible-text.ts'

/** What the prompt about a call said beyond the call itself: why it is asked, how its tool has changed, where its commands run. */
export function promptFacts(request: unknown): string[] {
  const payload = isRecord(request) && isRecord(request.payload) ? request.payload : request
  const text = isRecord(payload) && typeof payload.description === 'string' ? payload.description : ''
  const lines = text.split('\n')
  // The changed description of a tool stands between these two, and may say anything.
  const why = lines.find((line) => line.startsWith('asked because: '))
  const place = lines.findLast((line) => line.startsWith('commands run: '))
  return [why, ...changeIn(lines), place].flatMap((line) => (line === undefined ? [] : [fullyVisible(line)]))
}

function changeIn(lines: readonly string[]): readonly string[] {
  const from = lines.findIndex((line) => line.startsWith('CHANGED: '))
  if (from < 0) return []
  const to = lines.findIndex((line, i) => i > from && /^(?:asked because|runs in|does|arguments)\b/.test(line))
  return lines.slice(from, to < 0 ? lines.length : to)
}
