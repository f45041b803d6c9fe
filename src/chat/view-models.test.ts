import { isBuiltin } from 'node:module'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { loadedBy, readSources } from '../../test/import-graph.ts'
import * as chat from './index.ts'
import * as viewModels from './view-models.ts'

const sources = readSources(fileURLToPath(new URL('..', import.meta.url)))
const own = [...sources.keys()].filter((file) => file.startsWith('chat/') && file !== 'chat/index.ts')

test.each(own)('%s loads nothing of Node, no package, and no engine, so that a browser can load it alone', (file) => {
  const { files, others } = loadedBy(file, sources)
  expect([...others].filter((one) => isBuiltin(one) || !one.startsWith('.'))).toEqual([])
  expect([...files].filter((one) => !/^(?:chat|core|plugins\/tokens)\//.test(one))).toEqual([])
  for (const one of files) expect(sources.get(one)).not.toMatch(/\bprocess\.|\bBuffer\b|\brequire\(/)
})

test('libero/chat exports all of them, the profiles, and the file of MCP logins', () => {
  expect(Object.keys(chat).sort()).toEqual(
    [...Object.keys(viewModels), 'BUILD_AGENT', 'build', 'createFileMcpCredentialStore', 'PLAN_AGENT', 'plan'].sort(),
  )
  expect([chat.build.name, chat.plan.name]).toEqual(['build', 'plan'])
})
