import { stateWords } from '../state-words.ts'
import { dateOf } from '../time-words.ts'
import type { Story } from './story.ts'
import { totalsLine } from './totals.ts'

/** What stands above a session: names and values, the values as they came. */
export function aboutOf(story: Story): (readonly [name: string, value: string])[] {
  const { id, cwd, createdAt, updatedAt, models, totals, prompts, state, children } = story
  const rows: (readonly [string, string | undefined])[] = [
    ['Session', id],
    ['Folder', cwd],
    ['Begun', createdAt === undefined ? undefined : dateOf(createdAt)],
    ['Last entry', updatedAt === undefined ? undefined : dateOf(updatedAt)],
    ['Model', models.join(', ') || undefined],
    ['Prompts', String(prompts)],
    ['Used', totalsLine(totals)],
    ['Sub-agents', children.length === 0 ? undefined : String(children.length)],
    ['State', stateWords[state]],
  ]
  return rows.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
}
