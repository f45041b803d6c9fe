import { PassThrough, Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { readStdin } from './read-task.ts'

test('returns piped text, and undefined if it is blank', async () => {
  expect(await readStdin({ stdin: Readable.from(['a ', 'diff\n']) })).toBe('a diff\n')
  expect(await readStdin({ stdin: Readable.from([' \n']) })).toBeUndefined()
})

test('a character split over two chunks is read whole', async () => {
  const bytes = Buffer.from('ä€')
  expect(
    await readStdin({ stdin: Readable.from([bytes.subarray(0, 1), bytes.subarray(1, 4), bytes.subarray(4)]) }),
  ).toBe('ä€')
})

test('a silent pipe counts as empty after the timeout', async () => {
  expect(await readStdin({ stdin: new PassThrough() }, 5)).toBeUndefined()
})

test('after the first byte it reads to the end', async () => {
  const stdin = new PassThrough()
  stdin.write('one ')
  setTimeout(() => stdin.end('two'), 30)
  expect(await readStdin({ stdin }, 5)).toBe('one two')
})

test('an endless pipe is refused', async () => {
  const endless = Readable.from(
    (function* () {
      for (;;) yield Buffer.alloc(1024 * 1024, 'y')
    })(),
  )
  await expect(readStdin({ stdin: endless })).rejects.toThrow('more than 16 MiB')
})
