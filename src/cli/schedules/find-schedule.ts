import { nearest } from '../../core/nearest.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { ScheduleBook, ScheduleState } from '../../plugins/schedule.ts'
import { CliError, UsageError } from '../cli-error.ts'

/** The schedule that somebody means by an id, a beginning that no other has, or its name. */
export async function findSchedule(book: Pick<ScheduleBook, 'list'>, asked: string): Promise<ScheduleState> {
  const all = await book.list()
  const exact = all.find(({ id }) => id === asked)
  if (exact) return exact
  const meant = asked === '' ? [] : all.filter(({ id, name }) => id.startsWith(asked) || name === asked)
  if (meant.length === 1) return meant[0]!
  const shown = fullyVisible(asked.slice(0, 100))
  if (meant.length > 1)
    throw new CliError(
      `"${shown}" may be ${meant
        .slice(0, 5)
        .map(({ id }) => fullyVisible(id))
        .join(', ')}; type more of the id`,
    )
  const [near] = nearest(
    asked,
    all.map(({ id }) => id),
    1,
  )
  const hint = near === undefined ? '' : ` (did you mean ${fullyVisible(near)}?)`
  throw new CliError(`There is no schedule "${shown}"${hint}; libero schedules names those there are`)
}

/** The id that a command needs as its first word. */
export function requireSchedule(words: readonly string[], command: string): string {
  const [asked] = words
  if (asked === undefined || asked === '')
    throw new UsageError(`schedules ${command} needs the id of a schedule; libero schedules lists them`)
  return asked
}
