import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createMemoryAudit } from '../../src/authority/audit/audit.ts'
import { createAgent, createSpawnTool, type ToolDef } from '../../src/index.ts'
import { call, scripted, tool } from '../../src/testing/index.ts'
import type { AgentHookMap, ToolCallBlock } from '../../src/types.ts'
import { rounds } from '../soak.ts'

const schedules = rounds(100, 1000)

/** One step of a model: a few calls, some of which are children, nested calls, failures or nonsense. */
const names = ['safe', 'alone', 'nested', 'fails', 'ungated', 'spawn', 'nowhere'] as const
const step = fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 4 })
const meddling = fc.constantFrom('nothing', 'substitute', 'block', 'loosen', 'throw')
const schedule = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 4 }),
  meddling: fc.array(meddling, { minLength: 1, maxLength: 5 }),
  mode: fc.constantFrom('ask', 'allowlist', 'yolo', 'plan'),
  deny: fc.subarray(['safe', 'alone', 'spawn', 'exec']),
  answers: fc.array(fc.constantFrom('yes', 'session', 'no', 'throw'), { minLength: 1, maxLength: 4 }),
  abortAt: fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined }),
  steerAt: fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined }),
})

test(`no tool runs without a record of who allowed it, in ${schedules} random schedules`, async () => {
  let executed = 0
  await fc.assert(
    fc.asyncProperty(schedule, async (plan) => {
      const audit = createMemoryAudit()
      const unrecorded: string[] = []
      let n = 0
      const noteRun = (name: string, callId: string): string => {
        executed++
        const isAllowed = audit.records.some(
          ({ class: kind, callId: id, tool, decision }) =>
            kind === 'Approval' && id === callId && tool === name && decision?.verdict === 'allow',
        )
        if (!isAllowed) unrecorded.push(`${name} ${callId}`)
        if (++n === plan.abortAt) agent.abort()
        if (n === plan.steerAt) void agent.steer('Something else.')
        return name
      }
      const make = (name: string, more: Partial<ToolDef> = {}): ToolDef =>
        tool(name, (_, ctx) => noteRun(name, ctx.callId), more)
      const tools: Record<string, ToolDef> = {
        safe: make('safe', {
          isConcurrencySafe: true,
          effects: ['fs.read'],
          touches: () => [{ path: 'a', access: 'read' }],
        }),
        alone: make('alone', { effects: ['exec'] }),
        ungated: make('ungated', { gated: false }),
        fails: tool('fails', (_, ctx) => Promise.reject(new Error(noteRun('fails', ctx.callId))), {
          isConcurrencySafe: true,
        }),
        nested: tool('nested', async (_, ctx) => {
          noteRun('nested', ctx.callId)
          return (await ctx.call('safe', {})).output
        }),
        spawn: createSpawnTool(),
      }
      let ids = 0
      const calls = (list: readonly string[]): ToolCallBlock[] =>
        list.map((name) => call(`c${++ids}`, name, name === 'spawn' ? { task: 'help' } : {}))
      const steps = plan.steps.map(calls)
      const provider = scripted(...Array.from({ length: 60 }, () => () => steps.shift() ?? 'Done.'))
      let moment = 0
      const hooks: AgentHookMap = {
        'tool:gate': (ctx) => {
          switch (plan.meddling[moment++ % plan.meddling.length]) {
            case 'substitute':
              ctx.result = 'instead'
              break
            case 'block':
              ctx.block = true
              break
            case 'loosen':
              ctx.block = false
              delete ctx.halt
              break
            case 'throw':
              throw new Error('meddling')
          }
        },
        'hook:error': () => {},
      }
      let asked = 0
      const person = (): unknown => {
        const answer = plan.answers[asked++ % plan.answers.length]
        if (answer === 'throw') throw new Error('gone')
        return answer === 'session' ? 'session' : answer === 'yes'
      }
      const { mode, deny } = plan
      const agent = createAgent({
        provider,
        tools,
        hooks,
        authority: { mode: mode as 'ask', deny, audit, interactors: [person] },
      })
      await agent.run({ prompt: 'Go.' }).catch(() => {})
      await agent.destroy()
      expect(unrecorded).toEqual([])
    }),
    { numRuns: schedules },
  )
  expect(executed).toBeGreaterThan(schedules / 2)
}, 240_000)
