import type { JsonSchema, ToolDef, ToolResult } from '../../core/tool.ts'
import type { PluginServices } from '../plugin.ts'
import type { ScheduleBook, ScheduleState, ScheduleTime } from '../schedule.ts'

export interface ScheduleToolOptions<Input> {
  readonly name: string
  readonly description: string
  readonly properties: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly replay: 'pure' | 'keyed'
  run(input: Input, at: ScheduleDesk): Promise<ToolResult>
}

/** What a tool about schedules works with. */
export interface ScheduleDesk {
  readonly agentId: string
  readonly book: ScheduleBook
  /** The same when a call runs again after a crash, so that what it changes is changed once. */
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
    // Only the waking: what an agent does when it is woken is judged then.
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

/** The schedule of that id, if it is the agent's own to change. */
export async function ownSchedule({ agentId, book }: ScheduleDesk, id: string): Promise<ScheduleState> {
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
    enabled ? nextWords(nextRunAt) : 'switched off',
    `ran ${runs}${maxRuns === undefined ? '' : ` of ${maxRuns}`} times`,
    lastRunAt !== undefined && `last ${isoOf(lastRunAt)}`,
    state.deleteAfterRun && 'removed after its next run',
    `message: ${shortened(state.message)}`,
  ]
  return parts.filter(Boolean).join('; ')
}

function describeTime(when: ScheduleTime): string {
  if (when.type === 'interval') return `every ${when.everySeconds} seconds`
  if (when.type === 'cron') return `cron ${when.expression}${when.timeZone ? ` in ${when.timeZone}` : ''}`
  const repeat = when.repeatEveryMinutes === undefined ? '' : `, then every ${when.repeatEveryMinutes} minutes`
  return `at ${when.at}${repeat}`
}

function nextWords(nextRunAt: number | undefined): string {
  return nextRunAt === undefined ? 'no further run' : `next ${isoOf(nextRunAt)}`
}

export function isoOf(at: number): string {
  return new Date(at).toISOString()
}

function shortened(text: string): string {
  const line = text.replace(/\s+/g, ' ')
  return line.length > 200 ? `${line.slice(0, 199)}…` : line
}
