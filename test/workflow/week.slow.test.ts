import { expect, test } from 'vitest'
import type { Clock } from '../../src/core/clock.ts'
import type { Provider } from '../../src/core/provider.ts'
import type { SessionStore } from '../../src/core/store.ts'
import type { NewSchedule } from '../../src/plugins/schedule.ts'
import { createMemoryStore } from '../../src/sessions/memory-store.ts'
import { memoryExecution } from '../../src/testing/memory-execution.ts'
import { createWorkflow, type Workflow } from '../../src/workflow/workflow.ts'
import { rounds } from '../soak.ts'

const minute = 60_000
const hour = 60 * minute
/** Clocks in Berlin are put back in the night to the 25th. */
const days = rounds(2, 7)
const begin = Date.parse(days < 7 ? '2026-10-24T00:00:00Z' : '2026-10-22T00:00:00Z')
const end = begin + days * 24 * hour
const berlin = 'Europe/Berlin'

test(`D045 a hundred agents of a workflow in ${days} days, with a restart in every hour: each hears all it should, once and in time`, async () => {
  const clock = quickClock(begin)
  const store = createMemoryStore({ clock })
  const model = echo()
  const errors: Error[] = []
  const start = (): Workflow =>
    createWorkflow({
      ...{ store, clock, provider: model.provider, execution: memoryExecution() },
      definitions: [{ id: 'woken' }, { id: 'beating', heartbeat: { intervalSeconds: 4 * 3600, message: 'Beat' } }],
      onError: (error) => void errors.push(error),
    })
  let workflow = start()
  const expected = new Map<string, number[]>()
  for (let i = 0; i < 100; i++) {
    const { id } = await workflow.createAgent(i % 5 === 4 ? 'beating' : 'woken', { id: `agent-${i}` })
    const { schedule, times } = lifeOf(i, id, clock.now())
    if (schedule) await workflow.schedules.add(schedule)
    expected.set(id, times)
    // So that some are due in the same moment.
    if (i % 3 === 0) await clock.advance(21_000)
  }

  await workflow.start()
  let interrupted = 0
  for (let k = 1; clock.now() < end; k++) {
    const until = begin + k * hour
    // In every other hour the process ends while a model is answering, whenever that is.
    if (k % 2 === 0) model.hang()
    await clock.advance(until - clock.now(), () => model.isHanging)
    if (model.isHanging) interrupted++
    await workflow.close()
    model.answer()
    workflow = start()
    await workflow.start()
    await clock.advance(until - clock.now())
  }
  await workflow.close()

  expect(errors).toEqual([])
  expect(interrupted).toBeGreaterThan(8 * days)
  let wakeUps = 0
  for (const [id, times] of expected) {
    const { inputs, answers } = await heardBy(store, id)
    wakeUps += times.length
    expect([id, inputs.map(({ due }) => iso(due))]).toEqual([id, times.map(iso)])
    expect([id, inputs.filter(({ due, at }) => at - due > minute)]).toEqual([id, []])
    expect([id, answers]).toEqual([id, times.length])
  }
  expect(wakeUps).toBeGreaterThan(600 * days)
}, 120_000)

/** What an agent is woken by, and when, said in another way than the code says it. */
function lifeOf(i: number, agentId: string, now: number): { schedule?: NewSchedule; times: number[] } {
  const common = { id: `s${i}`, agentId, message: `Message for ${agentId}` }
  const every = (ms: number): number[] => {
    const times: number[] = []
    for (let at = now + ms; at <= end; at += ms) times.push(at)
    return times
  }
  switch (i % 5) {
    case 0:
      return { schedule: { ...common, when: { type: 'interval', everySeconds: 3600 } }, times: every(hour) }
    case 1: {
      const times = minutes().filter((at) => wallTime(at) === '09:30')
      return { schedule: { ...common, when: { type: 'cron', expression: '30 9 * * *', timeZone: berlin } }, times }
    }
    case 2: {
      const at = begin + i * 1.6 * hour + 5 * minute
      return { schedule: { ...common, when: { type: 'at', at: iso(at) } }, times: at <= end ? [at] : [] }
    }
    case 3: {
      const activeHours = { from: '22:00', to: '02:00', timeZone: berlin }
      const times = every(45 * minute).filter((at) => wallTime(at) >= '22:00' || wallTime(at) < '02:00')
      return { schedule: { ...common, when: { type: 'interval', everySeconds: 2700 }, activeHours }, times }
    }
    default:
      return { times: every(4 * hour) }
  }
}

/** The due times of what an agent was told, and how many answers it gave. */
async function heardBy(store: SessionStore, id: string) {
  const entries = await store.read(id)
  const inputs = entries.flatMap((entry) => {
    if (entry.type !== 'input') return []
    return [{ due: Number(entry.clientKey.split(':').at(-1)), at: entry.at }]
  })
  const answers = entries.filter((entry) => entry.type === 'turn' && entry.turn.role === 'assistant').length
  return { inputs, answers }
}

/** A model that answers at once, or not at all until it is stopped. */
function echo() {
  let mustHang = false
  let isHanging = false
  const provider: Provider = {
    meta: { name: 'echo', defaultModel: 'echo-1', capabilities: {} },
    async *stream(_, signal) {
      if (mustHang) {
        isHanging = true
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      }
      const usage = { input: 1, output: 1 }
      yield { type: 'reply', content: [{ type: 'text', text: 'Done.' }], stop: 'end', usage }
    },
  }
  return {
    provider,
    get isHanging() {
      return isHanging
    },
    hang: () => void (mustHang = true),
    answer: () => void (mustHang = isHanging = false),
  }
}

/** Time that is turned by hand; a week of it has 60,000 looks at the clock, so that each must be cheap. */
function quickClock(start: number) {
  let now = start
  const timers = new Set<{ readonly at: number; readonly fn: () => void }>()
  const clock: Clock = {
    now: () => now,
    timer(ms, fn) {
      const timer = { at: now + ms, fn }
      timers.add(timer)
      return () => timers.delete(timer)
    },
  }
  const first = (until: number) => {
    let found: { at: number; fn: () => void } | undefined
    for (const timer of timers) if (timer.at <= until && (!found || timer.at < found.at)) found = timer
    return found
  }
  const settle = async (): Promise<void> => {
    for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve))
  }
  return {
    ...clock,
    /** Until then, or until something has happened. */
    async advance(ms: number, isEnough = () => false): Promise<void> {
      const until = now + ms
      await settle()
      for (let due = first(until); due && !isEnough(); due = first(until)) {
        timers.delete(due)
        now = due.at
        due.fn()
        await settle()
      }
      if (!isEnough()) now = until
    },
  }
}

const iso = (at: number): string => new Date(at).toISOString()

function minutes(): number[] {
  return Array.from({ length: (end - begin) / minute }, (_, k) => begin + (k + 1) * minute)
}

const wall = new Intl.DateTimeFormat('en-GB', { timeZone: berlin, hour: '2-digit', minute: '2-digit' })
const wallTime = (at: number): string => wall.format(at)
