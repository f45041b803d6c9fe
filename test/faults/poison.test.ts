import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Repair } from '../../src/core/provider.ts'
import type { SessionStore } from '../../src/core/store.ts'
import { type Agent, type Behavior, createAgent, loadSession, type ToolDef } from '../../src/index.ts'
import { tool } from '../../src/testing/index.ts'
import { sampleOf } from '../soak.ts'
import { type StrictServer, startStrict } from '../strict/strict-server.ts'
import { type Counterpart, counterparts } from './poisons/counterparts.ts'
import { poisons } from './poisons/index.ts'
import { half, type Poison, storeWith, text } from './poisons/kit.ts'

const small = poisons.filter(({ isBig }) => !isBig)

describe.each(sampleOf(counterparts, 2))('B1 $name', (to) => {
  let server: StrictServer
  beforeAll(async () => {
    server = await startStrict(to.dialect())
  })
  afterAll(() => server.close())

  async function open(store: SessionStore, behavior: Behavior = {}): Promise<{ agent: Agent; repairs: Repair[] }> {
    server.requests.splice(0)
    const repairs: Repair[] = []
    const agent = createAgent({
      provider: to.provider({ baseURL: server.url }),
      session: await loadSession(store, 's'),
      tools,
      behavior,
      hooks: { repair: (repair) => void repairs.push(repair) },
    })
    return { agent, repairs }
  }

  test.each(poisons)('goes on with a log that holds $name', async (poison) => {
    const store = await storeWith(poison.turns(to))
    const before = await store.read('s')
    const bytes = JSON.stringify(before)
    const { agent, repairs } = await open(store, { cache: false })

    expect((await agent.run({ prompt: 'Go on.' })).text).toBe('ok')
    await expectRepaired(poison, to, repairs, store)
    expect(JSON.stringify((await store.read('s')).slice(0, before.length))).toBe(bytes)
    if (poison.isBig) return
    const first = server.requests.at(-1)!
    const told = repairs.length

    expect((await agent.run({ prompt: 'And on.' })).text).toBe('ok')
    expect(server.requests.at(-1)!.text).toSatisfy(beginsLike(first.text))
    expect(repairs.slice(told)).toEqual([]) // what was told is not told again

    // Another process finds the same log, and makes the same of it.
    const again = await open(store, { cache: false })
    expect((await again.agent.run({ prompt: 'Further.' })).text).toBe('ok')
    expect(server.requests.at(-1)!.text).toSatisfy(beginsLike(first.text))

    // And so does one that caches, thinks and calls tools.
    server.script.push({ thinking: 'Hm.', calls: [{ id: 'call_1', name: 'look' }] }, { text: 'done' })
    const busy = await open(store)
    expect((await busy.agent.run({ prompt: 'Work.', thinking: 'low' })).text).toBe('done')
    expect((await busy.agent.run({ prompt: 'Go on.', thinking: 'high' })).text).toBe('ok')
    expect(JSON.stringify((await store.read('s')).slice(0, before.length))).toBe(bytes)
  })

  test.each(sampleOf(small, 6))('goes on with a compacted log that holds $name', async (poison) => {
    const turns = poison.turns(to)
    const compaction = { type: 'compaction', toSeq: Math.floor(turns.length / 2), summary: [text(half)] }
    const store = await storeWith(turns, [compaction])
    const before = JSON.stringify(await store.read('s'))
    const { agent, repairs } = await open(store)
    expect((await agent.run({ prompt: 'Go on.' })).text).toBe('ok')
    expect(repairs).toContainEqual(expect.objectContaining({ rule: 'malformed-text', message: 0, block: 0 }))
    expect((await agent.run({ prompt: 'And on.' })).text).toBe('ok')
    expect(JSON.stringify(await store.read('s'))).toSatisfy(beginsLike(before))
  })

  test.each(sampleOf(small, 6))('goes on when it leaves out old results of a log that holds $name', async (poison) => {
    const store = await storeWith(poison.turns(to))
    const tail: Behavior = { compactStrategy: 'tail', compactThreshold: 1, compactKeepTurns: 1 }
    const { agent } = await open(store, tail)
    agent.hooks.hook('hook:error', () => {}) // it may stand back, where a log holds what it cannot measure
    expect((await agent.run({ prompt: 'Go on.' })).text).toBe('ok')
    expect((await agent.run({ prompt: 'And on.' })).text).toBe('ok')
  })
})

/** A tool that no service takes under this name or with this schema. */
const odd: ToolDef = {
  ...tool('fs.read/αβγ', () => 'read'),
  spec: {
    name: 'fs.read/αβγ',
    description: 'Reads.',
    inputSchema: {
      anyOf: [
        { type: 'object', properties: { path: { type: 'string' } } },
        { type: 'object', properties: {} },
      ],
    },
  },
}
const tools = { look: tool('look', () => 'seen'), odd }

/** All but the end of a JSON text, which closes what goes on in the next one. */
const beginsLike = (text: string) => (next: string) => next.startsWith(text.replace(/[\]}]+$/, ''))

/** A repair is reported with its rule and position, and nothing is reported where no repair is needed. */
async function expectRepaired(poison: Poison, to: Counterpart, repairs: readonly Repair[], store: SessionStore) {
  const rule = typeof poison.rule === 'string' ? poison.rule : poison.rule[to.wire.name]
  const entries = await store.read('s')
  const told = repairs.find((repair) => repair.rule === rule)
  if (rule === undefined) expect(repairs).toEqual([])
  else if (rule === 'rejected-thinking') {
    expect(told).toMatchObject({ rule, message: 0 })
  } else {
    const turn = entries
      .flatMap((entry) => (entry.type === 'turn' ? [entry.turn] : []))
      .find(({ id }) => id === told?.repairedTurnId)
    expect(told).toMatchObject({ rule, message: expect.any(Number), repairedTurnId: expect.any(String) })
    const isWhole = rule === 'empty-message' || rule === 'assistant-twice' || rule === 'starts-with-assistant'
    if (!isWhole) expect(turn?.content[told?.block ?? -1]).toBeDefined()
  }
}
