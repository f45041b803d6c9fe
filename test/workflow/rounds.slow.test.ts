import { expect, onTestFinished, test } from 'vitest'
import { call, scripted } from '../../src/testing/scripted.ts'
import { createWorkflow } from '../../src/workflow/workflow.ts'
import { rounds } from '../soak.ts'
import { definition, withTool } from './kit.ts'

const times = rounds(2_000, 5_000)

test(`D006 ${times} rounds run without the stack growing`, async () => {
  const depths: number[] = []
  let calls = 0
  // Without this ten frames are all that is ever seen, of those that are waited for too.
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 1_000
  onTestFinished(() => {
    Error.stackTraceLimit = stackTraceLimit
  })
  const provider = scripted()
  for (let i = 0; i < times; i++) provider.push([call(`c${i}`, 'look')])
  provider.push('At last.')
  const look = withTool('look', () => {
    if (calls++ % 100 === 0) depths.push(new Error('how deep').stack?.split('\n').length ?? 0)
    return 'x'
  })
  const workflow = createWorkflow({ provider, definitions: [definition('look')], plugins: [look] })
  const { id } = await workflow.createAgent('helper')
  expect((await workflow.sendMsgToAgent(id, 'go')).message?.content).toBe('At last.')
  expect(calls).toBe(times)
  expect(new Set(depths.slice(2)).size).toBe(1)
  expect(provider.requests.at(-1)!.messages).toHaveLength(3) // what is out of its time costs nothing any more
  await workflow.close()
}, 60_000)
