import { expect, test } from 'vitest'
import type { ToolContext } from '../../core/tool.ts'
import { createAgent } from '../../create-agent.ts'
import { createMemoryStore } from '../../sessions/memory-store.ts'
import { call, fakeClock, scripted, texts } from '../../testing/index.ts'
import { createScheduleBook } from '../../workflow/schedules/schedule-book.ts'
import { createScheduler } from '../../workflow/schedules/scheduler.ts'
import type { PluginServices } from '../plugin.ts'
import type { ScheduleBook } from '../schedule.ts'
import { marksOf } from '../tool-marks.ts'
import { schedulePlugins } from './schedule-plugins.ts'

const begin = Date.parse('2026-01-05T12:00:00Z')
const hour = 3_600_000

function world(agentId = 'a') {
  const clock = fakeClock(begin)
  const store = createMemoryStore({ clock })
  const schedules = createScheduleBook({ store, clock })
  return { clock, store, services: { agentId, clock, schedules } }
}

const toolsFor = (services: PluginServices) =>
  schedulePlugins.flatMap((plugin) =>
    plugin.tools!({ config: {}, entry: { id: '1', toolId: plugin.toolId }, services }),
  )

let calls = 0

/** One call, as a model makes it. */
async function use(services: PluginServices, name: string, input: object) {
  const tools = Object.fromEntries(toolsFor(services).map((tool) => [tool.spec.name, tool]))
  const agent = createAgent({ provider: scripted([call(`call-${++calls}`, name, { ...input })], 'fin'), tools })
  let details: unknown
  agent.hooks.hook('tool:after', (done) => void (details = done.details))
  await agent.run({ prompt: 'go' })
  return { text: texts(agent.turns)[2]!, details }
}

/** The call as it runs, and runs again after a crash. */
function execute(services: PluginServices, name: string, input: object, attempt = 1) {
  const tool = toolsFor(services).find(({ spec }) => spec.name === name)!
  return tool.execute(input, { idempotencyKey: `session/${name}`, attempt } as ToolContext)
}

test('each plugin offers one tool of its own name, with all required declarations', () => {
  const { services } = world()
  const tools = toolsFor(services)
  expect(tools.map(({ spec }) => spec.name)).toEqual(schedulePlugins.map(({ toolId }) => toolId))
  for (const tool of tools)
    for (const field of ['isConcurrencySafe', 'replay', 'effects', 'deriveApprovalKey', 'timeoutMs'])
      expect(tool, `${tool.spec.name} ${field}`).toHaveProperty(field)
})

test('D031 alarm-clock stores the alarm and ends the loop', async () => {
  const { services } = world()
  const { text, details } = await use(services, 'alarm-clock', {
    wakeAtISO: '2026-01-05T15:00:00+01:00',
    reminderMessage: 'Water the plants',
  })
  expect(text).toBe('user: ←The alarm is set for 2026-01-05T14:00:00.000Z.')
  expect(marksOf(details)).toEqual({ leavesTo: 'end' })
  expect(await services.schedules.list()).toMatchObject([
    {
      id: 'alarm:a',
      agentId: 'a',
      kind: 'alarm',
      message: '[Alarm Clock] Water the plants',
      nextRunAt: begin + 2 * hour,
    },
  ])
})

test('D031 alarm-clock wakes with its message, repeats, and survives a restart', async () => {
  const { services, clock, store } = world()
  const told: string[] = []
  const start = async () => {
    const wake = ({ message, dueAt }: { message: string; dueAt: number }): void =>
      void told.push(`${(dueAt - begin) / hour}: ${message}`)
    const scheduler = createScheduler({ store, clock, wake, pollMs: 24 * hour, leaseMs: 24 * hour })
    await scheduler.start()
    return scheduler
  }
  const first = await start()
  await use(services, 'alarm-clock', { wakeAtISO: '2026-01-05T13:00:00Z', repeatIntervalMinutes: 30 })
  await clock.advance(1.6 * hour)
  await first.stop()
  const second = await start()
  await clock.advance(0.5 * hour)
  expect(told).toEqual([1, 1.5, 2].map((time) => `${time}: [Alarm Clock] It is time.`))
  await use(services, 'alarm-clock', { wakeAtISO: '2026-01-05T20:00:00Z', reminderMessage: 'Last' })
  await clock.advance(24 * hour)
  expect(told.slice(3)).toEqual(['8: [Alarm Clock] Last'])
  expect(await services.schedules.list()).toEqual([])
  await second.stop()
})

test('an invalid alarm is an error for the model, and the loop continues', async () => {
  const { services } = world()
  for (const [input, words] of [
    [{ wakeAtISO: '2026-01-05T11:00:00Z' }, 'lies in the past; it is now 2026-01-05T12:00:00.000Z'],
    [{ wakeAtISO: 'at six' }, 'is not an ISO time'],
    [{ wakeAtISO: '2026-01-05T15:00:00Z', repeatIntervalMinutes: 0.5 }, 'at least 1, got 0.5'],
    [{ wakeAtISO: '2026-01-05T15:00:00Z', reminderMessage: 'x'.repeat(10_001) }, 'at most 10000'],
  ] as const) {
    const { text, details } = await use(services, 'alarm-clock', input)
    expect(text).toContain(words)
    expect(marksOf(details)).toEqual({})
  }
  expect(await services.schedules.list()).toEqual([])
})

test('an agent makes, lists, changes and removes its schedules', async () => {
  const { services } = world()
  const made = await use(services, 'schedule-task', {
    message: 'Read the news',
    cron: '0 9 * * 1-5',
    timeZone: 'Europe/Berlin',
    name: 'News',
    activeHours: { from: '08:00', to: '18:00', timeZone: 'Europe/Berlin' },
    maxRuns: 5,
  })
  const [{ id } = { id: '' }] = await services.schedules.list('a')
  expect(id).toMatch(/^task-[0-9a-f]{12}$/)
  expect(made.text).toBe(
    `user: ←Scheduled. ${id} (task, News): cron 0 9 * * 1-5 in Europe/Berlin; only from 08:00 to 18:00 Europe/Berlin; next 2026-01-06T08:00:00.000Z; ran 0 of 5 times; message: Read the news`,
  )
  const changed = await use(services, 'update-schedule', { id, everySeconds: 7200, maxRuns: null, activeHours: null })
  expect(changed.text).toContain('every 7200 seconds; next 2026-01-05T14:00:00.000Z; ran 0 times')
  expect((await use(services, 'list-schedules', {})).text).toMatch(/^user: ←It is now 2026-01-05T12:00:00.000Z.\ntask-/)
  expect((await use(services, 'remove-schedule', { id })).text).toBe(`user: ←Removed ${id}.`)
  expect((await use(services, 'list-schedules', {})).text).toContain('You have no schedules.')
})

test('contradicting or missing times are refused with the correct form', async () => {
  const { services } = world()
  const words = async (input: object) => (await use(services, 'schedule-task', { message: 'x', ...input })).text
  expect(await words({})).toContain('give one of "everySeconds", "at" and "cron"')
  expect(await words({ everySeconds: 60, cron: '0 9 * * *' })).toContain('"everySeconds" and "cron" exclude each other')
  expect(await words({ everySeconds: 60, repeatEveryMinutes: 5 })).toContain('"repeatEveryMinutes" goes with "at"')
  expect(await words({ everySeconds: 60, timeZone: 'UTC' })).toContain('"timeZone" goes with "cron"')
  expect(await words({ everySeconds: 30 })).toContain('from 60 (a minute)')
  expect(await services.schedules.list()).toEqual([])
})

test('the schedules of other agents are neither listed nor changed', async () => {
  const { services } = world()
  const other = await services.schedules.add({
    id: 'theirs',
    agentId: 'b',
    message: 'secret',
    when: { type: 'interval', everySeconds: 60 },
  })
  expect((await use(services, 'list-schedules', {})).text).not.toContain('theirs')
  expect((await use(services, 'update-schedule', { id: 'theirs', enabled: false })).text).toContain(
    'This agent has no schedule "theirs"; it has none',
  )
  expect((await use(services, 'remove-schedule', { id: 'theirs' })).text).toContain(
    'This agent has no schedule "theirs"',
  )
  await expect(execute(services, 'remove-schedule', { id: 'theirs' }, 2)).rejects.toThrow('has no schedule "theirs"')
  expect(await services.schedules.list()).toEqual([other])
})

test('the heartbeat belongs to the definition', async () => {
  const { services } = world()
  const heartbeat = {
    id: 'h',
    agentId: 'a',
    kind: 'heartbeat',
    message: 'x',
    when: { type: 'interval', everySeconds: 60 },
  } as const
  await services.schedules.add(heartbeat)
  expect((await use(services, 'remove-schedule', { id: 'h' })).text).toContain('is the heartbeat of this agent')
  expect(await services.schedules.list()).toHaveLength(1)
})

test('a call that runs again after a crash changes nothing a second time', async () => {
  const { services, clock } = world()
  const input = { message: 'x', at: '2026-01-05T12:30:00Z' }
  await execute(services, 'schedule-task', input)
  await clock.advance(hour)
  await execute(services, 'schedule-task', input, 2)
  const [one, ...more] = await services.schedules.list()
  expect(more).toEqual([])
  await execute(services, 'update-schedule', { id: one!.id, name: 'First' })
  await services.schedules.update(one!.id, { name: 'Second' })
  await execute(services, 'update-schedule', { id: one!.id, name: 'First' }, 2)
  expect(await services.schedules.list()).toMatchObject([{ name: 'Second' }])
  await execute(services, 'remove-schedule', { id: one!.id })
  expect(await execute(services, 'remove-schedule', { id: one!.id }, 2)).toMatchObject({
    output: `Removed ${one!.id}.`,
  })
  await expect(execute(services, 'remove-schedule', { id: one!.id })).rejects.toThrow('has no schedule')
  await execute(services, 'alarm-clock', { wakeAtISO: '2026-01-05T14:00:00Z' })
  await clock.advance(2 * hour)
  await execute(services, 'alarm-clock', { wakeAtISO: '2026-01-05T14:00:00Z' }, 2)
  expect(await services.schedules.list()).toHaveLength(1)
})

test('an agent has at most a hundred schedules', async () => {
  const { services } = world()
  const when = { type: 'interval', everySeconds: 60 } as const
  const one = await services.schedules.add({ agentId: 'a', kind: 'task', message: 'x', when })
  const existing = Array.from({ length: 100 }, (_, i) => ({ ...one, id: `s${i}` }))
  const full: ScheduleBook = { ...services.schedules, list: async () => existing }
  const { text } = await use({ ...services, schedules: full }, 'schedule-task', { message: 'x', everySeconds: 60 })
  expect(text).toContain('has 100 schedules already; remove some with remove-schedule first')
})

test('without the schedules service the model gets an error', async () => {
  const { clock } = world()
  for (const [name, input] of [
    ['alarm-clock', { wakeAtISO: '2026-01-05T15:00:00Z' }],
    ['schedule-task', { message: 'x', everySeconds: 60 }],
    ['list-schedules', {}],
  ] as const)
    expect((await use({ agentId: 'a', clock }, name, input)).text).toContain(`${name} needs the service "schedules"`)
})
