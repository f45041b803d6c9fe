import { mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createProcessContext } from '../execution/process.ts'
import { createAgent } from '../index.ts'
import { call, scripted } from '../testing/index.ts'
import { writeFile } from './write-file.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'libero-write-large-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const large = 64 * 1024 * 1024 + 1

test.each([
  [2 ** 31, 5],
  [large, large],
])('a file of %i bytes is overwritten with %i without being read as a whole', async (before, after) => {
  const path = join(folder, 'a.txt')
  writeFileSync(path, '')
  truncateSync(path, before)
  const provider = scripted([call('1', 'write_file', { path: 'a.txt', content: 'x'.repeat(after) })], 'done')
  const execution = createProcessContext({ cwd: folder })
  const agent = createAgent({ provider, tools: { writeFile }, execution })
  await agent.run({ prompt: 'go' })
  expect(agent.turns[2]?.content[0]).toMatchObject({ output: 'Updated a.txt (1 line)' })
  expect(statSync(path).size).toBe(after)
})
