import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createAgent, createSpawnTool } from '../../src/index.ts'
import { call, type Step, scripted, tool } from '../../src/testing/index.ts'
import type { Limits } from '../../src/types.ts'
import { costOf, greedy, seeded } from './limits-kit.ts'

const Report = z.object({ found: z.string() })
const report: Step = [call('out', '__output__', { found: 'a bug' })]

describe('E12 the reserve of a budget', () => {
  test('at $0.08 there is a report, though children would use up everything, and the limit is never exceeded', async () => {
    for (let seed = 1; seed <= 10; seed++) {
      let calls = 0
      const provider = greedy({
        random: seeded(seed),
        say: ({ toolChoice, messages }) => {
          if (typeof toolChoice === 'object') return [call('out', '__output__', { found: 'a bug' })]
          const isParent = JSON.stringify(messages[0]).includes('Review')
          return [isParent ? call(`s${calls++}`, 'spawn', { task: 'Look' }) : call(`l${calls++}`, 'look')]
        },
      })
      const agent = createAgent({
        provider,
        tools: { look: tool('look', () => 'nothing yet. '.repeat(40)), spawn: createSpawnTool() },
        behavior: { schema: Report, maxTokens: 800, limits: { cost: 0.08 } },
      })
      const { output, stopReason, children } = await agent.run({ prompt: 'Review the project.' })
      expect([seed, output, stopReason]).toEqual([seed, { found: 'a bug' }, 'budget'])
      expect(children.length).toBeGreaterThan(0)
      expect(provider.bill.cost).toBeLessThanOrEqual(0.08)
    }
  })

  test('serves an answer even after a result that would fill the rest of the budget', async () => {
    const { output, provider } = await review({ tokens: 9000 }, 'word '.repeat(12_000), looking('1'), report)
    expect(output).toEqual({ found: 'a bug' })
    expect(provider.requests.map(({ toolChoice }) => toolChoice !== undefined)).toEqual([false, true])
    expect(JSON.stringify(provider.requests[1]!.messages).length).toBeLessThan(2000)
  })

  test('is at most half of a small budget: work comes before the answer', async () => {
    const { output, turns } = await review({ tokens: 2400 }, 'seen', looking('1'), 'I saw it.', report)
    expect([output, turns]).toEqual([{ found: 'a bug' }, 2])
  })

  test('is one of the turns, and the model is warned before the work is over, not after', async () => {
    const near: unknown[] = []
    const { output, turns, provider } = await review({ turns: 3 }, 'seen', looking('1'), looking('2'), report)
    expect([output, turns, provider.requests.length]).toEqual([{ found: 'a bug' }, 2, 3])
    const steps = [looking('1'), looking('2'), looking('3'), looking('4'), 'done', report]
    await review({ turns: 6 }, 'seen', ...steps, ({ spent }: { spent: number }) => near.push(spent))
    expect(near).toEqual([4])
  })

  test('is nothing without a schema or with reserve: 0, and then the run ends with what it has', async () => {
    const { output, stopReason, provider } = await review({ turns: 2, reserve: 0 }, 'seen', looking('1'), looking('2'))
    expect([output, stopReason, provider.requests.length]).toEqual([undefined, 'budget', 2])
  })

  test('must be a part of the limit', () => {
    const create = () => createAgent({ provider: scripted(), behavior: { limits: { cost: 1, reserve: 1 } } })
    expect(create).toThrow(/reserve\?: 0 to less than 1/)
  })
})

const looking = (id: string): Step => ({ calls: [call(id, 'look')], usage: { input: 100, output: 5 } })

type Heard = (state: { spent: number }) => unknown

async function review(limits: Limits, seen: string, ...given: (Step | Heard)[]) {
  const isHeard = (one: Step | Heard): one is Heard => typeof one === 'function' && one.length === 1
  const provider = scripted(...given.filter((one): one is Step => !isHeard(one)), { options: { costOf } })
  const hear = given.find(isHeard)
  const agent = createAgent({
    provider,
    tools: { look: tool('look', () => seen) },
    behavior: { schema: Report, maxTokens: 1000, limits },
    hooks: { 'limit:near': (state) => void hear?.(state) },
  })
  return { ...(await agent.run({ prompt: 'Review.' })), provider }
}
