import { afterAll, expect, test } from 'vitest'
import { effectCall, under } from '../../../test/authority/call-kit.ts'
import type { SandboxSupport } from '../../core/execution.ts'
import { createShellReader } from '../../shell/shell-reader.ts'
import { explain, explainLine } from './explain.ts'
import type { AuthoritySettings } from './settings.ts'

const reader = createShellReader()
afterAll(() => reader.close())
const location = { root: '/desk/project', home: '/home/me', isTrusted: true }
const explained = (line: string, launch: AuthoritySettings, sandbox?: SandboxSupport) =>
  explainLine(line, { layers: { launch }, location, ...(sandbox && { sandbox }) }, reader.read)

const base: AuthoritySettings = {
  mode: 'allowlist',
  allow: ['shell:ls', 'shell:cat', 'shell:echo', 'shell:git log'],
  deny: ['shell:curl', 'shell:rm'],
}

test('an explanation always has six fields', async () => {
  expect(await explained('ls -la', base)).toEqual({
    verdict: 'allow',
    by: 'allow-rule',
    rule: 'shell:ls',
    why: 'allowed by "shell:ls" (launch)',
    effects: expect.arrayContaining(['exec']),
    confinement: null,
  })
  const asked = await explained('make', base)
  expect(Object.keys(asked)).toEqual(['verdict', 'by', 'rule', 'why', 'effects', 'confinement'])
  expect(asked).toMatchObject({ verdict: 'ask', by: 'mode-gate', rule: null })
  expect(explain(effectCall('net', 'fs.read', 'net'), under({ deny: ['net'] }))).toEqual({
    ...{ verdict: 'deny', by: 'deny-rule', rule: 'net', why: 'denied by "net" (launch)', effects: ['fs.read', 'net'] },
    confinement: null,
  })
})

test('it names what the line could reach in the sandboxes that there are', async () => {
  const profile = async (line: string, profiles: SandboxSupport['profiles']) =>
    (await explained(line, { ...base, allow: [...base.allow!, 'shell:make'] }, { profiles })).confinement
  const both = ['read-only', 'workspace-write'] as const
  expect(await profile('ls $(pwd)', both)).toMatchObject({ profile: 'read-only', reads: [], hosts: [], home: 'empty' })
  expect(await profile('make', both)).toMatchObject({ profile: 'workspace-write', writes: [] })
  expect(await profile('cat /etc/hosts', both)).toMatchObject({ profile: 'read-only', reads: ['/etc/hosts'] })
  expect(await profile('ls', ['workspace-write'])).toMatchObject({ profile: 'workspace-write' })
  expect(await profile('make', ['read-only'])).toBe(null)
})

test.each([
  ['ls f.txt', 'allow allow-rule'],
  ['ls && cat f.txt', 'ask sandbox'],
  ['git log -5', 'ask sandbox'],
  ['git logout', 'ask mode-gate'],
  ['ls; curl x', 'deny deny-rule'],
  ['ls $(curl x)', 'deny deny-rule'],
  ['/usr/bin/curl x', 'deny deny-rule'],
  ['"cu"rl x', 'deny deny-rule'],
  ['env A=1 sudo curl x', 'deny deny-rule'],
  ['echo x > out.txt', 'ask mode-gate'],
  ['echo $(touch x)', 'ask mode-gate'],
  ['cat /home/me/.ssh/id_rsa', 'ask floor'],
  ['cat .ss*/id_rsa', 'ask floor'],
])('%s is judged as the shell would run it', async (line, expected) => {
  const { verdict, by } = await explained(line, base)
  expect(`${verdict} ${by}`).toBe(expected)
})

test('an effect rule applies to the effects of a line', async () => {
  expect(await explained('cat secrets/key', { mode: 'yolo', deny: ['fs.read:secrets/*'] })).toMatchObject({
    verdict: 'deny',
  })
  expect(await explained('cat secre*/key', { mode: 'yolo', deny: ['fs.read:secrets/*'] })).toMatchObject({
    verdict: 'deny',
  })
  expect(await explained('cat src/key', { mode: 'yolo', deny: ['fs.read:secrets/*'] })).toMatchObject({
    verdict: 'allow',
  })
  expect(await explained('rm -rf /', { mode: 'yolo' })).toMatchObject({ verdict: 'ask', by: 'floor' })
  expect(await explained('ls', { mode: 'plan' })).toMatchObject({ verdict: 'allow' })
  expect(await explained('touch x', { mode: 'plan' })).toMatchObject({ verdict: 'deny', by: 'plan' })
})
