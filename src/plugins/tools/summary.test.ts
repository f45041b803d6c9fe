import { expect, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { createAgent } from '../../create-agent.ts'
import { call, scripted, texts } from '../../testing/index.ts'
import { marksOf } from '../tool-marks.ts'
import { summaryPlugin } from './summary.ts'

const services = { agentId: 'a', clock: systemClock }
const [summary] = summaryPlugin.tools!({ config: {}, entry: { id: '1', toolId: 'summary' }, services })

async function use(input: object): Promise<{ text: string; details: unknown }> {
  const agent = createAgent({ provider: scripted([call('1', 'summary', { ...input })], 'fin'), tools: { s: summary! } })
  let details: unknown
  agent.hooks.hook('tool:after', (done) => void (details = done.details))
  await agent.run({ prompt: 'go' })
  return { text: texts(agent.turns)[2]!, details }
}

test('the text is the result; it ends the loop and is sent with no further request', async () => {
  const { text, details } = await use({ text: 'All done.' })
  expect(text).toBe('user: ←All done.')
  expect(marksOf(details)).toEqual({ duration: 0, leavesTo: 'end' })
})

test('an empty answer ends nothing', async () => {
  expect(await use({ text: ' ' })).toEqual({
    text: 'user: ←Validation error: "text" is empty; write the answer into it',
    details: undefined,
  })
})
