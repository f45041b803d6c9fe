import { formatDate } from '../../../tui/rows/format.ts'
import { statusLabel } from '../status-label.ts'
import { totalsLine } from './totals.ts'
import type { TranscriptView } from './transcript-view.ts'

/** The header of a transcript as names and values. The values may contain control characters. */
export function headerRows(transcript: TranscriptView): (readonly [name: string, value: string])[] {
  const { id, folder, tags, createdAt, updatedAt, models, totals, parts, children } = transcript
  const prompts = parts.filter((part) => part.type === 'said' && part.who === 'user').length
  const rows: (readonly [string, string | undefined])[] = [
    ['Session', id],
    ['Folder', folder],
    ['Tags', tags.join(', ') || undefined],
    ['Begun', formatDate(createdAt)],
    ['Last entry', formatDate(updatedAt)],
    ['Model', models.join(', ') || undefined],
    ['Prompts', String(prompts)],
    ['Used', totalsLine(totals)],
    ['Sub-agents', children.length === 0 ? undefined : String(children.length)],
    ['Status', statusLabel(transcript)],
  ]
  return rows.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
}
