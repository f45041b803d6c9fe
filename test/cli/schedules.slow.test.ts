import { expect, onTestFinished, test } from 'vitest'
import { createSqliteStore } from '../../src/sessions/sqlite-store.ts'
import { createScheduleBook } from '../../src/workflow/schedules/schedule-book.ts'
import { gate, startMockService } from '../rpc/mock-service.ts'
import { type Desk, openDesk } from './cli-kit.ts'

const offline = ['--provider', 'offline']

async function make(desk: Desk): Promise<string> {
  return (await desk.libero(['agents', 'new', 'assistant', '--name', 'helper'])).out.trim()
}

const listed = async (desk: Desk) => JSON.parse((await desk.libero(['schedules', '--json'])).out)

test('D045 schedules are added, listed, changed, paused and removed', async () => {
  const desk = openDesk()
  const agentId = await make(desk)
  expect((await desk.libero(['schedules'])).err).toContain('There are no schedules')
  const flags = ['--every', '15m', '--hours', '22:00-06:00', '--zone', 'Europe/Berlin', '--max', '5']
  const added = await desk.libero(['schedules', 'add', 'helper', ...flags, 'look around'])
  expect(added.code).toBe(0)
  expect(added.err).toContain('libero schedules run')
  const id = added.out.trim()
  expect(await listed(desk)).toMatchObject([
    {
      ...{ id, agentId, message: 'look around', maxRuns: 5, when: { type: 'interval', everySeconds: 900 } },
      activeHours: { from: '22:00', to: '06:00', timeZone: 'Europe/Berlin' },
    },
  ])
  expect((await desk.libero(['schedules'])).out).toContain(
    'every 15m, from 22:00 to 06:00 Europe/Berlin, at most 5 times',
  )
  await desk.libero(['schedules', 'update', id.slice(0, 4), '--cron', '0 23 * * 1-5', 'plan the day'])
  expect(await listed(desk)).toMatchObject([{ when: { type: 'cron' }, message: 'plan the day', maxRuns: 5 }])
  await desk.libero(['schedules', 'update', id, '--any-time', '--no-max', '--cron', '0 9 * * *'])
  const [changed] = await listed(desk)
  expect([changed.maxRuns, changed.activeHours, changed.when.expression]).toEqual([undefined, undefined, '0 9 * * *'])
  await desk.libero(['schedules', 'pause', id])
  expect((await desk.libero(['schedules'])).out).toContain('paused')
  await desk.libero(['schedules', 'resume', id])
  expect(await listed(desk)).toMatchObject([{ enabled: true, nextRunAt: expect.any(Number) }])
  expect((await desk.libero(['schedules', 'remove', id])).err).toBe(`Removed ${id}\n`)
  expect(await listed(desk)).toEqual([])
})

test.each([
  [['--every', '5s', 'x'], 'the minimum is a minute (1m)'],
  [['--every', 'soon', 'x'], 'write the interval as 90s'],
  [['--at', '2020-01-01T09:00Z', 'x'], 'lies in the past'],
  [['--at', '2030-01-01T09:00', 'x'], 'does not say in which time zone'],
  [['--cron', '0 9 * *', 'x'], 'must have five fields'],
  [['--cron', '0 9 * * *', '--every', '1h', 'x'], 'choose one of them'],
  [['--every', '1h', '--hours', 'night', 'x'], '--hours night: write it as'],
  [['--at', '2030-01-01T09:00Z', '--every', '90s', 'x'], 'must be whole minutes'],
  [['--every', '1h', '--once', '--max', '2', 'x'], '--once and --max do not go together'],
  [['--every', '1h'], 'See: libero schedules add --help'],
  [['--every', '1h'], 'the schedule needs a message'],
  [['x'], 'the schedule needs a time'],
])('invalid arguments are refused with a correction: %j', async (words, why) => {
  const desk = openDesk()
  await make(desk)
  const { code, err } = await desk.libero(['schedules', 'add', 'helper', ...words])
  expect(code).toBe(2)
  expect(err).toContain(why)
  expect(await listed(desk)).toEqual([])
})

test('D031 a reminder sets an alarm, and schedules run wakes its agent', async () => {
  const desk = openDesk()
  const told = await desk.libero(['agents', 'new', 'assistant', 'remind me in 10 minutes to stretch', ...offline])
  expect(told).toMatchObject({ code: 0, out: expect.stringContaining('The alarm is set for') })
  expect(told.err).toMatch(/It wakes in (?:9|10) min\. No scheduler is running/)
  const [alarm] = await listed(desk)
  expect(alarm).toMatchObject({ kind: 'alarm', message: '[Alarm Clock] stretch', deleteAfterRun: true })
  await dueNow(desk, alarm)
  const running = desk.start(['schedules', 'run', ...offline])
  await running.until('It is time: stretch')
  await running.until(`${alarm.agentId}: done`)
  const second = desk.start(['schedules', 'run', ...offline])
  await second.until('Another program already wakes agents')
  expect((await desk.libero(['schedules'])).err).not.toContain('No scheduler is running')
  for (const one of [second, running]) {
    one.child.kill('SIGINT')
    expect(await one.ended).toMatchObject({ code: 0, err: expect.stringContaining('Stopped.') })
  }
  expect(await listed(desk)).toEqual([])
})

/** The alarm is set in the past, so that the test does not wait for it. */
async function dueNow(desk: Desk, { id, agentId, message }: { id: string; agentId: string; message: string }) {
  const store = createSqliteStore({ path: `${desk.home}/sessions.db` })
  const then = Date.now() - 60_000
  const clock = { now: () => then, timer: () => () => {} }
  const when = { type: 'at' as const, at: new Date(then + 30_000).toISOString() }
  await createScheduleBook({ store, clock }).add({ id, agentId, message, when, kind: 'alarm', deleteAfterRun: true })
  await store.close()
}

test('a woken agent that needs an answer waits for libero agents answer', async () => {
  const desk = openDesk()
  const agentId = await make(desk)
  await dueNow(desk, { id: 'drink', agentId, message: 'ask me: tea or coffee?' })
  const running = desk.start(['schedules', 'run', ...offline])
  await running.until(`To answer: libero agents answer ${agentId}`)
  running.child.kill('SIGINT')
  expect(await running.ended).toMatchObject({ code: 0 })
  const answered = await desk.libero(['agents', 'answer', 'helper', 'tea', ...offline])
  expect(answered).toMatchObject({ code: 0, out: expect.stringContaining('The user chose: tea') })
})

test('an agent that was working when schedules run was stopped continues at the next start', async () => {
  const service = await startMockService()
  onTestFinished(() => service.close())
  const desk = openDesk(service.url)
  const agentId = await make(desk)
  await dueNow(desk, { id: 'news', agentId, message: 'look at the news' })
  const closed = gate()
  service.play([{ say: 'Looking. ' }, { hang: closed }], [{ say: 'Nothing new.' }])
  const first = desk.start(['schedules', 'run'])
  await closed.reached
  first.child.kill('SIGINT')
  expect(await first.ended).toMatchObject({ code: 0 })
  closed.open()
  expect((await desk.libero(['agents'])).out).toContain('interrupted')
  const second = desk.start(['schedules', 'run'])
  await second.until('Nothing new.')
  second.child.kill('SIGTERM')
  expect(await second.ended).toMatchObject({ code: 143 })
  const { messages } = JSON.parse((await desk.libero(['agents', 'show', agentId, '--json'])).out)
  const told = messages.filter(({ role, hidden }: { role: string; hidden?: boolean }) => role === 'user' && !hidden)
  expect(told.map(({ content }: { content: string }) => content)).toEqual(['look at the news'])
})
