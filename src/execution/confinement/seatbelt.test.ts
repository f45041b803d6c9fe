import { describe, expect, test } from 'vitest'
import { seatbeltRules } from '../../../test/sandbox/seatbelt-rules.ts'
import type { Confinement } from '../../core/execution.ts'
import { type SeatbeltFacts, seatbeltProfile } from './seatbelt.ts'

const home = '/Users/me'
const app = '/Users/me/app'
const temporary = '/private/var/folders/x/libero-sandbox-1/tmp'

const facts: SeatbeltFacts = {
  workspace: [app],
  home,
  seen: [
    { path: '/usr', how: 'read' },
    { path: '/opt/homebrew', how: 'read' },
    { path: '/Library/Developer/CommandLineTools', how: 'read' },
    { path: '/private/var/select/sh', how: 'link', from: '/bin/bash' },
  ],
  secrets: [{ path: '/Users/me/.ssh', isFolder: true }],
  repositories: [],
  hidden: [{ path: '/Users/me/app/.env', isFolder: false }],
  temporary,
  writable: [app],
  kept: [`${app}/.git/config`, `${app}/.git/hooks`, `${app}/.npmrc`, `${app}/.github/workflows`],
}

const readOnly: Confinement = {
  ...{ profile: 'read-only', reads: ['/srv/data'], writes: [], hosts: [], home: 'empty' },
  hidden: ['/Users/me/app/.env', '/Users/me/app/*.pem'],
}
const workspaceWrite: Confinement = { ...readOnly, profile: 'workspace-write', writes: ['/srv/out'] }
const open: Confinement = { ...workspaceWrite, hosts: 'any', home: 'readable' }
const openFacts: SeatbeltFacts = {
  ...facts,
  home: undefined,
  seen: [...facts.seen, { path: home, how: 'read' }, { path: '/Users/me/Library/Caches', how: 'write' }],
}
const proxied: Confinement = { ...workspaceWrite, hosts: ['registry.example'] }

const profiles = {
  'read-only': seatbeltProfile(readOnly, facts),
  'workspace-write': seatbeltProfile(workspaceWrite, facts),
  open: seatbeltProfile(open, openFacts),
  proxied: seatbeltProfile(proxied, { ...facts, proxyPort: 4711 }),
}

describe('SB10 the profile for sandbox-exec', () => {
  test.each(Object.entries(profiles))('of %s is as in its file', async (name, text) => {
    await expect(text).toMatchFileSnapshot(`../../../test/sandbox/seatbelt/${name}.sb`)
  })

  test('lets a read-only command read the workspace, the system, toolchains and what was judged, and nothing else', () => {
    const rules = seatbeltRules(profiles['read-only'])
    const read = (path: string): boolean => rules.allows('file-read-data', path)
    for (const path of ['/', `${app}/src/a.ts`, '/usr/bin/git', '/opt/homebrew/bin/rg', '/srv/data/x', '/dev/null'])
      expect([path, read(path)]).toEqual([path, true])
    for (const path of ['/Users/me/.ssh/id', '/Users/me/notes', '/Users/you/x', '/etc/x', '/Volumes/x', '/dev/ttys001'])
      expect([path, read(path)]).toEqual([path, false])
    for (const path of [`${app}/.env`, `${app}/.ENV`, `${app}/certs/key.pem`, `${app}/certs/key.pem/..namedfork/rsrc`])
      expect([path, read(path)]).toEqual([path, false])
    for (const path of ['/Users', '/Users/me', '/srv']) expect(rules.allows('file-read-metadata', path)).toBe(true)
    expect(rules.allows('file-read-data', '/Users/me')).toBe(false)
  })

  test('lets a read-only command write into its own temporary folder alone', () => {
    const rules = seatbeltRules(profiles['read-only'])
    const write = (path: string): boolean => rules.allows('file-write-create', path)
    expect(write(`${temporary}/x`)).toBe(true)
    for (const path of [`${app}/x`, '/private/tmp/x', '/srv/data/x', '/srv/out/x', '/usr/local/x', home])
      expect([path, write(path)]).toEqual([path, false])
  })

  test('keeps what is protected from being changed, made, moved with a folder above, or written in other case', () => {
    const rules = seatbeltRules(profiles['workspace-write'])
    const write = (path: string): boolean => rules.allows('file-write-data', path)
    for (const path of [`${app}/src/a.ts`, `${app}/.git/index`, `${app}/.git/HEAD`, '/srv/out/x'])
      expect([path, write(path)]).toEqual([path, true])
    for (const path of ['.git/config', '.git/hooks/pre-commit', '.npmrc', '.NPMRC', '.github/workflows/ci.yml'])
      expect([path, write(`${app}/${path}`)]).toEqual([path, false])
    for (const path of [app, `${app}/.git`, `${app}/.github`])
      expect([path, rules.allows('file-write-unlink', path)]).toEqual([path, false])
    expect(rules.allows('file-write-unlink', `${app}/src`)).toBe(true)
    expect(rules.allows('file-link', `${app}/.git/config`)).toBe(false)
  })

  test('has no network without hosts, the proxy with some, and never the sockets of services', () => {
    const reach = (text: string, to: string): boolean => seatbeltRules(text).allows('network-outbound', to)
    for (const text of [profiles['read-only'], profiles['workspace-write']])
      for (const to of ['example.org:443', 'localhost:4711']) expect(reach(text, to)).toBe(false)
    expect(reach(profiles.proxied, 'localhost:4711')).toBe(true)
    expect(reach(profiles.proxied, 'localhost:3000')).toBe(false)
    expect(reach(profiles.proxied, 'example.org:443')).toBe(false)
    expect(reach(profiles.open, 'example.org:443')).toBe(true)
    for (const text of Object.values(profiles)) expect(reach(text, '/var/run/docker.sock')).toBe(false)
  })

  test('reaches neither the keychain nor LaunchServices, and no Apple events', () => {
    for (const text of Object.values(profiles)) {
      const rules = seatbeltRules(text)
      for (const name of [
        'com.apple.SecurityServer',
        'com.apple.securityd.xpc',
        'com.apple.coreservices.launchservicesd',
      ])
        expect(rules.allows('mach-lookup', name)).toBe(false)
      for (const operation of ['appleevent-send', 'lsopen', 'mach-register', 'job-creation', 'iokit-open'])
        expect([operation, rules.allows(operation, 'any')]).toEqual([operation, false])
    }
  })

  test('with a readable home keeps its secrets, and writes only its caches', () => {
    const rules = seatbeltRules(profiles.open)
    expect(rules.allows('file-read-data', '/Users/me/notes.txt')).toBe(true)
    expect(rules.allows('file-read-data', '/Users/me/.ssh/id')).toBe(false)
    expect(rules.allows('file-write-create', '/Users/me/.zshrc')).toBe(false)
    expect(rules.allows('file-write-create', '/Users/me/Library/Caches/x')).toBe(true)
  })

  test('a path with quotes, brackets and backslashes breaks no rule', () => {
    const evil = '/Users/me/a") (allow default) (literal "b\\'
    const text = seatbeltProfile(
      { ...workspaceWrite, hidden: [`${evil}/*.pem`] },
      { ...facts, workspace: [evil], writable: [evil], kept: [`${evil}/.npmrc`], hidden: [] },
    )
    const rules = seatbeltRules(text)
    expect(rules.allows('file-read-data', '/Users/me/notes')).toBe(false)
    expect(rules.allows('file-write-data', `${evil}/src/a`)).toBe(true)
    expect(rules.allows('file-write-data', `${evil}/.npmrc`)).toBe(false)
    expect(rules.allows('file-read-data', `${evil}/x.pem`)).toBe(false)
  })
})
