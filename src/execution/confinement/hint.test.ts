import { expect, test } from 'vitest'
import { otherLines, stoppedLines } from '../../../test/sandbox/hint-lines.ts'
import recorded from '../../../test/sandbox/hint-outputs.json' with { type: 'json' }
import type { Confinement, SandboxProfile } from '../../core/execution.ts'
import { protectsName } from '../bubblewrap/protected-paths.ts'
import { type HintFacts, sandboxHint } from './hint.ts'

const places: Readonly<Record<string, string>> = {
  '{home}': '/home/me',
  '{workspace}': '/home/me/app',
  '{outside}': '/srv/other',
  '{port}': '34567',
}

function facts(profile: string, changed: Partial<Confinement> = {}): HintFacts {
  const confinement: Confinement = {
    profile: profile === 'read-only' ? 'read-only' : 'workspace-write',
    ...{ reads: [], writes: [], hidden: ['/home/me/app/.env'], hosts: [], home: 'empty' as const },
    ...changed,
  }
  return {
    confinement,
    ...{ cwd: '/home/me/app', home: '/home/me', workspace: ['/home/me/app'], seen: ['/usr', '/bin', '/opt'] },
    isProtected: (path) => protectsName('/home/me/app', path),
  }
}

function hintOf(line: string, output: string, profile: SandboxProfile | string, changed?: Partial<Confinement>) {
  const at = (text: string): string =>
    Object.entries(places).reduce((all, [name, place]) => all.replaceAll(name, place), text)
  return sandboxHint({ command: at(line), output: at(output) }, facts(profile, changed))
}

test('W08 of the recorded failures that a sandbox caused, all get a hint', () => {
  expect(recorded.stopped.map(({ line }) => line)).toEqual(stoppedLines.map(({ line }) => line))
  expect(recorded.stopped.length).toBeGreaterThanOrEqual(50)
  const without = recorded.stopped.filter(({ line, output, profile }) => hintOf(line, output, profile) === undefined)
  expect(without.map(({ line }) => line)).toEqual([])
})

test('W08 of the recorded failures that a sandbox did not cause, none gets a hint', () => {
  expect(recorded.other.map(({ line }) => line)).toEqual(otherLines.map(({ line }) => line))
  expect(recorded.other.length).toBeGreaterThanOrEqual(50)
  const hinted = recorded.other.map(({ line, output, profile }) => [line, hintOf(line, output, profile)])
  expect(hinted.filter(([, hint]) => hint !== undefined)).toEqual([])
})

test.each([
  ['touch: cannot touch "a.txt": Read-only file system', 'the workspace is read-only'],
  ['sh: 1: cannot create a.txt: Read-only file system', 'the workspace is read-only'],
  ["mv: cannot move 'a' to '/usr/a': Read-only file system", 'the workspace is read-only'],
  [
    'npm error code EROFS\nnpm error syscall open\nnpm error path /home/me/app/package.json',
    'the workspace is read-only',
  ],
  ['cat: /home/me/x: No such file or directory', '/home/me/x is not visible: the home folder is empty'],
  ['cat: ../x: No such file or directory', '/home/me/x is not visible: the home folder is empty'],
  ['cat: .env: Permission denied', '/home/me/app/.env is hidden from commands'],
  ['curl: (6) Could not resolve host: a.example', 'a.example cannot be reached: there is no network'],
  [
    'docker: permission denied while connecting to unix:///var/run/docker.sock',
    'Unix sockets such as /var/run/docker.sock cannot be used',
  ],
  [
    'dial tcp: lookup proxy.golang.org on 10.0.0.2:53: server misbehaving',
    'proxy.golang.org cannot be reached: there is no network',
  ],
])('%s: %s', (output, hint) => {
  expect(hintOf('cat /home/me/x', output, 'read-only')).toBe(`[sandbox: read-only] ${hint}`)
})

test('a host that the command could connect to gets no hint', () => {
  const output = 'curl: (6) Could not resolve host: a.example'
  expect(hintOf('curl a.example', output, 'workspace-write', { hosts: ['a.example'] })).toBe(undefined)
  expect(hintOf('curl a.example', output, 'workspace-write', { hosts: 'any' })).toBe(undefined)
  expect(hintOf('curl a.example', output, 'workspace-write', { hosts: ['b.example'] })).toBe(
    '[sandbox: workspace-write] a.example cannot be reached: only b.example can',
  )
})

test('the hint about a server of this machine does not tell whether there is one', () => {
  const hint = (port: number) => hintOf('x', `connect ECONNREFUSED 127.0.0.1:${port}`, 'read-only')
  expect(hint(3000)).toContain('a server at port 3000 of this machine, if there is one, cannot be reached')
  expect(hint(34567)).toBe(hint(3000)?.replace('3000', '34567'))
  expect(hintOf('x', 'connect ECONNREFUSED 127.0.0.1:3000', 'workspace-write', { hosts: 'any' })).toBe(undefined)
})

test('a path that was judged readable gets no hint when it is missing', () => {
  const output = 'cat: /srv/data/x: No such file or directory'
  expect(hintOf('cat /srv/data/x', output, 'read-only')).toContain('/srv/data/x is not visible')
  expect(hintOf('cat /srv/data/x', output, 'read-only', { reads: ['/srv/data'] })).toBe(undefined)
})

test('a long output is read in no time', () => {
  const output = `${"'".repeat(50_000)}${'/a:'.repeat(50_000)} Read-only file system`
  expect(hintOf('x', output, 'read-only')).toBe('[sandbox: read-only] /a cannot be written: only temporary folders can')
})
