import { PassThrough, Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { readStdin } from './read-task.ts'

test('gives what was piped in, and nothing where that is blank', async () => {
  expect(await readStdin({ stdin: Readable.from(['a ', 'diff\n']) })).toBe('a diff\n')
  expect(await readStdin({ stdin: Readable.from([' \n']) })).toBeUndefined()
})

test('a character that is split over two chunks stays one', async () => {
  const bytes = Buffer.from('ä€')
  expect(
    await readStdin({ stdin: Readable.from([bytes.subarray(0, 1), bytes.subarray(1, 4), bytes.subarray(4)]) }),
  ).toBe('ä€')
})

test('a pipe that nobody writes to is waited for only so long', async () => {
  expect(await readStdin({ stdin: new PassThrough() }, 5)).toBeUndefined()
})

test('once something has come it is waited for to the end', async () => {
  const stdin = new PassThrough()
  stdin.write('one ')
  setTimeout(() => stdin.end('two'), 30)
  expect(await readStdin({ stdin }, 5)).toBe('one two')
})

test('what never ends is refused', async () => {
  const endless = Readable.from(
    (function* () {
      for (;;) yield Buffer.alloc(1024 * 1024, 'y')
    })(),
  )
  await expect(readStdin({ stdin: endless })).rejects.toThrow('more than 16 MiB')
})
