import { expect, test } from 'vitest'
import { fakeClock } from '../testing/index.ts'
import { DraftChanges } from './draft-changes.ts'

test('WB15 writes of one draft that come at once are made in their order, also after one that fails', async () => {
  const kept = new Map<string, string>()
  const writes: { readonly text: string; end(): void; fail(): void }[] = []
  const drafts = new DraftChanges(
    {
      load: async (id) => kept.get(id) ?? '',
      async save(id, text) {
        const { promise, resolve, reject } = Promise.withResolvers<void>()
        writes.push({ text, end: resolve, fail: () => reject(new Error('disk full')) })
        await promise
        kept.set(id, text)
      },
    },
    fakeClock(),
  )
  const told: string[] = []
  drafts.follow(({ text }) => told.push(text))
  const saved = ['A', 'Al', 'All'].map((text) => drafts.save('a', text))
  const other = drafts.save('b', 'B')
  await expect.poll(() => writes.map(({ text }) => text)).toEqual(['A', 'B'])
  writes[1]!.end()
  await other
  writes[0]!.fail()
  await expect(saved[0]).rejects.toThrow('disk full')
  await expect.poll(() => writes.length).toBe(3)
  writes[2]!.end()
  await expect.poll(() => writes.length).toBe(4)
  writes[3]!.end()
  const [, second, third] = await Promise.allSettled(saved)
  expect(third).toMatchObject({ value: expect.any(Number) })
  expect(await drafts.load('a')).toEqual({ text: 'All', version: (third as { value: number }).value })
  expect((second as { value: number }).value).toBeLessThan((third as { value: number }).value)
  expect(told).toEqual(['B', 'Al', 'All'])
})
