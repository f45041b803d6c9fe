import { describe, expect, test, vi } from 'vitest'
import {
  bothProfiles,
  command,
  effectCall,
  fileCall,
  judged,
  line,
  shown,
  strict,
  under,
  underLayers,
} from '../../test/authority/call-kit.ts'
import { decide } from './decide.ts'
import type { DecisionContext } from './decision-context.ts'
import type { JudgedCall } from './judged-call.ts'
import type { AuthoritySettings } from './rules/settings.ts'

const grant = () => ({ scope: 'session', grantedBy: 'user' })
const write = fileCall('fs.write', 'src/a.ts')
const everything: AuthoritySettings = { allow: ['write_file'], ask: ['write_file'], deny: ['write_file'] }

describe('F001 the order of decisions; each row removes what decided the row above', () => {
  const protectedWrite = fileCall('fs.write', '.git/config')
  const all = {
    stage: { verdict: 'deny', code: 'NotInStage', why: 'no' },
    grant,
    patterns: { deny: 'd', allow: 'a' },
  } as const
  const { deny: _, ...later } = all.patterns
  const loose: AuthoritySettings = { allow: ['write_file'], tools: { write_file: { mode: 'confirm' } } }
  test.each<[string, JudgedCall, DecisionContext, string]>([
    [
      'ungated before a deny rule',
      { ...protectedWrite, gated: false },
      under({ ...everything, mode: 'plan' }, all),
      'allow ungated',
    ],
    ['a deny rule before plan', protectedWrite, under({ ...everything, mode: 'plan' }, all), 'deny deny-rule'],
    [
      'a deny pattern before plan',
      protectedWrite,
      under({ ...everything, deny: [], mode: 'plan' }, all),
      'deny deny-rule',
    ],
    [
      'plan before the state machine',
      protectedWrite,
      under({ ...everything, deny: [], mode: 'plan' }, { ...all, patterns: later }),
      'deny plan',
    ],
    [
      'the state machine’s no before an ask rule',
      protectedWrite,
      under({ ...everything, deny: [] }, { ...all, patterns: later }),
      'deny sm-grant-token',
    ],
    [
      'an ask rule before the state machine’s yes',
      write,
      under({ ask: ['fs.write'] }, { stage: { verdict: 'envelope' } }),
      'ask ask-rule',
    ],
    [
      'the state machine’s yes before a grant',
      write,
      under({}, { grant, stage: { verdict: 'token' } }),
      'allow sm-grant-token',
    ],
    ['an ask rule before an allow rule', write, under({ allow: ['write_file'], ask: ['fs.write'] }), 'ask ask-rule'],
    [
      'a grant answers an ask rule',
      write,
      under({ allow: ['write_file'], ask: ['fs.write'] }, { grant }),
      'allow grant',
    ],
    ['a grant before an allow rule', write, under(loose, { grant }), 'allow grant'],
    ['an allow rule before the tool’s mode', write, under(loose), 'allow allow-rule'],
    [
      'an allow pattern before the tool’s mode',
      write,
      under({ ...loose, allow: [] }, { patterns: later }),
      'allow allow-rule',
    ],
    ['the tool’s confirm before yolo', write, under({ ...loose, allow: [], mode: 'yolo' }), 'ask ask-rule'],
    ['the tool’s auto before ask', write, under({ tools: { write_file: { mode: 'auto' } } }), 'allow allow-rule'],
    ['the mode last', write, under({}), 'ask mode-gate'],
    ['the floor under an allow rule', protectedWrite, under({ allow: ['write_file'] }), 'ask floor'],
    ['the floor under the state machine', protectedWrite, under({}, { stage: { verdict: 'envelope' } }), 'ask floor'],
    ['the floor under a grant', protectedWrite, under({}, { grant }), 'ask floor'],
    ['the floor under auto', protectedWrite, under({ tools: { write_file: { mode: 'auto' } } }), 'ask floor'],
    ['the floor under yolo', protectedWrite, under({ mode: 'yolo' }), 'ask floor'],
    ['the floor does not lift a denial', protectedWrite, under({ mode: 'yolo', deny: ['fs.write'] }), 'deny deny-rule'],
    [
      'where no person can be asked the floor denies',
      protectedWrite,
      under({ mode: 'yolo' }, { floor: 'deny' }),
      'deny floor',
    ],
  ])('%s', (_, call, context, expected) => {
    expect(shown(call, context)).toBe(expected)
  })
})

describe('D018 deny, then allow, then the mode of the tool; deny wins in auto', () => {
  const tool = (mode: 'auto' | 'confirm', patterns?: DecisionContext['patterns']) =>
    shown(write, under({ tools: { write_file: { mode } } }, { patterns }))
  test.each([
    ['auto', { deny: 'x' }, 'deny deny-rule'],
    ['auto', { deny: 'x', allow: 'y' }, 'deny deny-rule'],
    ['auto', { allow: 'y' }, 'allow allow-rule'],
    ['auto', {}, 'allow allow-rule'],
    ['confirm', { deny: 'x', allow: 'y' }, 'deny deny-rule'],
    ['confirm', { allow: 'y' }, 'allow allow-rule'],
    ['confirm', {}, 'ask ask-rule'],
  ] as const)('%s with %o', (mode, patterns, expected) => {
    expect(tool(mode, patterns)).toBe(expected)
  })

  test('a pattern does not allow further commands after the one it matches', () => {
    const context = under({}, { patterns: { allow: 'git status' } })
    const [status, evil] = [command('git status', { table: 'none' }), command('evil', { table: 'none' })]
    expect(shown(line([status]), context)).toBe('allow allow-rule')
    expect(shown(line([status, evil]), context)).toBe('ask mode-gate')
    expect(shown(line([status], { obstacles: ['a substitution'] }), context)).toBe('ask mode-gate')
  })
})

test('B017 in allowlist a match is silent and a miss asks', () => {
  const context = under({ mode: 'allowlist', allowlist: ['fetch:*.example.org'] })
  const fetch = (key: string): JudgedCall => judged('fetch', { key, effects: [{ effect: 'net', target: key }] })
  expect(decide(fetch('api.example.org'), context)).toMatchObject({
    verdict: 'allow',
    by: 'mode-gate',
    rule: 'fetch:*.example.org',
  })
  expect(decide(fetch('example.com'), context)).toMatchObject({ verdict: 'ask', by: 'mode-gate' })
  // Elsewhere the list does not count.
  const asking = underLayers({ global: { mode: 'allowlist', allowlist: ['fetch'] }, launch: { mode: 'ask' } })
  expect(shown(fetch('api.example.org'), asking)).toBe('ask mode-gate')
})

test('B019 in yolo nothing is asked and grants are not searched', () => {
  const grant = vi.fn()
  for (const call of [
    write,
    effectCall('exec'),
    effectCall('unknown', 'net'),
    line([command('make', { table: 'none' })]),
  ])
    expect(shown(call, under({ mode: 'yolo' }, { grant }))).toBe('allow mode-gate')
  expect(grant).not.toHaveBeenCalled()
  expect(shown(write, under({ mode: 'yolo', ask: ['fs.write'] }, { grant }))).toBe('ask ask-rule')
  expect(grant).toHaveBeenCalledOnce()
})

test('B026 a tool that the stage allows runs in any mode without an approval', () => {
  const grant = vi.fn()
  for (const mode of ['ask', 'allowlist', 'yolo'] as const)
    expect(shown(write, under({ mode }, { grant, stage: { verdict: 'envelope' } }))).toBe('allow sm-envelope')
  expect(grant).not.toHaveBeenCalled()
})

test('B028 a call that the stage denies is denied in yolo, with its code', () => {
  const stage = { verdict: 'deny', code: 'GrantTokenAlreadyConsumed', why: 'used before' } as const
  expect(decide(write, under({ mode: 'yolo', allow: ['write_file'] }, { stage }))).toEqual({
    verdict: 'deny',
    by: 'sm-grant-token',
    why: 'used before',
    code: 'GrantTokenAlreadyConsumed',
  })
  expect(shown(write, under({ mode: 'yolo' }, { stage: { verdict: 'defer' } }))).toBe('ask sm-grant-token')
})

describe('plan is read-only, by effects and not by names', () => {
  const ls = command('ls')
  test.each<[string, JudgedCall, string]>([
    ['a write', write, 'deny plan'],
    ['an unknown effect', effectCall('unknown'), 'deny plan'],
    ['a server', effectCall('fs.read', 'mcp:x.y'), 'deny plan'],
    ['something that runs', effectCall('exec'), 'deny plan'],
    ['a line that only reads', line([ls]), 'allow mode-gate'],
    ['a line that changes something', line([ls, command('rm x', { table: 'none' })]), 'deny plan'],
    ['a line that reads by a substitution', line([ls], { obstacles: ['a substitution'] }), 'allow mode-gate'],
    ['a line that was not read whole', line([ls], { isWhole: false }), 'deny plan'],
    ['a line that reads in a loop', line([command('ls', { isNested: true })]), 'allow mode-gate'],
    ['a line that writes in a loop', line([command('rm x', { table: 'none', isNested: true })]), 'deny plan'],
    ['a line that runs code to check it', line([command('tsc', { table: 'none', inside: 'checks' })]), 'deny plan'],
    ['a line that asks to leave the sandbox', { ...line([ls]), isOutside: true }, 'deny plan'],
    [
      'a line that reads elsewhere',
      line([command('ls', { effects: [{ effect: 'fs.read', target: '/etc', isOutside: true }] })]),
      'ask mode-gate',
    ],
    ['the network', effectCall('net'), 'ask mode-gate'],
    ['a child', effectCall('spawn'), 'ask mode-gate'],
    ['a file of the workspace', fileCall('fs.read', 'a'), 'allow mode-gate'],
    ['a file elsewhere', fileCall('fs.read', '/etc/passwd'), 'ask mode-gate'],
    ['no effect', judged('think'), 'allow mode-gate'],
  ])('%s', (_, call, expected) => {
    expect(shown(call, under({ mode: 'plan' }))).toBe(expected)
    // What it denies nothing can widen.
    const wide = under({ mode: 'plan', allow: ['tool', 'write_file', 'shell', 'exec', 'unknown', 'mcp:*'] }, { grant })
    if (expected.startsWith('deny')) expect(shown(call, wide)).toBe(expected)
  })

  test('without a sandbox only a strict line runs, and every other is refused', () => {
    const without = under({ mode: 'plan' }, { sandbox: { profiles: [], why: 'bubblewrap is missing' } })
    expect(decide(line([ls]), without)).toMatchObject({
      ...{ verdict: 'deny', by: 'plan', why: expect.stringContaining('there is no sandbox: bubblewrap is missing') },
    })
    expect(decide(strict(line([ls])), without)).toEqual({
      ...{ verdict: 'allow', by: 'mode-gate', why: 'it only reads inside the workspace' },
    })
    const elsewhere = command('ls', { effects: [{ effect: 'fs.read', target: '/etc', isOutside: true }] })
    expect(shown(strict(line([elsewhere])), without)).toBe('ask mode-gate')
  })

  test('where the sandbox could not be tried, no mode runs a command without a question', () => {
    const sandbox = { profiles: [], why: 'no space left on device', isUntried: true } as const
    const make = line([command('make', { table: 'none' })])
    for (const [call, mode] of [
      [make, 'yolo'],
      [make, 'ask'],
      [effectCall('unknown'), 'yolo'],
    ] as const) {
      const decision = decide(call, under({ mode, allow: ['shell:make', 'unknown'] }, { sandbox }))
      expect(decision).toMatchObject({ verdict: 'ask', by: 'sandbox', why: expect.stringContaining('no space left') })
      expect(decision.why).toContain('the sandbox cannot be used now')
    }
    expect(shown(make, under({ mode: 'yolo' }, { sandbox: { profiles: [] } }))).toBe('allow mode-gate')
    const yolo = under({ mode: 'yolo' }, { sandbox })
    expect(shown(make, { ...yolo, floor: 'deny' })).toBe('deny sandbox')
    const outside = () => ({ scope: 'session', grantedBy: 'user', within: 'outside' }) as const
    expect(shown(make, { ...yolo, grant: outside })).toBe('allow grant')
    expect(shown(strict(line([ls])), yolo)).toBe('allow mode-gate')
    expect(shown(fileCall('fs.write', 'src/a.ts'), yolo)).toBe('allow mode-gate')
  })

  test('a project that chooses plan exempts no line from an approval', () => {
    for (const sandbox of [bothProfiles, { profiles: [] }])
      for (const call of [line([ls]), strict(line([ls])), line([command('make', { table: 'none' })])]) {
        const [ask, plan] = [under({}, { sandbox }), underLayers({ project: { mode: 'plan' } }, { sandbox })]
        if (decide(call, plan).verdict === 'allow') expect(decide(call, plan)).toEqual(decide(call, ask))
      }
  })
})

describe('the mode asks about what changes something or leaves the workspace', () => {
  test.each<[string, JudgedCall, string]>([
    ['a read inside', fileCall('fs.read', 'a'), 'allow mode-gate'],
    ['a read outside', fileCall('fs.read', '/etc/hosts'), 'ask mode-gate'],
    [
      'a read that says nothing of where',
      judged('tool', { effects: [{ effect: 'fs.read', isOutside: true }] }),
      'ask mode-gate',
    ],
    ['a read and more', effectCall('fs.read', 'net'), 'ask mode-gate'],
    ['a question to a person', effectCall('ask'), 'allow mode-gate'],
    ['a line that only reads', line([command('ls')]), 'allow mode-gate'],
    ['a line that checks', line([command('tsc', { table: 'none', inside: 'checks' })]), 'allow mode-gate'],
    ['a line that does more', line([command('ls'), command('make', { table: 'none' })]), 'ask mode-gate'],
    [
      'a line that reads outside',
      line([command('ls', { effects: [{ effect: 'fs.read', target: '/etc', isOutside: true }] })]),
      'ask mode-gate',
    ],
    [
      'a line that reads what only the shell knows',
      line([command('ls', { effects: [{ effect: 'fs.read', isOutside: true }] })]),
      'allow mode-gate',
    ],
    ['a line of a tool of the project', { ...line([command('ls')]), origin: { layer: 'project' } }, 'ask mode-gate'],
    [
      'a line of a tool that does more',
      { ...line([command('ls')]), effects: [{ effect: 'exec' }, { effect: 'unknown' }] },
      'ask mode-gate',
    ],
    [
      'a line that needs no permission',
      line([command('cd src', { table: 'neutral' }), command('pwd', { table: 'neutral' })]),
      'allow mode-gate',
    ],
    ['an empty line', line([]), 'ask mode-gate'],
    ['credentials inside', fileCall('fs.read', '.ssh/id'), 'ask floor'],
    ['no effect', judged('think'), 'allow mode-gate'],
  ])('%s', (_, call, expected) => {
    for (const mode of ['ask', 'allowlist'] as const) expect(shown(call, under({ mode }))).toBe(expected)
  })

  test('reads too, if they should be', () => {
    expect(shown(fileCall('fs.read', 'a'), under({ workspaceReads: 'ask' }))).toBe('ask mode-gate')
    expect(shown(fileCall('fs.read', 'a'), under({ workspaceReads: 'ask', mode: 'yolo' }))).toBe('allow mode-gate')
    expect(shown(line([command('ls')]), under({ workspaceReads: 'ask' }))).toBe('ask mode-gate')
  })
})

describe('the floor', () => {
  const yolo = under({ mode: 'yolo' })
  test('FS-10 a protected path needs an approval in every mode, through any tool', () => {
    const redirect = command('echo x', {
      effects: [{ effect: 'fs.write', target: '/home/me/.bashrc', isOutside: true }],
    })
    expect(decide(line([redirect]), { ...yolo, sandbox: { profiles: [] } })).toMatchObject({
      verdict: 'ask',
      by: 'floor',
      why: expect.stringContaining('.bashrc'),
    })
    expect(shown(fileCall('fs.write', '.GIT/Hooks/pre-commit'), yolo)).toBe('ask floor')
    expect(shown(fileCall('fs.read', '/home/me/.aws/credentials'), yolo)).toBe('ask floor')
    expect(shown(fileCall('fs.read', '.git/config'), yolo)).toBe('allow mode-gate')
    expect(shown(fileCall('fs.write', '.git/config'), { ...yolo, protect: () => undefined })).toBe('allow mode-gate')
  })

  test('irreparable damage needs an approval', () => {
    const remove = line([command('rm -rf /')], { catastrophe: 'removes everything' })
    for (const context of [yolo, { ...yolo, sandbox: { profiles: [] } }])
      expect(decide(remove, context)).toMatchObject({
        ...{ verdict: 'ask', by: 'floor', why: expect.stringContaining('removes everything') },
      })
  })

  test('in yolo a sandbox protects what a line names, except the workspace', () => {
    const erase = line([command('mkfs x')], { catastrophe: 'erases a disk', isHarmlessInside: true })
    const redirect = line([command('echo x', { effects: [{ effect: 'fs.write', target: '.git/config' }] })])
    for (const call of [erase, redirect]) {
      expect(decide(call, yolo)).toMatchObject({
        ...{
          verdict: 'allow',
          confinement: { profile: 'workspace-write', hosts: 'any', home: 'readable', writes: [] },
        },
      })
      expect(shown(call, { ...yolo, sandbox: { profiles: ['read-only'] } })).toBe('ask floor')
      expect(shown({ ...call, isOutside: true }, yolo)).toBe('ask floor')
      expect(shown(call, under({ mode: 'ask', allow: ['shell', 'fs.write'] }))).toBe('ask floor')
    }
  })

  test('SH-49 a line that could not be parsed needs an approval if a rule denies something', () => {
    const cut = line([], { isWhole: false, words: ['ls'] })
    expect(shown(cut, yolo)).toBe('allow mode-gate')
    expect(shown(cut, under({ mode: 'yolo', deny: ['shell:curl'] }))).toBe('ask floor')
    expect(shown(cut, under({ mode: 'yolo', deny: ['net'] }))).toBe('ask floor')
    expect(shown(cut, under({ mode: 'yolo', deny: ['read_file'] }))).toBe('allow mode-gate')
    expect(shown(cut, under({ mode: 'ask', deny: ['shell:curl'] }, { grant }))).toBe('allow grant')
    expect(shown(cut, under({ mode: 'yolo', deny: ['shell:curl'] }, { grant }))).toBe('allow grant')
  })
})

describe('PI-02 a changed definition needs an approval again in every mode', () => {
  const changed = (more: Partial<JudgedCall['origin']> = {}): JudgedCall =>
    judged('mcp_github_search', {
      origin: { layer: 'mcp', path: 'github', digest: 'new', isChanged: true, ...more },
      effects: [{ effect: 'mcp:github.search' }],
    })
  const wide: AuthoritySettings = {
    allow: ['mcp:*', 'mcp_github_search'],
    tools: { mcp_github_search: { mode: 'auto' } },
  }
  const allowlist: AuthoritySettings = { mode: 'allowlist', allowlist: ['mcp:github.*'] }

  test.each<[string, DecisionContext, string, string]>([
    ['an allow rule and auto', under(wide), 'ask floor', 'deny floor'],
    ['yolo', under({ mode: 'yolo' }), 'ask floor', 'deny floor'],
    ['yolo and all of them', under({ ...wide, mode: 'yolo' }), 'ask floor', 'deny floor'],
    ['the allowlist', under(allowlist), 'ask floor', 'deny floor'],
    ['a pattern', under({}, { patterns: { allow: 'x' } }), 'ask floor', 'deny floor'],
    ['a stage', under({}, { stage: { verdict: 'envelope' } }), 'ask floor', 'deny floor'],
    ['a token of a stage', under({}, { stage: { verdict: 'token' } }), 'ask floor', 'deny floor'],
    ['what would be asked anyway', under({ ask: ['mcp:*'] }), 'ask floor', 'deny floor'],
    ['what a stage leaves to a person', under({}, { stage: { verdict: 'defer' } }), 'ask floor', 'deny floor'],
    ['a deny rule', under({ ...wide, deny: ['mcp:github.*'] }), 'deny deny-rule', 'deny deny-rule'],
    ['plan', under({ ...wide, mode: 'plan' }), 'deny plan', 'deny plan'],
    ['an approval of this definition', under({}, { grant }), 'allow grant', 'allow grant'],
    ['the same in yolo', under({ mode: 'yolo' }, { grant }), 'allow grant', 'allow grant'],
    ['the same in a stage', under({}, { grant, stage: { verdict: 'envelope' } }), 'allow grant', 'allow grant'],
    ['the same where a rule denies', under({ deny: ['mcp:*'] }, { grant }), 'deny deny-rule', 'deny deny-rule'],
  ])('%s', (_, context, asked, unasked) => {
    expect(shown(changed(), context)).toBe(asked)
    expect(shown(changed(), { ...context, floor: 'deny' })).toBe(unasked)
  })

  test('an approval answers for the definition, not for what a stage leaves to a person', () => {
    const context = under({}, { grant, stage: { verdict: 'defer' } })
    expect(shown(changed(), context)).toBe('ask sm-grant-token')
  })

  test('without a digest no grant can identify it', () => {
    const { digest: _, ...origin } = changed().origin
    expect(shown({ ...changed(), origin }, under({ mode: 'yolo' }, { grant }))).toBe('ask floor')
  })

  test('it says so, and denies with a code where no person can be asked', () => {
    expect(decide(changed(), under({ mode: 'yolo' })).why).toContain('the server changed what this tool says')
    expect(decide(changed(), under({ mode: 'yolo' }, { floor: 'deny' }))).toMatchObject({ code: 'ApprovalDenied' })
    expect(shown(changed({ isChanged: false }), under({ mode: 'yolo' }))).toBe('allow mode-gate')
  })
})

test('a call that a stage defers is subject to the floor too', () => {
  const stage = { verdict: 'defer' } as const
  expect(shown(fileCall('fs.write', '.git/config'), under({}, { stage, floor: 'deny' }))).toBe('deny floor')
  expect(shown(write, under({}, { stage, floor: 'deny' }))).toBe('ask sm-grant-token')
})

test('a decision says which rules decided, who wrote them, and why', () => {
  const context = underLayers({
    global: { deny: [{ rule: 'net', why: 'we are offline' }] },
    launch: { allow: ['fs.read', 'fs.write'] },
  })
  expect(decide(effectCall('net'), context)).toEqual({
    verdict: 'deny',
    by: 'deny-rule',
    rule: 'net',
    why: 'denied by "net" (global): we are offline',
    code: 'ApprovalDenied',
  })
  expect(decide(effectCall('fs.write', 'fs.read'), context).rule).toBe('fs.write, fs.read')
})
