import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { temporary } from '../temporary.ts'

test('R13 a session that has ended is released, also where nothing ever lets the event loop turn', async () => {
  const folder = await temporary('held-')
  const child = fileURLToPath(new URL('held-sessions-child.ts', import.meta.url))
  const options = ['--expose-gc', '--conditions=libero-source', child, join(folder, 'sqlite'), join(folder, 'jsonl')]
  const { stdout, stderr } = spawnSync(process.execPath, options, { encoding: 'utf8' })
  const measured = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(
    measured.map(({ name }) => name),
    stderr,
  ).toEqual(['sqlite', 'jsonl', 'memory'])
  // A whole session was 28,000 bytes; what is left is what stores and caches keep by design: with JSON Lines 7,400.
  for (const { name, held, hasTurned } of measured) {
    // A store on a disk lets the event loop turn while it waits for the disk.
    expect(hasTurned, name).toBe(name !== 'memory')
    expect(held, name).toBeLessThan(9_000)
  }
})
