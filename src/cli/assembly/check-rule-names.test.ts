import { describe, expect, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { isRecord } from '../../core/is-record.ts'
import { builtInPlugins } from '../../plugins/built-in-plugins.ts'
import * as tools from '../../tools/index.ts'
import { UsageError } from '../cli-error.ts'
import { builtInTools, checkRuleNames } from './check-rule-names.ts'

const check = (rules: { allow?: string[]; deny?: string[] }, more = {}) =>
  checkRuleNames({ flags: rules, settings: [], hasToolFiles: false, ...more })

describe('T04 a rule of a flag', () => {
  test.each([
    ['nonsense', 'there is no tool and no effect "nonsense"; a rule names a tool (write_file)'],
    ['shel:npm test', 'did you mean "shell"?'],
    ['Bash', 'did you mean "shell"?'],
    ['Read', 'did you mean "read_file"?'],
    ['WebFetch:example.org', 'did you mean "web_fetch"?'],
    ['fs.wirte:src/*', 'did you mean "fs.write"?'],
  ])('that names no tool and no effect is refused: %s', (rule, words) => {
    expect(() => check({ allow: ['shell:ls', rule] })).toThrow(UsageError)
    expect(() => check({ deny: [rule] })).toThrow(words)
  })

  test('that names one passes: effects, tools of presets and plugins, tools of servers', () => {
    const rules = ['shell:rm *', 'net', 'fs.write:src/*', 'mcp:git.*', 'mcp_github_search', 'web-fetch', 'skills_use']
    expect(check({ allow: rules, deny: rules })).toEqual([])
  })

  test('passes where tools in files may have that name', () => {
    expect(check({ allow: ['deploy'] }, { hasToolFiles: true })).toEqual([])
  })
})

test('T04 rules in settings that match nothing are told, each once', () => {
  const settings = [
    { deny: ['shel', { rule: 'nonsense:x' }], tools: { shell: {}, bahs: {} } },
    undefined,
    { ask: ['shel'], allow: ['shell:ls'] },
  ]
  expect(check({}, { settings }).map((notice) => notice.split(':')[0])).toEqual([
    'The rule "shel" matches nothing',
    'The rule "nonsense',
    'The rule "bahs" matches nothing',
  ])
})

test('T04 the list of built-in tools is complete', () => {
  const services = { agentId: 'a', clock: systemClock, childOf: () => ({}), wikis: {}, schedules: {} }
  const ofPlugins = builtInPlugins.flatMap(
    (plugin) => plugin.tools?.({ config: {}, entry: { id: '1', toolId: plugin.toolId }, services } as never) ?? [],
  )
  const own = Object.values(tools).filter((one) => isRecord(one) && isRecord(one.spec))
  const names = [...own, ...ofPlugins].map((one) => (one as { spec: { name: string } }).spec.name)
  // Those of extensions are made when these are.
  const ofExtensions = ['tool_search', 'skills_use', 'skills_read', 'skills_run_script']
  expect([...names, ...ofExtensions].sort()).toEqual([...builtInTools].sort())
})
