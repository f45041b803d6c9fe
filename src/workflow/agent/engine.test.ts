import { expect, test } from 'vitest'
import { tool } from '../../testing/scripted.ts'
import { type Engine, LazyEngine, lacksTool } from './engine.ts'

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

test('an engine that could not be made after it was released does not replace the next one', async () => {
  const made: PromiseWithResolvers<Engine>[] = []
  const engine = new LazyEngine(() => {
    const making = Promise.withResolvers<Engine>()
    made.push(making)
    return making.promise
  })
  const first = engine.load()
  const releasing = engine.release()
  const second = engine.load()
  made[0]!.reject(new Error('no such server'))
  await expect(first).rejects.toThrow('no such server')
  await releasing
  expect(engine.load()).toBe(second)
  made[1]!.reject(new Error('nor this one'))
  await expect(second).rejects.toThrow('nor this one')
  void engine.load()
  expect(made).toHaveLength(3)
})
