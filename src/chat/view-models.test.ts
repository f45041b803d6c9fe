import { isBuiltin } from 'node:module'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { loadedBy, readSources } from '../../test/import-graph.ts'
import * as chat from './index.ts'
import * as viewModels from './view-models.ts'

const sources = readSources(fileURLToPath(new URL('..', import.meta.url)))
const own = [...loadedBy('chat/view-models.ts', sources).files].filter((file) => file.startsWith('chat/'))

test.each(own)('%s loads nothing of Node, no package, and no engine, so that a browser can load it alone', (file) => {
  const { files, others } = loadedBy(file, sources)
  expect([...others].filter((one) => isBuiltin(one) || !one.startsWith('.'))).toEqual([])
  expect(
    [...files].filter(
      (one) => !/^(?:chat|core|view|plugins\/tokens)\/|^plugins\/(?:attachments|row-messages)\.ts$/.test(one),
    ),
  ).toEqual([])
  for (const one of files) expect(sources.get(one)).not.toMatch(/\bprocess\.|\bBuffer\b|\brequire\(/)
})

test('libero/chat exports all of them, the engine of a chat with its commands, the profiles, and the file of MCP logins', () => {
  const others = ['BUILD_AGENT', 'build', 'createFileMcpCredentialStore', 'PLAN_AGENT', 'plan']
  const engine = ['createChat', 'workInRun', 'workspaceFiles']
  const commands = ['chatCommands', 'completionsFor', 'loadCustomCommands', 'skillCommands', 'submitLine']
  const all = [...Object.keys(viewModels), ...others, ...engine, ...commands]
  expect(Object.keys(chat).sort()).toEqual(all.sort())
  expect([chat.build.name, chat.plan.name]).toEqual(['build', 'plan'])
})
