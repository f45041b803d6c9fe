import { expect, test } from 'vitest'
import { checkConfig } from '../config/check-config.ts'
import { isMatch } from './command-hooks.ts'

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
