import { describe, expect } from 'vitest'
import {
  createAgent,
  createMemoryStore,
  createSession,
  createSpawnTool,
  flattenTurns,
  loadSession,
} from '../../src/index.ts'
import { call, fakeClock, tool } from '../../src/testing/index.ts'
import type { AgentStats, ModelRequest, SessionContentBlock } from '../../src/types.ts'
import { rounds, testInTurns } from '../soak.ts'
import { type Bill, dyingStore, greedy, seeded } from './limits-kit.ts'

const test = testInTurns(2)

const work = tool('work', () => 'word '.repeat(40), { isConcurrencySafe: true, replay: 'pure' })

/** A root that hands out eight tasks, and children that work for some turns. */
function script(
  random: () => number,
  newCall: () => string,
): (request: ModelRequest) => readonly SessionContentBlock[] {
  return ({ messages }) => {
    const [first] = messages
    const isRoot = first?.content.some((block) => block.type === 'text' && block.text === 'go')
    const turns = messages.filter(({ role }) => role === 'assistant').length
    if (isRoot && turns === 0)
      return Array.from({ length: 8 }, (_, i) => call(newCall(), 'spawn', { task: `task ${i}` }))
    if (!isRoot && turns < 6 && random() < 0.7) return [{ type: 'text', text: 'on it' }, call(newCall(), 'work')]
    return [{ type: 'text', text: 'done' }]
  }
}

function agentOf(
  seed: number,
  options: {
    trouble: number
    limits: object
    /** Of each child. */
    own?: object
    session?: Awaited<ReturnType<typeof createSession>>
    isDead?: () => boolean
  },
) {
  const random = seeded(seed)
  const { trouble, limits, own, session, isDead } = options
  let calls = 0
  const provider = greedy({
    random,
    trouble,
    say: script(random, () => `c${seed}-${++calls}`),
    ...(isDead && { isDead }),
  })
  const ended: AgentStats[] = []
  const agent = createAgent({
    provider,
    ...(session && { session }),
    clock: fakeClock(1),
    tools: {
      work,
      spawn: createSpawnTool({ maxConcurrent: 8, ...(own && { preset: { behavior: { limits: own } } }) }),
    },
    behavior: { maxTokens: 2000, maxConcurrentTools: 8, limits },
    hooks: { 'agent:done': (stats) => void ended.push(stats) },
  })
  return { agent, provider, ended }
}

function limitsFor(random: () => number): { cost?: number; tokens?: number } {
  const cost = 0.02 + random() * 1.2
  const tokens = 4000 + Math.floor(random() * 90_000)
  const kind = random()
  if (kind < 0.4) return { cost }
  return kind < 0.7 ? { tokens } : { cost, tokens }
}

function expectWithin(
  bill: Bill,
  { cost = Infinity, tokens = Infinity }: { cost?: number; tokens?: number },
  seed: number,
): void {
  if (bill.cost <= cost + 1e-12 && bill.tokens <= tokens) return
  expect.fail(`seed ${seed}: billed ${bill.cost} of ${cost} dollars, ${bill.tokens} of ${tokens} tokens`)
}

const sum = (stats: AgentStats): number => flattenTurns(stats).reduce((total, { cost = 0 }) => total + cost, 0)

const tokensOf = (stats: AgentStats): number =>
  flattenTurns(stats).reduce((total, { input, output, cacheCreation = 0 }) => total + input + output + cacheCreation, 0)

describe('limits over a tree', () => {
  test('B3 eight children on a service that bills the worst case never cost more than the limit, in any order of events', {
    timeout: 60_000,
  }, async () => {
    const trees = rounds(50, 700)
    let stopped = 0
    for (let seed = 1; seed <= trees; seed++) {
      const limits = limitsFor(seeded(seed + 10_000))
      const own = seed % 3 === 0 ? { tokens: 3000 + (seed % 7) * 1000 } : undefined
      const { agent, provider, ended } = agentOf(seed, { trouble: 0, limits, ...(own && { own }) })
      const stats = await agent.run({ prompt: 'go' })
      expectWithin(provider.bill, limits, seed)
      expect(Math.abs(sum(stats) - (stats.cost ?? 0))).toBeLessThan(1e-6)
      expect(Math.abs(provider.bill.cost - (stats.cost ?? 0))).toBeLessThan(1e-6)
      expect(ended.length).toBe(1)
      for (const child of own ? stats.children : []) expect(tokensOf(child)).toBeLessThanOrEqual(own!.tokens)
      if (stats.stopReason === 'budget') stopped++
    }
    expect(stopped).toBeGreaterThan(trees / 7)
    expect(stopped).toBeLessThan((trees * 6) / 7)
  })

  test('B3 nor do attempts that fail, break off or are made again', { timeout: 60_000 }, async () => {
    for (let seed = 1001; seed <= rounds(1020, 1300); seed++) {
      const limits = limitsFor(seeded(seed + 10_000))
      const { agent, provider, ended } = agentOf(seed, { trouble: 0.25, limits })
      await agent.run({ prompt: 'go' }).catch(() => {})
      expectWithin(provider.bill, limits, seed)
      const [stats] = ended
      expect(Math.abs(sum(stats!) - (stats!.cost ?? 0))).toBeLessThan(1e-6)
      expect(stats!.cost ?? 0).toBeGreaterThan(provider.bill.cost - 1e-6)
    }
  })

  test('B3 a run that continues after crashes continues the same meter', { timeout: 60_000 }, async () => {
    let resumed = 0
    for (let seed = 2001; seed <= rounds(2030, 2200); seed++) {
      const random = seeded(seed + 10_000)
      const limits = limitsFor(random)
      const store = createMemoryStore()
      const total: Bill = { cost: 0, tokens: 0, requests: 0 }
      for (let life = 0; life < 3; life++) {
        let isDead = false
        const died = Promise.withResolvers<void>()
        const deadly = dyingStore(store, life === 2 ? Infinity : 2 + Math.floor(random() * 60), () => {
          isDead = true
          died.resolve()
        })
        const session =
          life === 0
            ? await createSession({ store: deadly, id: 's' })
            : await loadSession(deadly, 's', { takeOver: true }).catch(() =>
                createSession({ store: deadly, id: 's', takeOver: true }),
              )
        const { agent, provider } = agentOf(seed * 10 + life, { trouble: 0.1, limits, session, isDead: () => isDead })
        const run = agent.run(session.turns.length === 0 ? { prompt: 'go' } : {}).catch(() => {})
        await Promise.race([run, died.promise])
        total.cost += provider.bill.cost
        total.tokens += provider.bill.tokens
        total.requests += provider.bill.requests
        if (life > 0 && provider.bill.requests > 0) resumed++
        if (!isDead) break
      }
      expectWithin(total, limits, seed)
    }
    expect(resumed).toBeGreaterThan(rounds(5, 50))
  })
})
