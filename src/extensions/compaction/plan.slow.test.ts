import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ShownTurn } from '../../core/shown-turns.ts'
import type { SessionContentBlock } from '../../core/turn.ts'
import { asBytes } from './limits.ts'
import { planCut } from './plan.ts'
import { sizeOfBlock } from './sizes.ts'

test('a cut parts no call from its results, leaves an open turn alone, and keeps no more than there is room for', () => {
  const kind = fc.constantFrom('said', 'answer', 'call')
  const options = { keepTurns: fc.nat(6), budget: fc.integer({ min: 2000, max: 20_000 }), isOpen: fc.boolean() }
  fc.assert(
    fc.property(
      fc.array(fc.tuple(kind, fc.nat(8000), fc.nat(8000)), { minLength: 1, maxLength: 30 }),
      fc.record(options),
      (steps, { keepTurns, budget, isOpen }) => {
        const turns = steps.flatMap(([what, size, more], i) => turnsOf(what, i, { size, more }))
        const open = isOpen ? turns.findLastIndex(({ role }) => role === 'assistant') : -1
        const openTurnId = turns[open]?.id
        const { cut, edits } = planCut({ turns, openTurnId, keepTurns, budget, hard: budget, weigh: asBytes })
        expect(turns[cut]!.blocks[0]!.type).not.toBe('tool_result')
        if (open >= 0) expect(cut).toBeLessThanOrEqual(open)
        if (open >= 0) return
        const edited = new Map(edits.map(({ turnId, block, replacement }) => [`${turnId} ${block}`, replacement]))
        const question = turns.findLast(({ role, blocks }) => role === 'user' && blocks[0]!.type !== 'tool_result')
        const kept = turns
          .slice(cut)
          .filter((turn) => turn !== question) // which stays whole
          .flatMap(({ id, blocks }) => blocks.map((block, i) => edited.get(`${id} ${i}`) ?? block!))
        expect(kept.reduce((sum, block) => sum + asBytes(sizeOfBlock(block)), 0)).toBeLessThanOrEqual(budget + 64)
      },
    ),
    { numRuns: 500 },
  )
})

test('less room never keeps more turns than were said to stay', () => {
  const sizes = { min: 1000, max: 20_000 }
  const kind = fc.constantFrom('said', 'answer', 'call')
  fc.assert(
    fc.property(
      fc.array(fc.tuple(kind, fc.nat(8000), fc.nat(8000)), { minLength: 1, maxLength: 12 }),
      fc.integer(sizes),
      fc.double({ min: 0.2, max: 1, noNaN: true }),
      (steps, budget, part) => {
        const turns = steps.flatMap(([what, size, more], i) => turnsOf(what, i, { size, more }))
        const options = { turns, keepTurns: 4, hard: budget, weigh: asBytes }
        const { cut } = planCut({ ...options, budget })
        const less = planCut({ ...options, budget: budget * part, atLeast: cut })
        expect(less.cut).toBeGreaterThanOrEqual(cut)
      },
    ),
  )
})

test('the thinking before calls that were just answered stays whole, or the service refuses them', () => {
  const thought: SessionContentBlock = { type: 'thinking', text: 't'.repeat(3000), signature: 'signed' }
  const asked: SessionContentBlock = { type: 'tool_call', id: 'c', name: 'look', input: {} }
  const result: SessionContentBlock = { type: 'tool_result', callId: 'c', output: 'r'.repeat(9000) }
  const turns: ShownTurn[] = [
    { id: 'q', role: 'user', seq: 1, blocks: [{ type: 'text', text: 'Go.' }] },
    { id: 'a', role: 'assistant', seq: 2, blocks: [thought, asked] },
    { id: 'a.results', role: 'user', seq: 3, blocks: [result] },
  ]
  for (const budget of [4000, 8000]) {
    const { edits } = planCut({ turns, keepTurns: 4, budget, hard: 12_000, weigh: asBytes })
    expect(edits.map(({ turnId }) => turnId)).toEqual(['a.results'])
  }
})

test('a pinned turn is not cut, and takes no room from the others', () => {
  const turns = Array.from({ length: 3 }, (_, i) => turnsOf('call', i, { size: 100, more: 3000 })).flat()
  const options = { turns, keepTurns: 4, budget: 4000, hard: 4000, weigh: asBytes }
  const results = turns.at(-1)!.id
  expect(planCut(options).edits.map(({ turnId }) => turnId)).toContain(results)
  const pinned = new Set(turns.filter(({ role }) => role === 'user').map(({ id }) => id))
  expect(planCut({ ...options, pinned })).toEqual({ cut: 0, edits: [] })
})

test('T06 what the user has just asked stays whole, however many parts it has and however little fits', () => {
  const part: SessionContentBlock = { type: 'text', text: 'p'.repeat(1900) }
  const picture: SessionContentBlock = { type: 'document', mediaType: 'text/plain', data: 'd'.repeat(40_000) }
  for (const blocks of [Array<SessionContentBlock>(20).fill(part), [part, part, picture]]) {
    const turns = ['p', 'q'].map((id, i): ShownTurn => ({ id, role: 'user', seq: i, blocks }))
    const options = { turns, keepTurns: 4, budget: 4000, hard: 12_000, weigh: asBytes }
    expect(planCut({ ...options, prompts: new Set(['p', 'q']) })).toEqual({ cut: 0, edits: [] })
  }
})

test('turns that fit stay as they are, as many as are wanted', () => {
  const turns = Array.from({ length: 10 }, (_, i) => turnsOf('call', i, { size: 100, more: 100 })).flat()
  const plan = planCut({ turns, keepTurns: 3, budget: 10_000, hard: 10_000, weigh: asBytes })
  expect(plan).toEqual({ cut: 14, edits: [] })
})

test('one giant result among those is cut rather than all of them given up', () => {
  const turns = Array.from({ length: 10 }, (_, i) =>
    turnsOf('call', i, { size: 100, more: i === 8 ? 50_000 : 100 }),
  ).flat()
  const { cut, edits } = planCut({ turns, keepTurns: 3, budget: 10_000, hard: 10_000, weigh: asBytes })
  expect(cut).toBe(14)
  expect(edits).toMatchObject([{ turnId: '8.results', block: 0, replacement: { type: 'tool_result', callId: '8' } }])
})

function turnsOf(what: string, i: number, { size, more }: { size: number; more: number }): ShownTurn[] {
  const turn = (id: string, role: ShownTurn['role'], ...blocks: SessionContentBlock[]): ShownTurn => ({
    id,
    role,
    seq: i,
    blocks,
  })
  const text: SessionContentBlock = { type: 'text', text: 't'.repeat(size) }
  if (what === 'said') return [turn(`${i}`, 'user', text)]
  if (what === 'answer') return [turn(`${i}`, 'assistant', text)]
  return [
    turn(`${i}`, 'assistant', text, { type: 'tool_call', id: `${i}`, name: 'look', input: {} }),
    turn(`${i}.results`, 'user', { type: 'tool_result', callId: `${i}`, output: 'r'.repeat(more) }),
  ]
}
