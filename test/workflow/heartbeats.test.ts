import { describe, expect, test, vi } from 'vitest'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { call } from '../../src/testing/scripted.ts'
import type { AgentDefinition, Heartbeat } from '../../src/workflow/definitions/definition.ts'
import { definition, type World, world } from './kit.ts'

const beating = (heartbeat?: Heartbeat): readonly AgentDefinition[] => [
  { ...definition(), ...(heartbeat && { heartbeat }) },
]
const every = (intervalSeconds: number, more: Partial<Heartbeat> = {}): Heartbeat => ({
  intervalSeconds,
  message: 'Look around.',
  ...more,
})
const hours = { from: '09:00', to: '17:00', timeZone: 'UTC' }

/** The next process over the same store, with another version of the definition. */
async function startedAgain(before: World, heartbeat?: Heartbeat): Promise<World> {
  await before.workflow.close()
  const next = before.again({ definitions: beating(heartbeat) })
  await next.workflow.start()
  expect(next.errors).toEqual([])
  return next
}

async function beats({ workflow }: World) {
  const all = await workflow.schedules.list()
  return all.map(({ when, message, activeHours, enabled = true, nextRunAt }) => ({
    ...{ every: when.type === 'interval' ? when.everySeconds : 0, message, enabled, nextRunAt },
    ...(activeHours && { activeHours }),
  }))
}

describe('agents follow the heartbeat of their definition at the next start', () => {
  test.each([
    ['another interval', every(60), every(120), [{ every: 120, message: 'Look around.' }]],
    ['another message', every(60), every(60, { message: 'Listen.' }), [{ every: 60, message: 'Listen.' }]],
    ['hours, where there were none', every(60), every(60, { activeHours: hours }), [{ activeHours: hours }]],
    ['none, where there were hours', every(60, { activeHours: hours }), every(60), [{ every: 60 }]],
    ['one that is switched off', every(60), every(60, { enabled: false }), []],
    ['one that is taken away', every(60), undefined, []],
    ['one that is new', undefined, every(60), [{ every: 60 }]],
    ['one that is switched on', every(60, { enabled: false }), every(60), [{ every: 60 }]],
  ])('%s', async (_, before, after, expected) => {
    const first = world([], { clock: fakeClock(1_000_000), definitions: beating(before) })
    await first.workflow.createAgent('helper')
    const next = await startedAgain(first, after)
    const found = await beats(next)
    expect(found).toMatchObject(expected)
    expect(found).toHaveLength(expected.length)
    if (!after?.activeHours) for (const beat of found) expect(beat).not.toHaveProperty('activeHours')
  })

  test('there and back again', async () => {
    let current = world([], { clock: fakeClock(0), definitions: beating(every(60)) })
    await current.workflow.createAgent('helper')
    for (const seconds of [120, 60, 120]) {
      current = await startedAgain(current, every(seconds))
      expect(await beats(current)).toMatchObject([{ every: seconds }])
    }
  })

  test('the agent receives the new message, and never the old one again', async () => {
    const clock = fakeClock(0)
    const first = world([], { clock, definitions: beating(every(60)) })
    await first.workflow.createAgent('helper')
    await first.workflow.close()
    await clock.advance(59_999)
    const next = world(['Hm.'], { clock, store: first.store, definitions: beating(every(60, { message: 'New.' })) })
    await next.workflow.start()
    await clock.advance(60_001)
    await vi.waitFor(() => expect(next.provider.requests).toHaveLength(1))
    const asked = JSON.stringify(next.provider.requests.map(({ messages }) => messages))
    expect(asked).toContain('New.')
    expect(asked).not.toContain('Look around.')
  })
})

describe('a heartbeat stays as it is', () => {
  test('if its definition has not changed, with the time it counts from', async () => {
    const clock = fakeClock(0)
    const first = world([], { clock, definitions: beating(every(60, { activeHours: hours })) })
    await first.workflow.createAgent('helper')
    const before = await beats(first)
    await clock.advance(10_000)
    const { from, to, timeZone } = hours
    const next = await startedAgain(first, { activeHours: { timeZone, to, from }, ...every(60, {}), enabled: true })
    expect(await beats(next)).toEqual(before)
  })

  test('as a person changed it, until the definition changes', async () => {
    const first = world([], { clock: fakeClock(0), definitions: beating(every(60)) })
    const { id } = await first.workflow.createAgent('helper')
    await first.workflow.schedules.update(`heartbeat:${id}`, { enabled: false, message: 'Mine.' })
    const same = await startedAgain(first, every(60))
    expect(await beats(same)).toMatchObject([{ every: 60, enabled: false, message: 'Mine.' }])
    const other = await startedAgain(same, every(300))
    expect(await beats(other)).toMatchObject([{ every: 300, enabled: true, message: 'Look around.' }])
  })

  test('where its definition is not among those of this program', async () => {
    const first = world([], { clock: fakeClock(0), definitions: beating(every(60)) })
    await first.workflow.createAgent('helper')
    await first.workflow.close()
    const other = first.again({ definitions: [{ id: 'other' }] })
    await other.workflow.start()
    expect(await beats(other)).toMatchObject([{ every: 60 }])
  })
})

test('closed agents, volatile ones and sub-agents have none, whatever their definition says later', async () => {
  const first = world([[call('1', 'spawn-agent', { task: 'Help' })], 'Helped.', 'Done.'], {
    clock: fakeClock(0),
    definitions: [{ ...definition('spawn-agent'), approval: { 'spawn-agent': { mode: 'auto' } } }],
  })
  const { id } = await first.workflow.createAgent('helper')
  await first.workflow.sendMsgToAgent(id, 'Go')
  expect((await first.workflow.listAgents({ subAgents: true })).agents).toHaveLength(2)
  const closed = await first.workflow.createAgent('helper')
  await first.workflow.closeAgent(closed.id)
  await first.workflow.close()
  const next = first.again({ definitions: beating(every(60)) })
  await next.workflow.createAgent('helper', { volatile: true })
  await next.workflow.start()
  expect((await next.workflow.schedules.list()).map((one) => one.id)).toEqual([`heartbeat:${id}`])
})

test('one that cannot be created is reported, and the others are created', async () => {
  const first = world([], { clock: fakeClock(0), definitions: [definition(), { id: 'other' }] })
  const { id } = await first.workflow.createAgent('other')
  await first.workflow.createAgent('helper')
  await first.workflow.close()
  const next = first.again({
    definitions: [
      { id: 'other', heartbeat: every(60) },
      { ...definition(), heartbeat: every(60, { message: 'x'.repeat(20_001) }) },
    ],
  })
  await next.workflow.start()
  expect(await next.workflow.schedules.list()).toMatchObject([{ id: `heartbeat:${id}` }])
  expect(next.errors.map(({ message }) => message)).toEqual([
    expect.stringMatching(/^the heartbeat of agent .* could not be made as definition "helper" has it/),
  ])
})
