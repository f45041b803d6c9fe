import { oneLine } from '../../core/text.ts'
import type { JsonSchema, ToolDef, ToolResult } from '../../core/tool.ts'
import type { PluginServices } from '../plugin.ts'
import type { ActiveHours, ScheduleBook, ScheduleState, ScheduleTime } from '../schedule.ts'

interface ScheduleToolOptions<Input> {
  readonly name: string
  readonly description: string
  readonly properties: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly replay: 'pure' | 'keyed'
  run(input: Input, context: ScheduleToolContext): Promise<ToolResult>
}

export interface ScheduleToolContext {
  readonly agentId: string
  readonly book: ScheduleBook
  /** The same if a call runs again after a crash, so that its change is made once. */
  readonly key: string
  readonly isAgain: boolean
}

/** A tool of an agent about its own schedules. */
export function scheduleTool<Input>(services: PluginServices, options: ScheduleToolOptions<Input>): ToolDef<Input> {
  const { name, description, properties, required = [], replay, run } = options
  return {
    spec: {
      name,
      description,
      inputSchema: { type: 'object', properties, required, additionalProperties: false },
    },
    isConcurrencySafe: replay === 'pure',
    replay,
    // Only the schedule itself: calls of the woken agent are decided then.
    effects: replay === 'pure' ? [] : ['schedule.write'],
    deriveApprovalKey: () => name,
    timeoutMs: 30_000,
    execute(input, { idempotencyKey, attempt }) {
      const { agentId, schedules: book } = services
      if (!book)
        throw new Error(`${name} needs the service "schedules", which is not there for this agent; go on without it`)
      return run(input, { agentId, book, key: `${agentId} ${idempotencyKey}`, isAgain: attempt > 1 })
    },
  }
}

/** The schedule of that id; throws unless the agent may change it. */
export async function ownSchedule({ agentId, book }: ScheduleToolContext, id: string): Promise<ScheduleState> {
  const own = await book.list(agentId)
  const found = own.find((one) => one.id === id)
  if (found?.kind === 'heartbeat')
    throw new Error(`"${id}" is the heartbeat of this agent, which is part of its definition and not changed here`)
  if (found) return found
  const ids = own.filter(({ kind }) => kind !== 'heartbeat').map((one) => `"${one.id}"`)
  const there = ids.length === 0 ? 'it has none' : `it has ${ids.slice(0, 20).join(', ')}`
  throw new Error(`This agent has no schedule "${String(id).slice(0, 100)}"; ${there}. list-schedules tells more`)
}

/** One schedule in a line. */
export function describeSchedule(state: ScheduleState): string {
  const { id, kind = 'task', name, when, activeHours, enabled = true, runs, maxRuns, lastRunAt, nextRunAt } = state
  const zone = activeHours?.timeZone ? ` ${activeHours.timeZone}` : ''
  const parts = [
    `${id} (${kind}${name === undefined ? '' : `, ${name}`}): ${describeTime(when)}`,
    activeHours && `only from ${activeHours.from} to ${activeHours.to}${zone}`,
    enabled ? nextRunText(nextRunAt) : 'switched off',
    `ran ${runs}${maxRuns === undefined ? '' : ` of ${maxRuns}`} times`,
    lastRunAt !== undefined && `last ${isoOf(lastRunAt)}`,
    state.deleteAfterRun && 'removed after its next run',
    `message: ${oneLine(state.message, 200)}`,
  ]
  return parts.filter(Boolean).join('; ')
}

function describeTime(when: ScheduleTime): string {
  if (when.type === 'interval') return `every ${when.everySeconds} seconds`
  if (when.type === 'cron') return `cron ${when.expression}${when.timeZone ? ` in ${when.timeZone}` : ''}`
  const repeat = when.repeatEveryMinutes === undefined ? '' : `, then every ${when.repeatEveryMinutes} minutes`
  return `at ${when.at}${repeat}`
}

function nextRunText(nextRunAt: number | undefined): string {
  return nextRunAt === undefined ? 'no further run' : `next ${isoOf(nextRunAt)}`
}

export function isoOf(at: number): string {
  return new Date(at).toISOString()
}

/** The fields with which a model says when a schedule runs. */
interface TimeFields {
  readonly everySeconds?: number
  readonly at?: string
  readonly repeatEveryMinutes?: number
  readonly cron?: string
  readonly timeZone?: string
}

/** All fields of a schedule that a model may set. */
export interface ScheduleFields extends TimeFields {
  readonly message?: string
  readonly name?: string | null
  readonly enabled?: boolean
  readonly activeHours?: ActiveHours | null
  readonly maxRuns?: number | null
  readonly deleteAfterRun?: boolean
}

/** The schemas of the fields. With `clearable`, optional fields may be `null`. */
export function scheduleProperties(options: { readonly clearable: boolean }): Readonly<Record<string, JsonSchema>> {
  const orNull = (type: string) => ({ type: options.clearable ? [type, 'null'] : type })
  return {
    message: { type: 'string', description: 'What you will be told when it is time. Say all you will need to know.' },
    everySeconds: { type: 'integer', description: 'Again and again, after so many seconds. At least 60.' },
    at: { type: 'string', description: 'At an ISO time with Z or an offset, such as 2026-03-01T09:00:00+01:00.' },
    repeatEveryMinutes: { type: 'integer', description: 'With "at": again and again from then on. At least 1.' },
    cron: {
      type: 'string',
      description: 'Five fields: minute hour day month weekday; "0 9 * * 1-5" is weekdays at 9.',
    },
    timeZone: { type: 'string', description: 'With "cron", such as Europe/Berlin.' },
    name: { ...orNull('string'), description: 'A short name.' },
    enabled: { type: 'boolean', description: 'False: it waits until it is switched on.' },
    activeHours: {
      ...orNull('object'),
      description: 'Only within these hours, which may go over midnight.',
      properties: {
        from: { type: 'string', description: 'As in 22:00.' },
        to: { type: 'string', description: 'As in 06:30.' },
        timeZone: { type: 'string' },
      },
      required: ['from', 'to'],
    },
    maxRuns: { ...orNull('integer'), description: 'Ends after so many runs.' },
    deleteAfterRun: { type: 'boolean', description: 'Removed after its next run.' },
  }
}

/** The fields that are not about time. */
export function restOf<Fields extends ScheduleFields>(fields: Fields): Omit<Fields, keyof TimeFields> {
  const { everySeconds: _every, at: _at, repeatEveryMinutes: _repeat, cron: _cron, timeZone: _zone, ...rest } = fields
  return rest
}

/** The time of a schedule; undefined if no field was given. */
export function timeOf(fields: TimeFields): ScheduleTime | undefined {
  const { everySeconds, at, repeatEveryMinutes, cron, timeZone } = fields
  const given = Object.entries({ everySeconds, at, cron }).filter(([, value]) => value !== undefined)
  if (given.length > 1)
    throw new Error(`${given.map(([name]) => `"${name}"`).join(' and ')} exclude each other; give one of them`)
  if (repeatEveryMinutes !== undefined && at === undefined)
    throw new Error('"repeatEveryMinutes" goes with "at", which says when it begins; give both, or "everySeconds"')
  if (timeZone !== undefined && cron === undefined)
    throw new Error('"timeZone" goes with "cron"; a time in "at" has its zone as an offset, such as +01:00')
  if (everySeconds !== undefined) return { type: 'interval', everySeconds }
  if (at !== undefined) return { type: 'at', at, ...(repeatEveryMinutes !== undefined && { repeatEveryMinutes }) }
  if (cron !== undefined) return { type: 'cron', expression: cron, ...(timeZone !== undefined && { timeZone }) }
  return undefined
}
