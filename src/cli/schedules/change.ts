import { messageOf } from '../../core/errors.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { NewSchedule, ScheduleState } from '../../plugins/schedule.ts'
import { createScheduleBook } from '../../workflow/schedules/schedule-book.ts'
import { findAgent, requireAgent } from '../agents/find-agent.ts'
import { withWorkflow } from '../agents/open-workflow.ts'
import { CliError, UsageError } from '../cli-error.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { withStore } from '../sessions/open-store.ts'
import { newSessionId } from '../sessions/session-id.ts'
import { findSchedule, requireSchedule } from './find-schedule.ts'
import { readWhen } from './read-when.ts'
import { nextWords, whenWords } from './schedule-words.ts'
import type { ChangeValues, WhenValues } from './when-flags.ts'
import { isSomebodyWaking, nobodyWakes } from './who-wakes.ts'

interface Changing<V = WhenValues> {
  readonly values: V
  readonly words: readonly string[]
}

/** `libero schedules add`: prints the id of the new one. */
export async function add({ values, words }: Changing, io: Io): Promise<number> {
  const asked = requireAgent(words, 'schedules add')
  const message = words.slice(1).join(' ').trim()
  const fields = readWhen(values)
  if (!fields.when) throw new UsageError('it is not said when; add --every 15m, --at <time> or --cron "0 9 * * 1-5"')
  if (message === '') throw new UsageError('say what the agent is told then, as the last word: "look at the news"')
  return withWorkflow(io, async ({ workflow, store }) => {
    const { id: agentId, closed, isSubAgent } = await findAgent(workflow, asked)
    if (closed || isSubAgent)
      throw new CliError(
        `Agent ${fullyVisible(agentId)} is ${closed ? 'closed' : 'a sub-agent'} and cannot be woken; name another`,
      )
    const wish = { ...fields, id: newSessionId(), agentId, message } as NewSchedule
    const added = await workflow.schedules.add(wish).catch(refused)
    io.out(added.id)
    tell(added, io)
    if (!(await isSomebodyWaking(store))) io.err(nobodyWakes)
    return exitCodes.done
  })
}

/** `libero schedules update`. */
export async function update({ values, words }: Changing<ChangeValues>, io: Io): Promise<number> {
  const asked = requireSchedule(words, 'update')
  const message = words.slice(1).join(' ').trim()
  const { 'any-time': isAnyTime, 'no-max': isUnlimited, ...when } = values
  if (isAnyTime && when.hours !== undefined) throw new UsageError('--hours and --any-time do not go together')
  if (isUnlimited && when.max !== undefined) throw new UsageError('--max and --no-max do not go together')
  const fields = {
    ...readWhen(when),
    ...(isAnyTime && { activeHours: null }),
    ...(isUnlimited && { maxRuns: null }),
    ...(message !== '' && { message }),
  }
  if (Object.keys(fields).length === 0)
    throw new UsageError('nothing is said that should be different; add a flag, or a new message as the last word')
  return change(asked, fields, io)
}

/** `libero schedules pause`. */
export const pause = ({ words }: Pick<Changing, 'words'>, io: Io): Promise<number> =>
  change(requireSchedule(words, 'pause'), { enabled: false }, io)

/** `libero schedules resume`. */
export const resume = ({ words }: Pick<Changing, 'words'>, io: Io): Promise<number> =>
  change(requireSchedule(words, 'resume'), { enabled: true }, io)

/** `libero schedules remove`. */
export async function remove({ words }: Pick<Changing, 'words'>, io: Io): Promise<number> {
  requireSchedule(words, 'remove')
  return withStore(io, async (store) => {
    const book = createScheduleBook({ store })
    const found: ScheduleState[] = []
    for (const word of words) found.push(await findSchedule(book, word))
    for (const { id } of found) {
      await book.remove(id)
      io.err(`Removed ${fullyVisible(id)}`)
    }
    return exitCodes.done
  })
}

async function change(
  asked: string,
  fields: Parameters<ReturnType<typeof createScheduleBook>['update']>[1],
  io: Io,
): Promise<number> {
  return withStore(io, async (store) => {
    const book = createScheduleBook({ store })
    const { id } = await findSchedule(book, asked)
    tell(await book.update(id, fields).catch(refused), io)
    return exitCodes.done
  })
}

function tell(schedule: ScheduleState, io: Pick<Io, 'err'>): void {
  io.err(`${fullyVisible(schedule.id)}: ${whenWords(schedule)}; next ${nextWords(schedule, Date.now())}`)
}

/** The names of flags are not those of fields. */
const flagOf: readonly (readonly [RegExp, string])[] = [
  [/\beverySeconds\b/g, '--every'],
  [/\brepeatEveryMinutes\b/g, '--every'],
  [/\bmaxRuns\b/g, '--max'],
  [/\bactiveHours\b/g, '--hours'],
]

function refused(error: unknown): never {
  let text = messageOf(error).replace(/^This cannot be (?:scheduled|changed): /, '')
  for (const [field, flag] of flagOf) text = text.replace(field, flag)
  throw new CliError(`This cannot be scheduled: ${fullyVisible(text.slice(0, 500))}`, exitCodes.usage, { cause: error })
}
