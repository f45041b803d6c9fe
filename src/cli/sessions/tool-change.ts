import { isRecord } from '../../core/is-record.ts'
import { fullyVisible } from '../../platform/visible-text.ts'

/** The lines of an approval that describe how a tool has changed since it was accepted. Empty if it has not. */
export function toolChangeLines(request: unknown): string[] {
  const payload = isRecord(request) && isRecord(request.payload) ? request.payload : request
  const text = isRecord(payload) && typeof payload.description === 'string' ? payload.description : ''
  const lines = text.split('\n')
  const from = lines.findIndex((line) => line.startsWith('CHANGED: '))
  if (from < 0) return []
  const to = lines.findIndex((line, i) => i > from && /^(?:asked because|runs in|does|arguments)\b/.test(line))
  return lines.slice(from, to < 0 ? lines.length : to).map((line) => fullyVisible(line))
}
