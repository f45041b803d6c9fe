import fc from 'fast-check'
import { expect, test } from 'vitest'
import { unifiedDiff } from '../tools/text/diff.ts'
import { diffBlocks } from './tool-call.ts'

test('AC04 the blocks of a diff turn the text before into the text after', async () => {
  const lines = fc.array(fc.constantFrom('a', 'b', '-- c', '++ d', '', '@@ -1 +1 @@', ' e'), { maxLength: 30 })
  const text = fc.tuple(lines, fc.boolean()).map(([list, ends]) => list.join('\n') + (ends ? '\n' : ''))
  await fc.assert(
    fc.asyncProperty(text, text, async (before, after) => {
      let now = before
      for (const { oldText, newText, line } of diffBlocks(await unifiedDiff('a', before, after)).toReversed()) {
        expect(now).toContain(oldText ?? '')
        // The first lines of a block may have changed nothing.
        const firstLine = line - 1 - sharedLines(oldText ?? '', newText)
        const at = now.split('\n').slice(0, firstLine).join('\n').length + (firstLine > 0 ? 1 : 0)
        expect(now.startsWith(oldText ?? '', at)).toBe(true)
        now = now.slice(0, at) + newText + now.slice(at + (oldText ?? '').length)
      }
      expect(now).toBe(after)
    }),
    { numRuns: 200 },
  )
})

const sharedLines = (one: string, other: string): number => {
  const [a, b] = [one.split('\n'), other.split('\n')]
  let count = 0
  while (count < a.length - 1 && count < b.length - 1 && a[count] === b[count]) count++
  return count
}

test('AC04 a new file has no text before, and a diff that was cut is shown as far as it goes', async () => {
  expect(diffBlocks(await unifiedDiff('a', '', 'x\n'))).toEqual([{ oldText: null, newText: 'x\n', line: 1 }])
  const long = Array.from({ length: 3000 }, (_, i) => `line ${i}\n`).join('')
  const [block] = diffBlocks(await unifiedDiff('a', '', long, { maxChars: 1000 }))
  expect(long.startsWith(block!.newText)).toBe(true)
})
