import { expect, test } from 'vitest'
import type { HookContexts } from '../core/hook-map.ts'
import { tool } from '../testing/index.ts'
import { allows, isNamed } from './allowed-tools.ts'

const run = { host: { handle: { id: 'h', type: 'process', cwd: '/repo' } } }
const shell = tool('shell', () => '', { commandLine: ({ command }) => ({ command }) })
const readFile = tool('read_file', () => '', { touches: ({ path }) => [{ path, access: 'read' }] })
const fetchPage = tool('web_fetch', () => '', { reaches: ({ host }) => [host] })

function gate(of: typeof shell, input: Record<string, unknown> = {}): HookContexts['tool:gate'] {
  const { name } = of.spec
  const fixed = { turnId: 't', callId: 'c', name, displayName: name, input, tool: of, runToolCounts: {} }
  return { ...fixed, effects: [], rejected: undefined, block: false, reason: '' }
}

test.each([
  ['Bash(git:*)', 'git', true],
  ['Bash(git:*)', 'git status', true],
  ['Bash(git *)', 'git status -s', true],
  ['Bash(git:*)', 'gitk', false],
  ['Bash(git:*)', 'git status; rm x', false],
  ['Bash(git:*)', 'git status && rm x', false],
  ['Bash(git:*)', 'git log | sh', false],
  ['Bash(git:*)', 'git log > x', false],
  ['Bash(git:*)', 'git log $(rm x)', false],
  ['Bash(git:*)', 'git log `rm x`', false],
  ['Bash(git:*)', 'git log\nrm x', false],
  ['Bash(git:*)', 'git log & rm x', false],
  ['Bash(git:*)', 'git log <(rm x)', false],
  ['Bash(git:*)', 'git log $x', false],
  ['Bash(git:*)', 'X=1 git log', false],
  ['Bash(git log:*)', 'git push', false],
  ['Bash(npm test)', 'npm test', true],
  ['Bash(npm test)', ' npm test ', true],
  ['Bash(npm test)', 'npm test -- x', false],
  ['Bash(*)', 'rm x; rm y', true],
  ['Bash()', 'rm x', false],
  ['Bash(:*)', 'rm x', false],
  ['shell(ls:*)', 'ls src', true],
  ['Read', 'ls', false],
  ['Bash(', 'ls', false],
  ['Bash (git:*)', 'git status', true],
  ['Bash (git:*)', 'ls', false],
])('%s and the line %j: %s', (entry, command, expected) => {
  expect(allows(entry, gate(shell, { command }), run)).toBe(expected)
})

test.each([
  ['Read(src/**)', 'src/a/b.ts', true],
  ['Read(src/**)', './src/b.ts', true],
  ['Read(src/**)', '/repo/src/b.ts', true],
  ['Read(src/**)', 'src/../secret', false],
  ['Read(src/**)', '/etc/src/x', false],
  ['Read(**)', '../x', false],
  ['Read(*.md)', 'docs/x.md', true],
  ['Read(*.md)', 'docs/x.ts', false],
  ['read_file(src/*)', 'src/x', true],
])('%s and the file %s: %s', (entry, path, expected) => {
  expect(allows(entry, gate(readFile, { path }), run)).toBe(expected)
})

test.each([
  ['WebFetch(domain:docs.test)', 'docs.test', true],
  ['WebFetch(domain:docs.test)', 'evil.test', false],
  ['WebFetch(domain:docs.test)', 'x.docs.test', false],
])('%s and the host %s: %s', (entry, host, expected) => {
  expect(allows(entry, gate(fetchPage, { host }), run)).toBe(expected)
})

test.each([
  ['Bash', 'shell'],
  ['bash', 'shell'],
  ['Read', 'read_file'],
  ['Write', 'write_file'],
  ['Edit', 'edit'],
  ['Edit', 'multi_edit'],
  ['Grep', 'grep'],
  ['Glob', 'glob'],
  ['LS', 'list_files'],
  ['WebFetch', 'web_fetch'],
  ['Task', 'spawn'],
])('%s means %s, and not a tool that asks people', (entry, name) => {
  const named = (one: string) => gate(tool(one, () => ''))
  expect([allows(entry, named(name), run), allows(entry, named('ask_user'), run)]).toEqual([true, false])
})

test.each([
  ['mcp__github__get_issue', true],
  ['mcp_github_get_issue', true],
  ['mcp__github', true],
  ['mcp__github__*', true],
  ['mcp__github__get', false],
  ['mcp__git', false],
  ['mcp__other__*', false],
])('a tool of a server by %s: %s', (entry, expected) => {
  const issue = tool('mcp_github_get_issue', () => '', { mcp: { server: 'github', tool: 'get_issue' } })
  expect(allows(entry, gate(issue), run)).toBe(expected)
})

test('a tool that cannot say what its call is about is not covered by a pattern', () => {
  const broken = tool('shell', () => '', {
    commandLine: () => {
      throw new Error('no')
    },
  })
  expect(allows('Bash(git:*)', gate(broken), run)).toBe(false)
  expect(allows('Bash', gate(broken), run)).toBe(true)
  expect(allows('Bash(git:*)', gate(tool('shell', () => '')), run)).toBe(false)
})

test.each(['Shell', 'BASH', 'shell(ls)', 'mcp__gitHub', 'MCP__github__Get', 'mcp__GITHUB__*'])(
  'a tool is named in upper or lower case: %s',
  (entry) => {
    const get = tool('mcp_github_get', () => '')
    const named = {
      name: 'mcp_github_get',
      displayName: 'get',
      tool: { ...get, mcp: { server: 'GitHub', tool: 'get' } },
    }
    expect([isNamed(entry, gate(shell)), isNamed(entry, named)]).toEqual(
      /^mcp/i.test(entry) ? [false, true] : [true, false],
    )
  },
)
