import { expect, test } from 'vitest'
import { createAuthority } from '../authority.ts'
import { ownFormOf, parseRule } from './rules.ts'

const position = { layer: 'launch', list: 'allow', index: 0 } as const

test.each([
  ['Bash(ls:*)', 'shell:ls'],
  ['Bash(git *)', 'shell:git'],
  ['Bash(git log:*)', 'shell:git log'],
  ['Bash(make:*)', 'shell:make *'],
  ['Bash(npm run build)', 'shell:npm run build'],
  ['Bash(*)', 'shell'],
  ['Bash()', 'shell'],
  ['run_shell_command(git)', 'shell:git'],
  ['Read(src/**)', 'fs.read:src/*'],
  ['Read(./.env)', 'fs.read:.env'],
  ['Read(/docs/*)', 'fs.read:docs/*'],
  ['Read(//etc/hosts)', 'fs.read:/etc/hosts'],
  ['Read(~/.zshrc)', 'fs.read:~/.zshrc'],
  ['Edit(**)', 'fs.write'],
  ['Edit(**/*.env)', 'fs.write:*.env'],
  ['Write(src/**)', 'fs.write:src/*'],
  ['WebFetch(domain:example.org)', 'net:example.org'],
  ['Task(reader)', 'spawn:reader'],
  ['Deploy(production)', 'Deploy:production'],
  ['mcp__github__search', 'mcp:github.search'],
  ['mcp__github__*', 'mcp:github.*'],
  ['mcp__github', 'mcp:github.*'],
])('T04 %s is refused with the form %s, which is a rule', (foreign, own) => {
  expect(ownFormOf(foreign)).toBe(own)
  expect(() => parseRule(foreign, position)).toThrow(`write "${own}"`)
  expect(parseRule(own, position).text).toBe(own)
})

test.each(['shell:echo (x)', 'shell:ls', 'write_file:src(1)', 'mcp:github.*', 'mcp_github_search', 'fs.read:a(b)'])(
  'T04 %s is no rule of another program',
  (rule) => {
    expect(ownFormOf(rule)).toBeUndefined()
    expect(parseRule(rule, position).text).toBe(rule)
  },
)

test('T04 they are refused in every list and every layer', () => {
  for (const list of ['allow', 'ask', 'deny'] as const) {
    expect(() => createAuthority({ [list]: ['Bash(rm:*)'] })).toThrow('write "shell:rm *"')
    expect(() => createAuthority({ layers: { project: { [list]: [{ rule: 'Read(.env)' }] } } })).toThrow(
      'write "fs.read:.env"',
    )
  }
})
