import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { createAgent } from '../create-agent.ts'
import { call, memoryExecution, scripted, texts, tool } from '../testing/index.ts'
import { readFile } from '../tools/read-file.ts'
import { DEFAULT_PERSIST_EXCLUDE_TOOLS } from './persist-excludes.ts'

test('the results of listed tools stay in the conversation, those of others go to a file', async () => {
  const execution = memoryExecution({ files: { 'a.txt': 'x'.repeat(5000) } })
  const agent = createAgent({
    provider: scripted([call('1', 'read_file', { path: 'a.txt' }), call('2', 'other')], 'done'),
    tools: { readFile, other: tool('other', () => 'y'.repeat(5000)) },
    execution,
    behavior: { persistThreshold: 100, persistDir: '/out', persistExcludeTools: DEFAULT_PERSIST_EXCLUDE_TOOLS },
  })
  await agent.run({ prompt: 'go' })
  const said = texts(agent.turns).join('\n')
  expect(said).toContain('x'.repeat(5000))
  expect(said).toContain('<persisted-output tool="other"')
  await agent.destroy()
})

test('every name on the list is that of a tool', () => {
  const folder = fileURLToPath(new URL('..', import.meta.url))
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /^(?:tools|skills|extensions|plugins)\b.*(?<!\.test)\.ts$/.test(file),
  )
  const sources = files.map((file) => readFileSync(`${folder}/${file}`, 'utf8')).join('\n')
  const unknown = DEFAULT_PERSIST_EXCLUDE_TOOLS.filter(
    (name) => !new RegExp(`(?:name|Name)\\b[:= ]+'${name}'`).test(sources),
  )
  expect(unknown).toEqual([])
})
