import { describe, expect, test } from 'vitest'
import { command, effectCall, fileCall, judged, line, under } from '../../test/authority/call-kit.ts'
import type { Confinement, SandboxSupport } from '../core/execution.ts'
import { narrower, reaches } from './confinement.ts'
import { decide } from './decide.ts'
import type { JudgedCall } from './judged-call.ts'
import type { AuthoritySettings } from './rules/settings.ts'

const both: SandboxSupport = { profiles: ['read-only', 'workspace-write'], by: 'test' }
const empty: Confinement = {
  ...{ profile: 'read-only', reads: [], writes: [], hidden: [], hosts: [], home: 'empty' },
}
const outside = (effect: 'fs.read' | 'fs.write', target: string) => ({ effect, target, isOutside: true }) as const

function confined(call: JudgedCall, settings: AuthoritySettings, sandbox = both): Confinement | undefined {
  const { confinement } = decide(call, under(settings, { sandbox }))
  return typeof confinement === 'object' ? confinement : undefined
}

describe('what a call can reach', () => {
  test('is no more than what was judged: the targets outside that a rule allowed, or that a person is asked about', () => {
    const copy = command('cp /srv/a /srv/b', {
      table: 'none',
      effects: [outside('fs.read', '/srv/a'), outside('fs.write', '/srv/b')],
    })
    const allow = ['shell:cp *', 'fs.write:/srv/*']
    const reach = { profile: 'workspace-write', reads: ['/srv/a'], writes: ['/srv/b'], hosts: [], home: 'empty' }
    expect(confined(line([copy]), { allow })).toMatchObject(reach)
    expect(confined(line([copy]), {})).toMatchObject(reach)
    expect(confined(line([copy]), { mode: 'yolo' })).toMatchObject({ reads: [], writes: [], home: 'readable' })
  })

  test('writes nothing if nothing is written as far as is known, else the workspace', () => {
    expect(confined(line([command('ls')]), {})?.profile).toBe('read-only')
    expect(confined(fileCall('fs.read', 'a'), {})?.profile).toBe('read-only')
    expect(confined(fileCall('fs.write', 'a'), {})?.profile).toBe('workspace-write')
    expect(confined(effectCall('unknown'), {})?.profile).toBe('workspace-write')
    const make = command('make', { table: 'none', effects: [{ effect: 'unknown' }] })
    expect(confined(line([make]), { allow: ['shell:make'] })?.profile).toBe('workspace-write')
  })

  test('is nothing for a call that runs no commands, and without a sandbox', () => {
    expect(confined(effectCall('net'), {})).toBeUndefined()
    expect(confined(judged('spawn', { effects: [{ effect: 'spawn' }] }), {})).toBeUndefined()
    expect(confined(line([command('ls')]), {}, { profiles: [] })).toBeUndefined()
    expect(decide(judged('own', { gated: false }), under({}, { sandbox: both }))).not.toHaveProperty('confinement')
  })

  test.each(['/', '/home', '/home/me', '/desk', '/proc/1', '/sys/x', '/dev/sda', '/etc/*.conf'])(
    'is never %s as a whole',
    (target) => {
      const cat = command('cat x', { effects: [outside('fs.read', target)] })
      expect(confined(line([cat]), { allow: ['shell:cat'] })?.reads).toEqual([])
    },
  )

  test('hides what rules deny, and what they ask about unless the person is asked because of it', () => {
    const settings = {
      allow: ['shell:make'],
      deny: ['fs.read:.env', 'fs.read:~/x/*', 'fs.read:/srv/'],
      ask: ['fs.read:notes/*'],
    }
    const make = command('make', { table: 'none', effects: [{ effect: 'unknown' }] })
    const ruled = ['/desk/project/.env', '/srv', '/home/me/x/*']
    expect(confined(line([make]), settings)?.hidden.slice(0, 4)).toEqual([...ruled, '/desk/project/notes/*'])
    const notes = command('cat notes/a', { effects: [{ effect: 'fs.read', target: 'notes/a' }] })
    expect(confined(line([notes]), settings)?.hidden).not.toContain('/desk/project/notes/*')
    const more = { ask: [...settings.ask, 'fs.read:private/*', 'shell'] }
    expect(confined(line([notes]), more)?.hidden).toContain('/desk/project/private/*')
    expect(confined(line([command('ls')]), more)?.hidden).toContain('/desk/project/notes/*')
    expect(confined(line([make]), { deny: ['fs.read:*'] })?.hidden).toContain('/desk/project/*')
  })

  test('hides the folders of this program, wherever they are', () => {
    const own = ['/home/me/elsewhere']
    for (const mode of ['ask', 'yolo'] as const)
      expect(decide(line([command('ls')]), under({ mode }, { own })).confinement).toMatchObject({
        hidden: expect.arrayContaining(own),
      })
  })

  test('hides credentials, also in what is read outside, except the file a person is asked about', () => {
    const read = (target: string) => line([command('cat x', { effects: [{ effect: 'fs.read', target }] })])
    expect(confined(read('a'), {})?.hidden).toEqual(
      expect.arrayContaining(['/desk/project/.pypirc', '/desk/project/.config/gh']),
    )
    const asked = confined(read('.aws/config'), {})?.hidden
    expect(asked).not.toContain('/desk/project/.aws')
    expect(asked).toContain('/desk/project/.pypirc')
    const elsewhere = line([command('ls x', { effects: [outside('fs.read', '/srv/x')] })])
    expect(confined(elsewhere, { allow: ['shell:ls'] })?.hidden).toContain('/srv/x/.aws')
  })

  test('connects to the hosts that it names; to others where a rule allows every host, or a person is asked and sees it', () => {
    const fetch = (...targets: (string | undefined)[]) =>
      line([
        command('curl x', {
          table: 'none',
          effects: targets.map((target) => ({ effect: 'net', ...(target !== undefined && { target }) })),
        }),
      ])
    const allow = ['shell:curl *']
    expect(confined(fetch('B.org', 'a.org'), { allow })?.hosts).toEqual(['a.org', 'b.org'])
    expect(decide(fetch(undefined), under({ allow }))).toMatchObject({ verdict: 'ask', confinement: { hosts: 'any' } })
    expect(confined(fetch(undefined), { allow, deny: ['net:b.org'] })?.hosts).toEqual([])
    expect(confined(fetch(undefined), { tools: { shell: { mode: 'auto' } } })?.hosts).toEqual([])
    expect(confined(fetch(undefined), { allow: [...allow, 'net'] })?.hosts).toBe('any')
    expect(confined(fetch(undefined), { mode: 'yolo' })?.hosts).toBe('any')
    expect(confined(fetch('a.org'), { mode: 'yolo', deny: ['net:b.org'] })?.hosts).toEqual(['a.org'])
  })
})

describe('two placements', () => {
  const one: Confinement = { ...empty, profile: 'workspace-write', reads: ['/a', '/b'], hidden: ['/x'], hosts: ['h'] }

  test('together reach what both do, and hide what either does', () => {
    const other: Confinement = { ...empty, reads: ['/b'], hidden: ['/y'], hosts: 'any' }
    const common = { ...empty, reads: ['/b'], hidden: ['/x', '/y'], hosts: ['h'] }
    expect(narrower(one, other)).toEqual(common)
    expect(narrower(other, one)).toEqual({ ...common, hidden: ['/y', '/x'] })
    expect(narrower('outside', one)).toBe(one)
    expect(narrower(one, undefined)).toBe(one)
    const open: Confinement = { ...one, reads: [], home: 'readable', hosts: 'any', hidden: ['/z'] }
    expect(narrower(open, one)).toEqual({ ...one, hidden: ['/z', '/x'] })
  })

  test('an approval for one does not count for a wider one', () => {
    expect(reaches(one, one)).toBe(true)
    expect(reaches(one, { ...one, profile: 'read-only', reads: ['/a'], hosts: [] })).toBe(true)
    expect(reaches('outside', one)).toBe(true)
    expect(reaches(one, 'outside')).toBe(false)
    expect(reaches(undefined, empty)).toBe(false)
    for (const wider of [
      { reads: ['/c'] },
      { writes: ['/c'] },
      { hosts: ['i'] },
      { hosts: 'any' },
      { home: 'readable' },
    ] as const)
      expect(reaches(one, { ...one, ...wider }), JSON.stringify(wider)).toBe(false)
    expect(reaches(empty, { ...empty, profile: 'workspace-write' })).toBe(false)
  })
})
