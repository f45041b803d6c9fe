import { describe, expect, test } from 'vitest'
import { command, fileCall, judged, line, shown, strict, under } from '../../test/authority/call-kit.ts'
import type { SandboxSupport } from '../core/execution.ts'
import { decide } from './decide.ts'
import type { DecisionContext } from './decision-context.ts'
import { outsideRequest } from './floor.ts'
import type { AuthoritySettings } from './rules/settings.ts'

const write = fileCall('fs.write', 'src/a.ts')

describe('without a question a line runs in a sandbox, or its words settle what it reads', () => {
  const ls = line([command('ls')])
  const make = line([command('make', { table: 'none', effects: [{ effect: 'unknown' }] })])
  const none: SandboxSupport = { profiles: [], why: 'bubblewrap is missing' }
  const onlyWriting: SandboxSupport = { profiles: ['workspace-write'], by: 'docker' }

  test('T04 what only reads runs in `read-only`, in every mode but yolo', () => {
    for (const mode of ['plan', 'ask', 'allowlist'] as const)
      expect(decide(ls, under({ mode }))).toMatchObject({
        ...{ verdict: 'allow', confinement: { profile: 'read-only', reads: [], writes: [], hosts: [], home: 'empty' } },
      })
  })

  test('what a rule, a stage, auto or the allowlist allows is asked about where its sandbox is missing', () => {
    const allow = { allow: ['shell:make', 'shell:ls'] }
    const ways: [AuthoritySettings, Partial<DecisionContext>?][] = [
      [allow],
      [{ mode: 'allowlist', allowlist: allow.allow }],
      [{ tools: { shell: { mode: 'auto' } } }],
      [{}, { stage: { verdict: 'envelope' } }],
    ]
    for (const [settings, more] of ways) {
      expect(decide(make, under(settings, more))).toMatchObject({
        ...{ verdict: 'allow', confinement: { profile: 'workspace-write' } },
      })
      expect(decide(make, under(settings, { ...more, sandbox: none }))).toMatchObject({
        ...{ verdict: 'ask', by: 'sandbox', why: expect.stringContaining('no sandbox: bubblewrap is missing') },
      })
      expect(shown(strict(ls), under(settings, { ...more, sandbox: none }))).toMatch(/^allow /)
    }
  })

  test('a call that runs something without saying which line needs one too', () => {
    const run = judged('run', { effects: [{ effect: 'exec' }] })
    expect(shown(run, under({ allow: ['run'] }))).toBe('allow allow-rule')
    expect(shown(run, under({ allow: ['run'] }, { sandbox: none }))).toBe('ask sandbox')
    expect(shown(write, under({ allow: ['write_file'] }, { sandbox: none }))).toBe('allow allow-rule')
  })

  test('a container that can only write is one for what writes; what only reads is strict or asked about', () => {
    const context = under({ allow: ['shell:make'] }, { sandbox: onlyWriting })
    expect(decide(make, context)).toMatchObject({ verdict: 'allow', confinement: { profile: 'workspace-write' } })
    expect(decide(ls, context)).toMatchObject({
      verdict: 'ask',
      by: 'sandbox',
      why: 'it only reads inside the workspace, but the execution context has no sandbox read-only',
      confinement: { profile: 'workspace-write' },
    })
    expect(decide(strict(ls), context)).toMatchObject({
      ...{ verdict: 'allow', confinement: { profile: 'workspace-write' } },
    })
    expect(shown(ls, under({ mode: 'plan' }, { sandbox: onlyWriting }))).toBe('deny plan')
  })

  test('yolo runs it anyway', () => {
    expect(decide(make, under({ mode: 'yolo' }, { sandbox: none }))).toEqual({
      ...{ verdict: 'allow', by: 'mode-gate', why: 'the mode is yolo' },
    })
    expect(shown(make, under({ mode: 'yolo', allow: ['shell:make'] }, { sandbox: none }))).toBe('allow allow-rule')
  })

  test('what checks runs in `read-only`, but where a rule names it the workspace may be written', () => {
    const tsc = line([command('tsc --noEmit', { table: 'none', inside: 'checks', effects: [{ effect: 'unknown' }] })])
    expect(decide(tsc, under({})).confinement).toMatchObject({ profile: 'read-only' })
    expect(decide(tsc, under({ allow: ['shell:tsc --noEmit'] })).confinement).toMatchObject({
      profile: 'workspace-write',
    })
    const readOnly = under({ allow: ['shell:tsc --noEmit'] }, { sandbox: { profiles: ['read-only'] } })
    expect(shown(tsc, readOnly)).toBe('ask sandbox')
  })

  test('a grant counts for the place it was given for', () => {
    const asked: unknown[] = []
    const found = (within?: 'outside') => (wanted: unknown) => {
      asked.push(wanted)
      return { scope: 'session', grantedBy: 'ann', ...(within && { within }) }
    }
    const inside = decide(make, under({}, { grant: found() }))
    expect(inside).toMatchObject({ by: 'grant', confinement: { profile: 'workspace-write' } })
    expect(asked).toEqual([inside.confinement])
    expect(decide(make, under({}, { grant: found('outside') }))).toEqual({
      verdict: 'allow',
      by: 'grant',
      why: 'ann approved it before (session, outside any sandbox)',
      confinement: 'outside',
    })
    decide(make, under({}, { grant: found(), sandbox: none }))
    decide({ ...make, isOutside: true }, under({}, { grant: found('outside') }))
    expect(asked.slice(2)).toEqual(['outside', 'outside'])
  })
})

describe('a line that asks to run outside any sandbox', () => {
  const leaving = { ...line([command('ls')]), isOutside: true } as const

  test('is asked about in every mode but plan, whatever allows it inside', () => {
    for (const settings of [{}, { allow: ['shell:ls'] }, { mode: 'yolo' }] satisfies AuthoritySettings[])
      expect(decide(leaving, under(settings))).toEqual({
        verdict: 'ask',
        by: 'floor',
        rule: outsideRequest,
        why: 'it asks to run outside any sandbox; this is asked about in every mode',
        confinement: 'outside',
      })
    expect(shown(leaving, under({ mode: 'yolo' }, { floor: 'deny' }))).toBe('deny floor')
    expect(shown(leaving, under({ deny: ['shell:ls'] }))).toBe('deny deny-rule')
  })

  test('is like any other where there is no sandbox', () => {
    const none = { profiles: [] } as const
    expect(shown(leaving, under({ mode: 'yolo' }, { sandbox: none }))).toBe('allow mode-gate')
    expect(shown(strict(leaving), under({}, { sandbox: none }))).toBe('allow mode-gate')
  })
})

describe('what rules deny or ask about is hidden, so a line that reads the whole workspace needs no approval', () => {
  const settings = { deny: ['fs.read:.env'], ask: ['fs.read:notes/*'] }
  const deep = { effect: 'fs.read', target: '.', isDeep: true } as const
  const search = line([command('grep -r x .', { effects: [deep] })])

  test('in a sandbox', () => {
    expect(decide(search, under(settings))).toMatchObject({
      verdict: 'allow',
      confinement: { hidden: expect.arrayContaining(['/desk/project/.env', '/desk/project/notes/*']) },
    })
    expect(shown(search, under({ ...settings, mode: 'yolo' }))).toBe('allow mode-gate')
    expect(shown(search, under({ ...settings, mode: 'yolo' }, { sandbox: { profiles: [] } }))).toBe('ask floor')
  })

  test('S08 but not where git shows what the repository holds', () => {
    const git = (verb: string) => line([command(`git ${verb}`, { effects: [deep] })])
    expect(shown(git('show :.env'), under(settings))).toBe('ask floor')
    expect(shown(git('-C . show :.env'), under({ ...settings, mode: 'yolo' }))).toBe('ask floor')
    for (const verb of [
      'stash list -p',
      'reflog -p',
      'status -v',
      'worktree add /tmp/x',
      'x',
      'archive HEAD',
      'tag -l --format=%(raw)',
    ])
      expect(shown(git(verb), under({ ...settings, mode: 'yolo' })), verb).toBe('ask floor')
    const byPath = line([command('/usr/bin/git show :.env', { effects: [deep] })])
    expect(shown(byPath, under({ ...settings, mode: 'yolo' }))).toBe('ask floor')
    for (const verb of ['status', 'status -sb --porcelain=v2', 'stash list', 'reflog -5', 'worktree list', 'branch -v'])
      expect(shown(git(verb), under(settings)), verb).toBe('allow mode-gate')
    expect(shown(git('show HEAD'), under({}))).toBe('allow mode-gate')
  })
})

test('S08 in yolo a container hides nothing and protects nothing, so the words of a line count', () => {
  const sandbox: SandboxSupport = { profiles: ['workspace-write'], by: 'docker' }
  const settings = { mode: 'yolo', deny: ['fs.read:.env'] } as const
  const globs = line([command('cat .e*', { globs: [1], effects: [{ effect: 'fs.read', target: '.', isDeep: true }] })])
  const hook = line([
    command('tee .git/hooks/pre-commit', { effects: [{ effect: 'fs.write', target: '.git/hooks/pre-commit' }] }),
  ])
  expect(shown(globs, under(settings, { sandbox }))).toBe('ask floor')
  expect(shown(globs, under(settings))).toBe('allow mode-gate')
  expect(shown(hook, under({ mode: 'yolo' }, { sandbox }))).toBe('ask floor')
  expect(shown(line([command('ls')]), under({ mode: 'yolo' }, { sandbox }))).toBe('allow mode-gate')
})

test('in yolo a sandbox protects what is at the top of the workspace; a name in a subfolder is asked about', () => {
  const writes = (target: string) =>
    line([command('tee x', { table: 'refuses', effects: [{ effect: 'fs.write', target }] })])
  const yolo = under({ mode: 'yolo' })
  for (const target of ['sub/.envrc', './sub/.vscode/tasks.json', '/desk/project/a/b/.npmrc', 'sub/.git/hooks/x'])
    expect(shown(writes(target), yolo), target).toBe('ask floor')
  for (const target of ['.envrc', '.git/config', './.vscode/tasks.json', '/desk/project/.github/workflows/x', 'src/a'])
    expect(shown(writes(target), yolo), target).toBe('allow mode-gate')
  for (const target of ['.envrc', 'sub/.envrc'])
    expect(shown(writes(target), under({ mode: 'yolo' }, { sandbox: { profiles: [] } })), target).toBe('ask floor')
})
