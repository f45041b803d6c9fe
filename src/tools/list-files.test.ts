import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ExecutionContext } from '../core/execution.ts'
import { createProcessContext } from '../execution/process.ts'
import { createAgent } from '../index.ts'
import { call, memoryExecution, scripted } from '../testing/index.ts'
import { listFiles } from './list-files.ts'

let folder: string
let execution: ExecutionContext
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'libero-list-'))
  execution = createProcessContext({ cwd: folder })
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test.each(['process', 'memory'])('a folder is listed by name, its folders with a slash (%s)', async (kind) => {
  mkdirSync(join(folder, 'src'))
  for (const name of ['src/a.ts', 'b.txt', '.hidden']) writeFileSync(join(folder, name), '')
  const memory = memoryExecution({ files: { 'src/a.ts': '', 'b.txt': '', '.hidden': '' } })
  const place = kind === 'process' ? execution : memory
  expect(await list({}, place)).toBe('.hidden\nb.txt\nsrc/')
  expect(await list({ path: '' }, place)).toBe('.hidden\nb.txt\nsrc/')
  expect(await list({ path: 'src' }, place)).toBe('a.ts')
  expect(await list({ path: 'b.txt' }, place)).toBe('Tool error: "b.txt" is a file, not a folder')
  expect(await list({ path: 'scr' }, place)).toBe('Tool error: there is no "scr"; did you mean "src"?')
})

test('a path that goes through a file is told from a file', async () => {
  writeFileSync(join(folder, 'b.txt'), '')
  expect(await list({ path: 'b.txt/c' })).toBe(
    'Tool error: "b.txt/c" cannot be: a part of that path is a file, not a folder',
  )
})

test('an empty folder says so', async () => {
  expect(await list({})).toBe('("." is an empty folder)')
})

test('FT-28 of very many names the first 1000 are shown, with how many there are', async () => {
  const files = Object.fromEntries(Array.from({ length: 1234 }, (_, i) => [`f${String(i).padStart(4, '0')}`, '']))
  const output = await list({}, memoryExecution({ files }))
  expect(output.split('\n').slice(998)).toEqual([
    'f0998',
    'f0999',
    '',
    '(the first 1000 of 1234 names; look for the others by pattern)',
  ])
})

test('UI-01 names with control characters are shown escaped, each on its line', async () => {
  writeFileSync(join(folder, 'a\x1b[2J\nb.txt'), '')
  expect(await list({})).toBe('a␛[2J\\nb.txt\n\n(control characters in names are shown escaped)')
})

async function list(input: Record<string, unknown>, place = execution): Promise<string> {
  const provider = scripted([call('1', 'list_files', input)], 'done')
  const agent = createAgent({ provider, tools: { listFiles }, execution: place })
  await agent.run({ prompt: 'go' })
  const block = agent.turns[2]?.content[0]
  return block?.type === 'tool_result' ? String(block.output) : ''
}
