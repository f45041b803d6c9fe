import { describe, expect, test } from 'vitest'
import type { AuthorityOptions } from '../../src/authority/authority.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { call, texts } from '../../src/testing/scripted.ts'
import { definition, world } from './kit.ts'

const tools = ['alarm-clock', 'schedule-task', 'update-schedule', 'remove-schedule', 'list-schedules']
const inputs: Record<string, Record<string, unknown>> = {
  'alarm-clock': { wakeAtISO: '1970-01-01T05:00:00Z' },
  'schedule-task': { message: 'Look', everySeconds: 600 },
  'update-schedule': { id: 'mine', everySeconds: 120 },
  'remove-schedule': { id: 'mine' },
  'list-schedules': {},
}

/** What becomes of one call: whether it ran, was asked about or refused, and what schedules there are after it. */
async function judged(tool: string, authority: AuthorityOptions) {
  const { workflow, provider } = world([[call('1', tool, inputs[tool]!)], 'Done.'], {
    clock: fakeClock(0),
    definitions: [definition(...tools)],
    authority,
  })
  const { id } = await workflow.createAgent('helper')
  await workflow.schedules.add({ id: 'mine', agentId: id, message: 'M', when: { type: 'interval', everySeconds: 60 } })
  await workflow.sendMsgToAgent(id, 'Go')
  const book = (await workflow.schedules.list()).map(({ id: one, when }) => `${one} ${JSON.stringify(when)}`)
  const isAsked = (await workflow.pending(id)).length > 0
  const told = provider.requests[1] ? (texts(provider.requests[1].messages).at(-1) ?? '') : ''
  const outcome = /Blocked/.test(told) ? 'refused' : 'ran'
  return { outcome: isAsked ? 'asked' : outcome, isChanged: book.join() !== untouched, told }
}

const untouched = 'mine {"type":"interval","everySeconds":60}'

describe('tools that change schedules are decided by their effect', () => {
  const changing = tools.filter((tool) => tool !== 'list-schedules')

  test.each(changing)('the mode plan refuses %s, and no rule widens that', async (tool) => {
    for (const more of [{}, { allow: [tool, 'schedule.write'] }, { tools: { [tool]: { mode: 'auto' as const } } }]) {
      const { outcome, isChanged, told } = await judged(tool, { mode: 'plan', ...more })
      expect({ outcome, isChanged }).toEqual({ outcome: 'refused', isChanged: false })
      expect(told).toContain('the mode is plan, which is read-only, and this call changes when an agent is woken')
    }
  })

  test.each(['ask', 'allowlist'] as const)(
    'the mode %s asks, except about the alarm clock, which is auto',
    async (mode) => {
      const found = Object.fromEntries(
        await Promise.all(changing.map(async (tool) => [tool, (await judged(tool, { mode })).outcome])),
      )
      expect(found).toEqual({
        'alarm-clock': 'ran',
        'schedule-task': 'asked',
        'update-schedule': 'asked',
        'remove-schedule': 'asked',
      })
    },
  )

  test('rules by tool and by effect count for them', async () => {
    const ask = { mode: 'ask' as const }
    expect(await judged('schedule-task', { ...ask, tools: { 'schedule-task': { mode: 'auto' } } })).toMatchObject(ran)
    expect(await judged('schedule-task', { ...ask, allow: ['schedule.write'] })).toMatchObject(ran)
    expect(await judged('schedule-task', { ...ask, allow: ['schedule.write:alarm-clock'] })).toMatchObject(asked)
    expect(await judged('alarm-clock', { ...ask, tools: { 'alarm-clock': { mode: 'confirm' } } })).toMatchObject(asked)
    expect(await judged('alarm-clock', { mode: 'yolo', deny: ['schedule.write'] })).toMatchObject(refused)
    expect(await judged('alarm-clock', { mode: 'yolo', ask: ['schedule.write'] })).toMatchObject(asked)
  })

  test('a rule about files does not apply to them', async () => {
    expect(await judged('alarm-clock', { mode: 'ask', deny: ['fs.write:.env'] })).toMatchObject(ran)
  })

  test.each(changing)('the mode yolo runs %s', async (tool) => {
    expect(await judged(tool, { mode: 'yolo' })).toMatchObject(ran)
  })

  test.each(['plan', 'ask', 'allowlist', 'yolo'] as const)(
    'listing them needs no approval in the mode %s',
    async (mode) => {
      expect(await judged('list-schedules', { mode })).toMatchObject({ outcome: 'ran', isChanged: false })
    },
  )
})

const ran = { outcome: 'ran', isChanged: true }
const asked = { outcome: 'asked', isChanged: false }
const refused = { outcome: 'refused', isChanged: false }
