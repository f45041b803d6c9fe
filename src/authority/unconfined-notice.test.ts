import { expect, test } from 'vitest'
import type { SandboxSupport } from '../core/execution.ts'
import { followEvents } from '../events/events.ts'
import { type AgentOptions, createAgent } from '../index.ts'
import { memoryExecution, scripted } from '../testing/index.ts'
import type { SecurityMode } from './rules/settings.ts'

const none: SandboxSupport = { profiles: [], why: 'bubblewrap is not installed' }
const untried: SandboxSupport = { profiles: [], why: 'the disk is full', isUntried: true }
const both: SandboxSupport = { profiles: ['read-only', 'workspace-write'] }

test.each<[mode: SecurityMode, support: SandboxSupport | undefined, unconfined: string | undefined]>([
  ['yolo', none, 'no sandbox: bubblewrap is not installed; in the mode yolo, '],
  ['yolo', undefined, 'no sandbox: the execution context "memory" has none; '],
  [
    'yolo',
    untried,
    'the sandbox cannot be used now: the disk is full; as long as that is so, commands are asked about',
  ],
  ['yolo', both, undefined],
  ['ask', none, undefined],
])('the first event of a run in the mode %s with the sandbox %j says: %s', async (mode, support, unconfined) => {
  const { sandbox: _, ...rest } = memoryExecution({ exec: async () => ({}) })
  const execution = { ...rest, ...(support && { sandbox: async () => support }) }
  const first = await firstEntry({ execution, authority: { mode } })
  if (unconfined === undefined) expect(first).not.toHaveProperty('unconfined')
  else expect(first).toMatchObject({ unconfined: expect.stringContaining(unconfined) })
})

test('an agent without an authority says nothing about a sandbox', async () => {
  expect(await firstEntry({})).not.toHaveProperty('unconfined')
})

async function firstEntry(options: Partial<AgentOptions>): Promise<unknown> {
  const agent = createAgent({ provider: scripted('Done.'), ...options })
  const events: unknown[] = []
  followEvents(agent, (event) => events.push(event))
  await agent.run({ prompt: 'Go.' })
  await agent.destroy()
  expect(events[0]).toMatchObject({ entry: { type: 'run_started' } })
  return (events[0] as { entry: unknown }).entry
}
