import { beforeEach, expect, test, vi } from 'vitest'
import { type HookContexts, hookNames } from '../../core/hook-map.ts'
import { Hooks } from '../../core/hooks.ts'
import { followServers } from './follow-servers.ts'

let hooks: Hooks<HookContexts>
let heard: string[]
const at = (name: string) => ({ name, transport: 'stdio' })

beforeEach(() => {
  vi.useFakeTimers()
  hooks = new Hooks(hookNames, () => {})
  heard = []
  const configs = ['a', 'b'].map((name) => ({
    name,
    transport: 'stdio' as const,
    command: 'x',
    env: { KEY: 'secret-4711' },
  }))
  followServers(hooks, configs, {
    waiting: (text) => void heard.push(`wait ${text}`),
    failed: (text) => void heard.push(`fail ${text}`),
    said: (text) => void heard.push(`say ${text}`),
  })
  return () => vi.useRealTimers()
})

const starts = (name: string) => hooks.tell('mcp:bootstrap:start', at(name))
const ends = (name: string, error?: Error) =>
  hooks.tell('mcp:bootstrap:end', { ...at(name), durationMs: 1, ok: error === undefined, ...(error && { error }) })

test('servers that are there at once are not worth a word', () => {
  starts('a')
  starts('b')
  ends('a')
  ends('b')
  vi.advanceTimersByTime(5000)
  expect(heard).toEqual([])
})

test('one that is let go of on its way, because the run is over, is not called missing', () => {
  starts('a')
  vi.advanceTimersByTime(1000)
  ends('a', new Error('the agent is going away'))
  expect(heard).toEqual(['wait waiting for MCP server "a"…', 'wait undefined'])
})

test('who is waited for longer is named until nobody is', () => {
  starts('a')
  starts('b')
  vi.advanceTimersByTime(1000)
  ends('a')
  ends('b')
  expect(heard).toEqual([
    'wait waiting for MCP server "a" and 1 more…',
    'wait waiting for MCP server "b"…',
    'wait undefined',
  ])
})

test('a failure is told once, without secrets, and its return too', () => {
  starts('a')
  const error = new Error('The MCP server "a" was lost: it wrote secret-4711')
  hooks.tell('mcp:reconnect', { ...at('a'), attempt: 1, delayMs: 500, reason: 'x' })
  ends('a', error)
  hooks.tell('mcp:error', { ...at('a'), error })
  hooks.tell('mcp:reconnect', { ...at('a'), attempt: 2, delayMs: 1000, reason: 'x' })
  hooks.tell('mcp:connect', at('a'))
  expect(heard).toEqual([
    expect.stringMatching(/^fail MCP server "a" is not available: was lost: it wrote .*; going on without its tools$/),
    'say MCP server "a" is connected now',
  ])
  expect(heard.join()).not.toContain('4711')
})

test('one that needs a login says how, at its start and later', () => {
  starts('a')
  starts('b')
  hooks.tell('mcp:auth:required', { name: 'a' })
  ends('a', new Error('401'))
  ends('b')
  hooks.tell('mcp:auth:required', { name: 'b' })
  expect(heard).toEqual([
    'fail MCP server "a" needs a login: libero mcp login a',
    'fail MCP server "b" needs a login: libero mcp login b',
  ])
})

test('one that is lost and given up is told step by step, attempts are not', () => {
  starts('a')
  ends('a')
  for (const attempt of [1, 2, 3])
    hooks.tell('mcp:reconnect', { ...at('a'), attempt, delayMs: 1, reason: 'The MCP server "a" was lost: it ended' })
  hooks.tell('mcp:error', { ...at('a'), error: new Error('it ended\nagain') })
  expect(heard).toEqual([
    'say MCP server "a" was lost: it ended; connecting again',
    'fail MCP server "a" is not available: it ended again; going on without its tools',
  ])
})
