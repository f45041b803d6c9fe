import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { unavailable } from '../../../test/bubblewrap-kit.ts'
import { fakeIo, runLibero } from '../../../test/cli/fake-io.ts'
import { createGrantFile } from '../../authority/grants/grant-file.ts'
import { createGrants } from '../../authority/grants/grants.ts'
import { trustByDigest } from '../../authority/trust/enter-project.ts'
import { projectDigest } from '../../authority/trust/project-items.ts'
import { createTrustList } from '../../authority/trust/trust-list.ts'
import { systemClock } from '../../core/clock.ts'

const inSandbox = unavailable === undefined
let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'policy-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const libero = (...args: string[]) => liberoIn(folder, ...args)

async function liberoIn(cwd: string, ...args: string[]): Promise<{ code: number; out: string[]; err: string[] }> {
  const io = fakeIo({ cwd, home: join(folder, 'home') })
  const { code, out, err } = await runLibero(['policy', ...args], io)
  return { code, out: linesOf(out), err: linesOf(err) }
}

const linesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '')

async function rules(text: unknown): Promise<string> {
  const path = join(folder, 'rules.json')
  await writeFile(path, JSON.stringify(text))
  return path
}

describe('libero policy explain', () => {
  test('prints one line of JSON with six fields, and ends with 0 for every verdict', async () => {
    const path = await rules({ mode: 'allowlist', allow: ['shell:ls'], deny: ['shell:rm', 'net'] })
    const explained = async (line: string) => {
      const { code, out, err } = await libero('explain', '--json', '--rules', path, '--', line)
      expect([code, out.length, err]).toEqual([0, 1, []])
      return JSON.parse(out[0]!)
    }
    expect(await explained('ls -la')).toEqual({
      verdict: 'allow',
      by: 'allow-rule',
      rule: 'shell:ls',
      why: 'allowed by "shell:ls" (launch)',
      effects: ['exec', 'fs.read'],
      confinement: inSandbox ? expect.objectContaining({ profile: 'read-only', reads: [], home: 'empty' }) : null,
    })
    expect(await explained('ls; rm x')).toMatchObject({ verdict: 'deny', by: 'deny-rule', rule: 'shell:rm' })
    expect(await explained('wget x')).toMatchObject({ verdict: 'deny', rule: 'net' })
    const asked = await explained('ls $(touch x)')
    expect(asked).toMatchObject({ verdict: 'ask', rule: null })
    expect(asked.why).toContain('a command substitution')
  })

  test('uses the user’s own settings by default, and prints text', async () => {
    const { code, out } = await libero('explain', '--', 'ls', '-la')
    expect(code).toBe(0)
    expect(out).toEqual([
      'allow (mode-gate): it only reads inside the workspace',
      'effects: exec, fs.read',
      expect.stringMatching(
        inSandbox
          ? /^commands run: in the sandbox read-only: no network; home not visible$/
          : /^commands run: OUTSIDE any sandbox/,
      ),
    ])
  })

  test('T04 --sandbox off shows the decision where there is no sandbox', async () => {
    const { out } = await libero('explain', '--sandbox', 'off', '--', 'cat a | head')
    expect(out[0]).toBe(
      'ask (sandbox): it only reads inside the workspace, but there is no sandbox: it was switched off',
    )
    expect((await libero('explain', '--sandbox', 'off', '--mode', 'yolo', '--', 'cat a | head')).out).toEqual([
      'allow (mode-gate): the mode is yolo',
      'effects: exec, fs.read',
      'commands run: OUTSIDE any sandbox, with all your rights: it was switched off',
    ])
  })

  test('says that approvals which are kept for the project do not count in it', async () => {
    const project = await realpath(await mkdtemp(join(folder, 'kept-')))
    const grants = createGrants({ clock: systemClock, store: createGrantFile(join(folder, 'home/grants.json')) })
    const call = {
      tool: 'shell',
      key: 'touch',
      covers: 'every `touch` in this project',
      origin: { layer: 'host' } as const,
    }
    await mkdir(join(folder, 'home'), { recursive: true, mode: 0o700 })
    await grants.add({ ...call, scope: 'project', project, grantedBy: 'user' })
    const note = 'Kept approvals do not count here; this project has 1: libero grants'
    expect((await liberoIn(project, 'explain', '--', 'touch x')).err).toEqual([note])
    expect((await liberoIn(project, 'explain', '--', 'ls')).err).toEqual([])
    expect((await liberoIn(folder, 'explain', '--', 'touch x')).err).toEqual([])
  })

  test('TR-06 uses the rules of a project only as they were trusted, as a run does', async () => {
    const project = join(folder, 'project')
    const write = (deny: string[]) => writeFile(join(project, '.libero/config.json'), JSON.stringify({ deny }))
    await mkdir(join(project, '.libero'), { recursive: true })
    await write(['shell:git push'])
    const list = createTrustList({ folder: join(folder, 'home') })
    const verdict = async () => (await liberoIn(project, 'explain', '--', 'git push')).out[0]
    expect(await verdict()).toMatch(/^ask /)
    await trustByDigest(list, project, await projectDigest(project))
    expect(await verdict()).toMatch(/^deny .*\(project\)$/)
    await write(['shell:git push', 'net'])
    expect(await verdict()).toMatch(/^ask /)
  })

  test('reports an invalid file of rules, and invalid arguments', async () => {
    expect(await libero('explain', '--rules', join(folder, 'none.json'), '--', 'ls')).toMatchObject({
      code: 2,
      err: [expect.stringContaining('there is no such file'), 'See: libero policy explain --help'],
    })
    expect(await libero('explain', '--rules', await rules({ mode: 'wild' }), '--', 'ls')).toMatchObject({
      code: 2,
      err: [expect.stringContaining('is not used: the launch settings have the mode "wild"'), expect.anything()],
    })
    expect(await libero('explain')).toMatchObject({ code: 2, out: [] })
    expect(await libero('explain', '--colour', '--', 'ls')).toMatchObject({
      code: 2,
      err: [expect.stringContaining('--colour'), expect.anything()],
    })
    expect(await libero('explode')).toMatchObject({
      code: 2,
      err: [expect.stringContaining('explode'), expect.anything()],
    })
  })
})

describe('libero policy test', () => {
  test('tests rules against their own examples', async () => {
    const good = { rule: 'shell:git log', match: ['git log -5'], notMatch: ['git logout', 'git -c a=b log'] }
    expect(await libero('test', await rules({ allow: [good] }))).toMatchObject({
      code: 0,
      out: [expect.stringContaining('1 rules')],
    })
    const bad = { rule: 'shell:git log', match: ['git push'] }
    const { code, err } = await libero('test', await rules({ allow: [bad] }))
    expect(code).toBe(1)
    expect(err[0]).toContain('"git push" should match, and does not')
  })
})
