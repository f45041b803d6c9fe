import { expect, test } from 'vitest'
import type { ExecutionContext } from '../../core/execution.ts'
import { createAgent } from '../../index.ts'
import { call, memoryExecution, scripted, tool } from '../../testing/index.ts'
import { checkConfig } from '../config/check-config.ts'
import { commandHooks, isMatch } from './command-hooks.ts'

test.each([
  ['', 'shell', true],
  ['shell', 'shell', true],
  ['Shell', 'shell', true],
  ['BASH', 'shell', true],
  ['Bash*', 'shell', true],
  ['Edit | write_file', 'multi_edit', true],
  ['Multi.*', 'multi_edit', true],
  ['mcp__.*', 'mcp_github_get', true],
  ['MCP_GitHub_*', 'mcp_github_get', true],
  ['shell', 'Shell', true],
  ['shell', 'shell_output', false],
  ['Edit|Write', 'shell', false],
])('DR08 the matcher "%s" is for the tool %s: %s', (matcher, name, expected) => {
  expect(isMatch(matcher, { name, displayName: name })).toBe(expected)
})

test.each(['^Bash$', '(Edit|Write)', 'Bash(rm:*)', 'Edit.+', '[Bb]ash', 'Bash, Edit'])(
  'DR08 a matcher that could only match nothing is refused when the settings are read: %s',
  (matcher) => {
    const hooks = { PreToolUse: [{ matcher, hooks: [{ type: 'command', command: 'true' }] }] }
    expect(() => checkConfig({ hooks }, 'config.json')).toThrow(
      'config.json: hooks.PreToolUse[0].matcher cannot be this; write tool names, such as "shell|edit"',
    )
  },
)

test('a hook does not run without a sandbox because that could not be tried, and what it guards does not happen', async () => {
  const ran: string[] = []
  const memory = memoryExecution({
    exec(command) {
      ran.push(command)
      return {}
    },
  })
  const untried = { profiles: [], why: 'the disk is full', isUntried: true } as const
  const execution: ExecutionContext = { ...memory, type: 'process', sandbox: async () => untried }
  const hooks = { user: { PreToolUse: [{ hooks: [{ type: 'command' as const, command: 'guard' }] }] } }
  const [cwd, home] = ['/project', '/home/me/.libero']
  const happened: string[] = []
  let request = ''
  const agent = createAgent({
    provider: scripted([call('1', 'mail')], (given) => {
      request = JSON.stringify(given)
      return 'Done.'
    }),
    tools: { mail: tool('mail', () => void happened.push('mail')) },
    execution,
    extensions: [commandHooks({ hooks, cwd, home, authority: {}, isTrusted: () => true, report: () => {} })],
  })
  await agent.run({ prompt: 'Go.' })
  await agent.destroy()
  expect({ ran, happened }).toEqual({ ran: [], happened: [] })
  expect(request).toContain('its sandbox cannot be used now: the disk is full')
})
