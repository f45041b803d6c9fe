import { expect, test } from 'vitest'
import { temporary } from '../temporary.ts'
import { flood } from './flood.ts'

test('VE06 a reader that is stopped while 100 MB are streamed costs the run no memory, and is told what it lost', async () => {
  const reports = 10_000
  const { flooded, got } = await flood({ folder: await temporary('ve-'), reports, reader: 'stopped' })
  const { streamed, lost, entries, firstNumber, lastNumber } = got!
  const megabytes = Math.round(flooded.grownBytes / 2 ** 20)
  console.log(`stopped reader: ${reports} reports of 10 KB, ${lost} lost, the writer grew by ${megabytes} MB at most`)
  expect(lost).toBeGreaterThan(reports / 2)
  expect(streamed + lost).toBe(lastNumber - firstNumber + 1)
  expect(entries).toEqual(entries.map((_, i) => i + 1))
  expect(megabytes).toBeLessThan(32) // of which the run itself takes some
})
