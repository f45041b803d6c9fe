import { messageOf } from '../../core/errors.ts'
import { nearest } from '../../core/nearest.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type {
  ActiveHours,
  NewSchedule,
  ScheduleBook,
  ScheduleChange,
  ScheduleState,
  ScheduleTime,
} from '../../plugins/schedule.ts'
import { createScheduleBook } from '../../workflow/schedules/schedule-book.ts'
import { findAgent, requireAgent } from '../agents/find-agent.ts'
import { withWorkflow } from '../agents/open-workflow.ts'
import { CliError, exitCodes, UsageError } from '../cli-error.ts'
import type { Args } from '../command.ts'
import type { ChangeValues, WhenValues } from '../commands/schedules.ts'
import type { Io } from '../io.ts'
import { withStore } from '../sessions/open-store.ts'
import { newSessionId } from '../sessions/session-id.ts'
import { nextWords, whenWords } from './schedule-text.ts'
import { isSchedulerRunning, noSchedulerNotice } from './scheduler-state.ts'

/** `libero schedules add`: prints the id of the new schedule. */
export async function add({ values, words }: Args<WhenValues>, io: Io): Promise<number> {
  const asked = requireAgent(words, 'schedules add')
  const message = words.slice(1).join(' ').trim()
  const fields = readWhen(values)
  if (!fields.when)
    throw new UsageError('the schedule needs a time; add --every 15m, --at <time> or --cron "0 9 * * 1-5"')
  if (message === '') throw new UsageError('the schedule needs a message, as the last argument: "look at the news"')
  return withWorkflow(io, async (opened) => {
    const { workflow, store } = opened
    const { id: agentId, closed, isSubAgent } = await findAgent(opened, asked)
    if (closed || isSubAgent)
      throw new CliError(
        `Agent ${fullyVisible(agentId)} is ${closed ? 'closed' : 'a sub-agent'} and cannot be woken; name another`,
      )
    const schedule = { ...fields, id: newSessionId(), agentId, message } as NewSchedule
    const added = await workflow.schedules.add(schedule).catch(scheduleError)
    io.out(added.id)
    printSchedule(added, io)
    if (!(await isSchedulerRunning(store))) io.err(noSchedulerNotice)
    return exitCodes.done
  })
}

/** `libero schedules update`. */
export async function update({ values, words }: Args<ChangeValues>, io: Io): Promise<number> {
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
    throw new UsageError('nothing to change; add a flag, or a new message as the last argument')
  return change(asked, fields, io)
}

/** `libero schedules pause`. */
export const pause = ({ words }: Args, io: Io): Promise<number> =>
  change(requireSchedule(words, 'pause'), { enabled: false }, io)

/** `libero schedules resume`. */
export const resume = ({ words }: Args, io: Io): Promise<number> =>
  change(requireSchedule(words, 'resume'), { enabled: true }, io)

/** `libero schedules remove`. */
export async function remove({ words }: Args, io: Io): Promise<number> {
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
    printSchedule(await book.update(id, fields).catch(scheduleError), io)
    return exitCodes.done
  })
}

function printSchedule(schedule: ScheduleState, io: Pick<Io, 'err'>): void {
  io.err(`${fullyVisible(schedule.id)}: ${whenWords(schedule)}; next ${nextWords(schedule, Date.now())}`)
}

/** Fields in errors of the API, and the flags that set them. */
const flagOf: readonly (readonly [RegExp, string])[] = [
  [/\beverySeconds\b/g, '--every'],
  [/\brepeatEveryMinutes\b/g, '--every'],
  [/\bmaxRuns\b/g, '--max'],
  [/\bactiveHours\b/g, '--hours'],
]

function scheduleError(error: unknown): never {
  let text = messageOf(error).replace(/^This cannot be (?:scheduled|changed): /, '')
  for (const [field, flag] of flagOf) text = text.replace(field, flag)
  throw new CliError(`This cannot be scheduled: ${fullyVisible(text.slice(0, 500))}`, exitCodes.usage, { cause: error })
}

/** Finds a schedule by its id, by a unique beginning of the id, or by its name. */
export async function findSchedule(book: Pick<ScheduleBook, 'list'>, asked: string): Promise<ScheduleState> {
  const all = await book.list()
  const exact = all.find(({ id }) => id === asked)
  if (exact) return exact
  const meant = asked === '' ? [] : all.filter(({ id, name }) => id.startsWith(asked) || name === asked)
  if (meant.length === 1) return meant[0]!
  const shown = fullyVisible(asked.slice(0, 100))
  if (meant.length > 1) {
    const named = meant.slice(0, 5).map(({ id }) => fullyVisible(id))
    throw new CliError(`"${shown}" may be ${named.join(', ')}; type more of the id`)
  }
  const ids = all.map(({ id }) => id)
  const [near] = nearest(asked, ids, 1)
  const hint = near === undefined ? '' : ` (did you mean ${fullyVisible(near)}?)`
  throw new CliError(`There is no schedule "${shown}"${hint}; libero schedules lists them`)
}

/** The id that a command needs as its first word. */
export function requireSchedule(words: readonly string[], command: string): string {
  const [asked] = words
  if (asked === undefined || asked === '')
    throw new UsageError(`schedules ${command} needs the id of a schedule; libero schedules lists them`)
  return asked
}

/** The fields of a schedule that the flags set. `ScheduleBook` checks the values. */
export function readWhen(values: WhenValues): Omit<ScheduleChange, 'message' | 'enabled'> {
  const { every, at, cron, zone, hours, max, once, name } = values
  if (cron !== undefined && (every !== undefined || at !== undefined))
    throw new UsageError('--cron does not go together with --every and --at; choose one of them')
  if (zone !== undefined && cron === undefined && hours === undefined)
    throw new UsageError('--zone applies to --cron or --hours; add one of them (--at has its own offset)')
  if (once && max !== undefined)
    throw new UsageError(
      '--once and --max do not go together: with --once the schedule is deleted after its first run; choose one',
    )
  const when = timeOf(values)
  const activeHours = hours === undefined ? undefined : hoursOf(hours, zone)
  return {
    ...(when && { when }),
    ...(activeHours && { activeHours }),
    ...(max !== undefined && { maxRuns: Number(max) }),
    ...(once && { deleteAfterRun: true }),
    ...(name !== undefined && name !== '' && { name }),
  }
}

function timeOf({ every, at, cron, zone }: WhenValues): ScheduleTime | undefined {
  if (cron !== undefined) return { type: 'cron', expression: cron, ...(zone !== undefined && { timeZone: zone }) }
  if (at !== undefined) {
    const minutes = every === undefined ? undefined : secondsOf(every) / 60
    if (minutes !== undefined && !Number.isInteger(minutes))
      throw new UsageError(`--every ${fullyVisible(every!)}: with --at it must be whole minutes, such as 2m`)
    const repeat = minutes === undefined ? {} : { repeatEveryMinutes: minutes }
    return { type: 'at', at, ...repeat }
  }
  return every === undefined ? undefined : { type: 'interval', everySeconds: secondsOf(every) }
}

const units: Readonly<Record<string, number>> = { s: 1, m: 60, min: 60, h: 3600, d: 86_400 }

function secondsOf(text: string): number {
  const [, count, unit = 's'] = /^(\d{1,9})\s*(s|m|min|h|d)?$/.exec(text.trim()) ?? []
  if (count === undefined)
    throw new UsageError(`--every ${fullyVisible(text.slice(0, 40))}: write the interval as 90s, 15m, 2h or 1d`)
  const seconds = Number(count) * units[unit]!
  if (seconds < 60) throw new UsageError(`--every ${fullyVisible(text)} is too often; the minimum is a minute (1m)`)
  return seconds
}

function hoursOf(text: string, zone: string | undefined): ActiveHours {
  const [, from, to] = /^(\d{1,2}:\d{2})\s*[-–]\s*(\d{1,2}:\d{2})$/.exec(text.trim()) ?? []
  if (from === undefined || to === undefined)
    throw new UsageError(`--hours ${fullyVisible(text.slice(0, 40))}: write it as 09:00-17:00`)
  return { from: from.padStart(5, '0'), to: to.padStart(5, '0'), ...(zone !== undefined && { timeZone: zone }) }
}
