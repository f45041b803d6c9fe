import { expect, test } from 'vitest'
import { parseSubAgent } from './sub-agent-file.ts'

const file = (fields: string): string => `---\nname: reviewer\ndescription: Reviews.\n${fields}\n---\nYou review.\n`

test.each([
  ['disallowedTools: Shell', ['Shell']],
  ['disallowedTools: Bash(rm a, rm b), mcp__github__*', ['Bash(rm a, rm b)', 'mcp__github__*']],
  ['disallowedTools: [Bash, "*"]', ['Bash', '*']],
  ['disallowedTools: Bash\nwithoutTools: Edit', ['Bash', 'Edit']],
  ['disallowedTools:', []],
  ['color: red\nmaxTurns: 5\npermissionMode: acceptEdits', []],
])('DR07 the restrictions of a sub-agent are read from "%s"', async (fields, expected) => {
  expect((await parseSubAgent(file(fields))).withoutTools).toEqual(expected)
})

test.each([
  [
    'disallowedTools: {Bash: true}',
    'its disallowedTools has a list or a map inside, which names no tool; write names with commas',
  ],
  ['disallowedTools: [[Bash]]', 'its disallowedTools has a list or a map inside'],
  ['disallowedTools: Bash Edit', 'its disallowedTools has "Bash Edit"'],
  ['disallowedTools: Bash|Edit', 'its disallowedTools has "Bash|Edit"'],
  ['disallowedTools: mcp__*', 'its disallowedTools has "mcp__*"'],
  ['disallowedTools: Bash(rm', 'its disallowedTools has "Bash(rm"'],
  ['disallowed-tools: Bash', 'we do not have its field "disallowed-tools"'],
  ['Tools: Read', 'we do not have its field "Tools"'],
  ['permissionMode: plan', 'we do not have its field "permissionMode"'],
  ['hooks: {}', 'we do not have its field "hooks"'],
])('DR07 a sub-agent is left out if its restriction cannot be read: "%s"', async (fields, problem) => {
  await expect(parseSubAgent(file(fields))).rejects.toThrow(problem)
})
