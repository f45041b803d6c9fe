import { expect, test } from 'vitest'
import { tool } from '../../testing/scripted.ts'
import { lacksTool } from './engine.ts'

test('a tool counts as missing only if that is certain', () => {
  const tools = [tool('paint', () => 'painted')]
  const servers = [{ name: 'files', transport: 'stdio' as const, command: 'serve' }]
  const lacks = (name: string, { mcpServers = [] as typeof servers, authority = {} } = {}): boolean =>
    lacksTool({ authority }, { mcpServers }, tools, name)
  expect(lacks('paint')).toBe(false)
  expect(lacks('dig')).toBe(true)
  expect(lacks('mcp_files_read')).toBe(true)
  expect(lacks('mcp_files_read', { mcpServers: servers })).toBe(false)
  expect(lacks('dig', { mcpServers: servers })).toBe(true)
  expect(lacks('tool_search')).toBe(false)
  expect(lacks('finish', { authority: { stateMachine: {} } })).toBe(false)
})
