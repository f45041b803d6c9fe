import { describe, expect, test } from 'vitest'
import { call } from '../../src/testing/scripted.ts'
import { definition, type World, world } from './kit.ts'

const spawning = definition('ask-question', { toolId: 'spawn-agent', approval: { mode: 'auto' } })
const spawn = (id: string) => call(id, 'spawn-agent', { task: 'Find out' })
const ask = call('q1', 'ask-question', { question: 'Which colour?' })

/** An agent whose sub-agent waits for an answer, and the names of both. */
async function asking(...steps: Parameters<typeof world>[0]): Promise<World & { id: string; sub: string }> {
  const made = world([[spawn('s1')], [ask], ...steps], { definitions: [spawning] })
  const { id } = await made.workflow.createAgent('helper')
  expect((await made.workflow.sendMsgToAgent(id, 'Paint')).state).toBe('input-required')
  const sub = `${id}/s1`
  expect((await made.workflow.getStatus(sub)).state).toBe('input-required')
  return { ...made, id, sub }
}

const waits = async ({ workflow }: Pick<World, 'workflow'>, id: string) =>
  (await workflow.getMessages(id)).flatMap(({ metadata }) => metadata?.calls?.map(({ waitsFor }) => waitsFor) ?? [])

describe('a sub-agent that asks', () => {
  test('is canceled for readers once its parent is cancelled', async () => {
    const made = await asking('Fine.')
    const { workflow, id, sub } = made
    expect(await waits(made, sub)).toEqual(['answer'])
    await workflow.cancelAgent(id)
    for (const one of [made, made.again()]) {
      expect((await one.workflow.getStatus(sub)).state).toBe('canceled')
      expect(await waits(one, sub)).toEqual([undefined])
    }
    await workflow.sendMsgToAgent(id, 'Something else')
    expect((await workflow.getStatus(sub)).state).toBe('canceled')
  })

  test('is canceled once its parent is closed, or received another message', async () => {
    const closed = await asking()
    await closed.workflow.closeAgent(closed.id)
    expect((await closed.workflow.getStatus(closed.sub)).state).toBe('canceled')
    const skipped = await asking('Fine.')
    await skipped.workflow.sendMsgToAgent(skipped.id, 'Something else')
    expect((await skipped.workflow.getStatus(skipped.sub)).state).toBe('canceled')
  })

  test('is canceled with the sub-agent that began it', async () => {
    const { workflow } = world([[spawn('s1')], [spawn('s2')], [ask]], { definitions: [spawning] })
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'Paint')
    const states = () =>
      Promise.all([`${id}/s1`, `${id}/s1/s2`].map(async (one) => (await workflow.getStatus(one)).state))
    expect(await states()).toEqual(['input-required', 'input-required'])
    await workflow.cancelAgent(id)
    expect(await states()).toEqual(['canceled', 'canceled'])
  })

  test('is done as before when it is answered', async () => {
    const { workflow, id, sub } = await asking('Blue.', 'It is blue.')
    expect((await workflow.answerQuestion(id, 'q1', 'blue')).message?.content).toBe('It is blue.')
    expect(await workflow.getStatus(sub)).toMatchObject({ state: 'completed', message: { content: 'Blue.' } })
  })
})
