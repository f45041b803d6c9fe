import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { echo, freeProvider } from '../../bench/floor.ts'
import { createAgent } from '../../src/index.ts'

/** The compiler's own work shows in the counts now and then; anything that grows with the size shows tenfold. */
const tolerance = 1.2

/** Laws that do not depend on the machine: executed blocks of the engine, not milliseconds. */
describe('what a unit of work costs', () => {
  let work: Record<
    'delta' | 'heardDelta' | 'call' | 'turn' | 'viewDelta' | 'opening' | 'turnInSession',
    [number, number]
  >

  beforeAll(async () => {
    const child = fileURLToPath(new URL('child.ts', import.meta.url))
    const { stdout } = await promisify(execFile)(process.execPath, [child])
    work = JSON.parse(stdout)
  })

  test('a text delta costs the same at 2,000 and at 20,000 deltas', () => {
    expect(work.delta[0]).toBeGreaterThan(0)
    expect(work.delta[1]).toBeLessThan(work.delta[0] * tolerance)
  })

  test('a delta with a listener costs the same at 2,000 and at 20,000 deltas', () => {
    expect(work.heardDelta[0]).toBeGreaterThan(work.delta[0])
    expect(work.heardDelta[1]).toBeLessThan(work.heardDelta[0] * tolerance)
  })

  test('a call costs the same at 5 and at 50 calls in a turn', () => {
    expect(work.call[0]).toBeGreaterThan(0)
    expect(work.call[1]).toBeLessThan(work.call[0] * tolerance)
  })

  test('a turn costs the same at number 50 and at number 799 of a run', () => {
    expect(work.turn[0]).toBeGreaterThan(0)
    expect(work.turn[1]).toBeLessThan(work.turn[0] * tolerance)
  })

  test('SV17 a delta in the view of a session costs the same after 10 and after 10,000 turns', () => {
    expect(work.viewDelta[0]).toBeGreaterThan(1000)
    expect(work.viewDelta[1]).toBeLessThan(work.viewDelta[0] * tolerance)
  })

  test('ST08 R11 opening a compacted session costs no more with 20,000 turns than with 200', () => {
    expect(work.opening[0]).toBeGreaterThan(0)
    expect(work.opening[1]).toBeLessThan(work.opening[0] * tolerance)
  })

  test('ST08 R11 one more turn costs no more after 20,000 turns than after 200', () => {
    expect(work.turnInSession[0]).toBeGreaterThan(0)
    expect(work.turnInSession[1]).toBeLessThan(work.turnInSession[0] * tolerance)
  })

  test('a request carries the list of the session itself as long as no handler edits it', async () => {
    const lists: unknown[] = []
    const provider = freeProvider({ turns: 5, deltas: 1, calls: 1 })
    const agent = createAgent({
      provider: {
        ...provider,
        stream(request, signal) {
          lists.push(request.messages)
          return provider.stream(request, signal)
        },
      },
      tools: { echo },
    })
    await agent.run({ prompt: 'go' })
    expect(lists.length).toBe(5)
    expect(new Set(lists).size).toBe(1)
    expect(lists[0]).toBe(agent.log.transcript.turns)
  })
})
