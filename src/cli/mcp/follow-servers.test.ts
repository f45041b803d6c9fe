import { beforeEach, expect, test, vi } from 'vitest'
import { type HookContexts, hookNames } from '../../core/hook-map.ts'
import { Hooks } from '../../core/hooks.ts'
import { AgentClosedError } from '../../mcp/agent-closed-error.ts'
import { followServers } from './open-servers.ts'

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
    notice: (text) => void heard.push(`say ${text}`),
  })
  return () => vi.useRealTimers()
})

const starts = (name: string) => hooks.tell('mcp:bootstrap:start', at(name))
const ends = (name: string, error?: Error) =>
  hooks.tell('mcp:bootstrap:end', { ...at(name), durationMs: 1, ok: error === undefined, ...(error && { error }) })

test('servers that connect quickly are not reported', () => {
  starts('a')
  starts('b')
  ends('a')
  ends('b')
  vi.advanceTimersByTime(5000)
  expect(heard).toEqual([])
})

test('a server whose connection is given up because the run ended is not reported as missing', () => {
  starts('a')
  vi.advanceTimersByTime(1000)
  ends('a', new AgentClosedError())
  expect(heard).toEqual(['wait waiting for MCP server "a"…', 'wait undefined'])
})

test('a server that takes longer is named until the wait is over', () => {
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

test('a failure is reported once, without secrets, and so is the reconnection', () => {
  starts('a')
  const error = new Error('The MCP server "a" was lost: it wrote secret-4711')
  hooks.tell('mcp:reconnect', { ...at('a'), attempt: 1, delayMs: 500, reason: 'x' })
  ends('a', error)
  hooks.tell('mcp:error', { ...at('a'), error })
  hooks.tell('mcp:reconnect', { ...at('a'), attempt: 2, delayMs: 1000, reason: 'x' })
  hooks.tell('mcp:connect', at('a'))
  expect(heard).toEqual([
    expect.stringMatching(
      /^fail MCP server "a" is not available: was lost: it wrote .*; continuing without its tools$/,
    ),
    'say MCP server "a" is connected now',
  ])
  expect(heard.join()).not.toContain('4711')
})

test('a server that needs a login is reported with the command, at the start and later', () => {
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

test('a lost server is reported when it is lost and when it is given up, but not at each attempt', () => {
  starts('a')
  ends('a')
  for (const attempt of [1, 2, 3])
    hooks.tell('mcp:reconnect', { ...at('a'), attempt, delayMs: 1, reason: 'The MCP server "a" was lost: it ended' })
  hooks.tell('mcp:error', { ...at('a'), error: new Error('it ended\nagain') })
  expect(heard).toEqual([
    'say MCP server "a" was lost: it ended; connecting again',
    'fail MCP server "a" is not available: it ended again; continuing without its tools',
  ])
})
