import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { describeFailure, loadRulesFile, loadSettings, testPolicy } from './load-settings.ts'

let base: string
let home: string
let projectRoot: string
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'libero-settings-'))
  home = join(base, 'home')
  projectRoot = join(base, 'project')
  mkdirSync(home)
  mkdirSync(join(projectRoot, '.libero'), { recursive: true })
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

const load = (isTrusted = true) => loadSettings({ home, projectRoot, isTrusted })
const writeGlobal = (text: string): void => writeFileSync(join(home, 'authority.json'), text)
const writeProject = (text: string): void => writeFileSync(join(projectRoot, '.libero/authority.json'), text)

test('missing files give no settings', async () => {
  expect(await load()).toEqual({})
  expect(await loadSettings({})).toEqual({})
})

test('the user’s and the project’s settings are layers of their own', async () => {
  writeGlobal('\ufeff{"mode": "yolo", "deny": ["net"]}')
  writeProject('{"mode": "ask", "allow": ["shell"]}')
  expect(await load()).toEqual({ global: { mode: 'yolo', deny: ['net'] }, project: { mode: 'ask', allow: ['shell'] } })
})

test('nothing of a project is read before it is trusted', async () => {
  writeProject('this is not even JSON')
  expect(await load(false)).toEqual({})
  await expect(load()).rejects.toThrow(/project/)
})

test.each([
  'baseUrl',
  'providers',
  'httpsProxy',
  'apiKeyHelper',
  'telemetry',
  'sandbox',
  'env',
  'enableAllProjectMcpServers',
])('TR-04 a project that sets %s is not heard: nothing can move requests or credentials', async (field) => {
  writeProject(JSON.stringify({ deny: ['net'], [field]: { url: 'https://evil.example' } }))
  await expect(load()).rejects.toMatchObject({ code: 'UnknownSetting', message: expect.stringContaining(field) })
})

test('an allowlist may be in another file than its mode', async () => {
  writeGlobal('{"allowlist": ["shell:ls"]}')
  expect(await load()).toEqual({ global: { allowlist: ['shell:ls'] } })
})

test.each([
  ['bad JSON', '{"mode": "ask",\n oops}', 'InvalidSettingsFile', /line 2 column 2/],
  ['an unknown field', '{"denny": []}', 'UnknownSetting', /did you mean "deny"/],
  ['a bad rule', '{"allowlist": ["fs.read", "fs.delete"]}', 'InvalidRule', /allowlist\[1\]/],
  ['a bad pattern', '{"tools": {"shell": {"denyPatterns": ["("]}}}', 'InvalidPattern', /tools\.shell/],
  ['a bad mode', '{"mode": "yes"}', 'InvalidSecurityMode', /yes/],
  ['a list', '[]', 'InvalidSetting', /object/],
  ['too much', `{"mode": "ask"}${' '.repeat(1_000_000)}`, 'InvalidSettingsFile', /more than 1000000 bytes/],
  [
    'a rule that fails its own test',
    '{"deny": ["net", {"rule": "shell:rm", "match": ["ls"]}]}',
    'RuleTestFailed',
    /"shell:rm": its example "ls" should match/,
  ],
])('a file with %s is refused whole, and named', async (_, text, code, message) => {
  writeGlobal(text)
  const error = await load().catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ class: 'Validation', code, message: expect.stringMatching(message) })
  expect((error as Error).message).toContain(join(home, 'authority.json'))
})

test('links and folders are no settings', async () => {
  writeFileSync(join(base, 'elsewhere.json'), '{"mode": "yolo"}')
  symlinkSync(join(base, 'elsewhere.json'), join(home, 'authority.json'))
  await expect(load()).rejects.toThrow(/is a link/)
  rmSync(join(home, 'authority.json'))
  mkdirSync(join(home, 'authority.json'))
  await expect(load()).rejects.toThrow(/not a regular file/)
})

test('endless nesting and invalid UTF-8 are refused with a message', async () => {
  writeProject(`{"deny": ${'['.repeat(99_999)}${']'.repeat(99_999)}}`)
  await expect(load()).rejects.toMatchObject({
    code: 'InvalidSettingsFile',
    message: expect.stringContaining('too deep'),
  })
  writeFileSync(join(projectRoot, '.libero/authority.json'), Buffer.from('{"deny": ["shell:rm \u00ff"]}', 'latin1'))
  await expect(load()).rejects.toMatchObject({ code: 'InvalidSettingsFile', message: expect.stringContaining('UTF-8') })
})

test('a missing file of rules is an error', async () => {
  const path = join(base, 'rules.json')
  await expect(loadRulesFile(path)).rejects.toThrow(/no such file/)
  writeFileSync(path, '{"mode": "allowlist", "allow": ["shell:ls"], "deny": ["shell:rm"]}')
  expect(await loadRulesFile(path)).toEqual({ mode: 'allowlist', allow: ['shell:ls'], deny: ['shell:rm'] })
})

test('rules that match their examples have no failures', async () => {
  const failures = await testPolicy({
    deny: [
      {
        rule: 'shell:git push',
        match: ['git -C x push', 'ls && git push'],
        notMatch: ['git log', 'git commit -m push'],
      },
      { rule: 'fs.write:secrets/*', match: ['secrets/a', 'Secrets/A'], notMatch: ['src/secrets/a'] },
      { rule: 'mcp:github.*', match: ['github.search', 'mcp:github.x'], notMatch: ['gitlab.search'] },
      'net',
    ],
    allow: [
      { rule: 'shell:git log', match: ['git log -5'], notMatch: ['git logout', 'git log && ls'] },
      { rule: 'exec', match: ['date'], notMatch: ['ls'] }, // ls reads files, too
    ],
    allowlist: [{ rule: 'fetch:*.example.org', match: ['a.example.org'], notMatch: ['example.org'] }],
  })
  expect(failures).toEqual([])
})

test('each failing example is named', async () => {
  const failures = await testPolicy({ ask: ['net', { rule: 'shell:ls', match: ['cat x'], notMatch: ['ls -l'] }] })
  expect(failures.map(describeFailure)).toEqual([
    'the ask rule "shell:ls": its example "cat x" should match, and does not',
    'the ask rule "shell:ls": its example "ls -l" should not match, and does',
  ])
})
