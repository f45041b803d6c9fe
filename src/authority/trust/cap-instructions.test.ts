import { expect, test } from 'vitest'
import { capInstructions, type Instructions, mostInstructions } from './instructions.ts'

const file = (name: string, text: string, more: Partial<Instructions> = {}): Instructions => ({
  ...{ id: name, path: `/r/${name}`, name, text, stripped: 0 },
  ...more,
})

test('what fits stays as it is', () => {
  const all = [file('AGENTS.md', 'a'.repeat(mostInstructions - 1)), file('a/AGENTS.md', 'b')]
  expect(capInstructions(all)).toEqual(all)
})

test('the nearest stay whole, the farthest are cut and say so', () => {
  const all = [file('AGENTS.md', 'root'), file('a/AGENTS.md', 'middle'), file('a/b/AGENTS.md', 'near')]
  const [root, middle, near] = capInstructions(all, 8)
  expect(near).toEqual(all[2])
  expect(middle).toMatchObject({
    text: expect.stringMatching(/^midd\n\[2 bytes of this file are left out: .* 8 bytes\]$/),
  })
  expect(middle?.left).toBe(2)
  expect(root).toMatchObject({ text: expect.stringMatching(/^\[4 bytes of this file are left out/), left: 4 })
})

test('no project can push out what the user says', () => {
  const all = [file('AGENTS.md', 'mine', { isOwn: true }), file('AGENTS.md', 'x'.repeat(100))]
  const [own, theirs] = capInstructions(all, 10)
  expect(own).toEqual(all[0])
  expect(theirs?.text).toMatch(/^x{6}\n\[94 bytes/)
})

test('a cut never goes through a character', () => {
  for (const room of [0, 1, 2, 3, 4, 5, 6, 7]) {
    const [cut] = capInstructions([file('AGENTS.md', '€👩x')], room)
    const kept = cut?.text.replace(/\n?\[.*$/s, '') ?? ''
    expect('€👩x'.startsWith(kept)).toBe(true)
    expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(room)
    expect(cut?.left).toBe(8 - Buffer.byteLength(kept))
  }
})
