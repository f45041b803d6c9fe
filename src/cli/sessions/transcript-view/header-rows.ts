import { formatDate } from '../../screen/format.ts'
import { stateLabels } from '../session-state.ts'
import { totalsLine } from './totals.ts'
import type { TranscriptView } from './transcript-view.ts'

/** The header of a transcript as names and values. The values may contain control characters. */
export function headerRows(transcript: TranscriptView): (readonly [name: string, value: string])[] {
  const { id, cwd, createdAt, updatedAt, models, totals, prompts, state, children } = transcript
  const rows: (readonly [string, string | undefined])[] = [
    ['Session', id],
    ['Folder', cwd],
    ['Begun', createdAt === undefined ? undefined : formatDate(createdAt)],
    ['Last entry', updatedAt === undefined ? undefined : formatDate(updatedAt)],
    ['Model', models.join(', ') || undefined],
    ['Prompts', String(prompts)],
    ['Used', totalsLine(totals)],
    ['Sub-agents', children.length === 0 ? undefined : String(children.length)],
    ['State', stateLabels[state]],
  ]
  return rows.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
}
