import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { fakeClock } from '../../testing/fake-clock.ts'
import { PrivateFileError } from '../private-file.ts'
import type { Grant } from './grant.ts'
import { createGrantFile, type GrantFile } from './grant-file.ts'
import { createGrants } from './grants.ts'

const grant: Grant = {
  ...{ tool: 'shell', key: 'npm test', origin: { layer: 'bundled' }, scope: 'session', sessionId: 's-1' },
  ...{ project: '/work', covers: 'exactly `npm test` in this project' },
  within: { profile: 'workspace-write', reads: [], writes: [], hosts: [], home: 'empty' },
  ...{ grantedAt: 1_000, grantedBy: 'ada' },
}

let folder: string
let path: string
let file: GrantFile
let umask: number

beforeEach(async () => {
  umask = process.umask()
  folder = await mkdtemp(join(tmpdir(), 'libero-grants-'))
  path = join(folder, 'home', 'grants.json')
  file = createGrantFile(path)
})

afterEach(async () => {
  process.umask(umask)
  await rm(folder, { recursive: true, force: true })
})

test('grants of every scope survive a restart', async () => {
  const clock = fakeClock(1_000)
  const before = createGrants({ clock, store: file })
  const { grantedAt: _, ...given } = grant
  await before.add(given)
  const after = createGrants({ clock, store: createGrantFile(path) })
  await after.load()
  expect(after.list()).toEqual([grant])
  await after.clearSession('s-1')
  await before.load()
  expect(before.list()).toEqual([])
})

test('B016 an approval for a project is kept unless that is switched off', async () => {
  const clock = fakeClock(1_000)
  const { sessionId: _, grantedAt: __, ...given } = grant
  const ofProject = { ...given, scope: 'project' } as const
  const { tool, key, origin, project } = grant
  const wanted = { tool, key, origin, project, sessionIds: ['new'] }

  await expect(createGrants({ clock, store: file, projectScope: false }).add(ofProject)).rejects.toThrow(
    /projectGrants/,
  )
  expect(await readdir(folder)).toEqual([])

  await createGrants({ clock, store: file }).add(ofProject)
  expect(await readdir(join(folder, 'home'))).toEqual(['grants.json'])
  const later = createGrants({ clock, store: createGrantFile(path) })
  await later.load()
  expect(later.find(wanted)).toMatchObject({ scope: 'project' })
  expect(later.find({ ...wanted, project: '/other' })).toBeUndefined()
})

test('reading makes nothing, and there is nothing to read at first', async () => {
  expect(await file.read()).toEqual([])
  expect(await readdir(folder)).toEqual([])
})

test('FS-19 the file is readable only by its owner, also without a umask, and no other file remains', async () => {
  process.umask(0)
  await add(grant)
  expect(await modeOf(path)).toBe(0o600)
  expect(await modeOf(join(folder, 'home'))).toBe(0o700)
  expect(await readdir(join(folder, 'home'))).toEqual(['grants.json'])
})

test('an edit that changes nothing writes nothing', async () => {
  await add(grant)
  const { mtimeMs, ino } = await stat(path)
  await file.change((grants) => grants)
  expect(await stat(path)).toMatchObject({ mtimeMs, ino })
})

test('changes of another process are read at the next load, and the same list is returned while nothing changes', async () => {
  await add(grant)
  const first = await file.read()
  expect(await file.read()).toBe(first)
  await createGrantFile(path).change(() => [{ ...grant, key: 'npm tesT' }]) // of the same size
  expect(await file.read()).toMatchObject([{ key: 'npm tesT' }])
  await rm(path)
  expect(await file.read()).toEqual([])
})

test('a file that looks as old and as big as before is read again', async () => {
  await add(grant)
  await file.read()
  const { atime, mtime } = await stat(path)
  const text = await readFile(path, 'utf8')
  await writeFile(path, text.replace('s-1', 's-2'))
  await utimes(path, atime, mtime)
  expect(await file.read()).toMatchObject([{ sessionId: 's-2' }])
})

test.each([
  ['no JSON', '{"version": 2,', 'version 2'],
  ['empty', '', 'version 2'],
  ['null', 'null', 'version 2'],
  ['of a newer version', JSON.stringify({ version: 3, grants: [] }), 'version 2'],
  ['without a list', JSON.stringify({ version: 2, grants: {} }), 'no list'],
  ['old and without a list', JSON.stringify({ version: 1 }), 'no list'],
  ['with half a grant', JSON.stringify({ version: 2, grants: [grant, { ...grant, tool: undefined }] }), 'grants[1]'],
  ['with an unknown limit', JSON.stringify({ version: 2, grants: [{ ...grant, onlyOn: 'monday' }] }), 'onlyOn'],
])('a file that is %s counts for nothing and is left as it is', async (_, text, word) => {
  await add(grant)
  expect(await file.read()).toHaveLength(1)
  await writeFile(path, text)
  for (const attempt of [() => file.read(), () => add(grant)]) {
    const error = await attempt().catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(PrivateFileError)
    expect(String(error)).toContain(word)
    expect(String(error)).toContain(path)
  }
  expect(await readFile(path, 'utf8')).toBe(text)
})

test('S09 grants of version 1 do not count, and the file keeps them until they are forgotten', async () => {
  const { project: _, within: __, covers: ___, sessionId: ____, ...old } = grant
  const grants = [
    { ...old, scope: 'always' },
    { ...old, scope: 'session', sessionId: 's-1' },
  ]
  const text = JSON.stringify({ version: 1, grants })
  await mkdir(join(folder, 'home'), { mode: 0o700 })
  await writeFile(path, text, { mode: 0o600 })
  expect(await file.read()).toEqual([])
  expect(await file.ignored()).toEqual({ grants, isOld: true })
  await file.change((list) => list)
  expect(await readFile(path, 'utf8')).toBe(text)
  await add(grant)
  expect(await file.read()).toEqual([grant])
  expect(await createGrantFile(path).ignored()).toEqual({ grants, isOld: false })
  await file.forgetIgnored()
  expect(await createGrantFile(path).ignored()).toEqual({ grants: [], isOld: false })
  expect(await createGrantFile(path).read()).toEqual([grant])
})

test('FS-19 a link instead of the file is refused and left unchanged', async () => {
  await add(grant)
  const elsewhere = join(folder, 'elsewhere.json')
  await rename(path, elsewhere)
  await symlink(elsewhere, path)
  const before = await readFile(elsewhere, 'utf8')
  await expect(file.read()).rejects.toThrow(/is a link/)
  await expect(add({ ...grant, key: 'ls' })).rejects.toThrow(/is a link/)
  expect(await readFile(elsewhere, 'utf8')).toBe(before)
})

test.each([0o644, 0o660, 0o602])('FS-19 a file of mode %o is refused, also when it was fine before', async (mode) => {
  await add(grant)
  expect(await file.read()).toHaveLength(1)
  await chmod(path, mode)
  await expect(file.read()).rejects.toThrow(`chmod 600 ${path}`)
  await expect(add(grant)).rejects.toThrow(PrivateFileError)
  await chmod(path, 0o600)
  expect(await file.read()).toHaveLength(1)
})

test('FS-19 a folder that others may write to is refused, before anything is written', async () => {
  await mkdir(join(folder, 'home'))
  await chmod(join(folder, 'home'), 0o777)
  await expect(add(grant)).rejects.toThrow(`chmod 700 ${join(folder, 'home')}`)
  expect(await readdir(join(folder, 'home'))).toEqual([])
})

test('a folder in its place is refused', async () => {
  await mkdir(path, { recursive: true, mode: 0o700 })
  await expect(file.read()).rejects.toThrow(/is not a file/)
})

test.skipIf(process.getuid?.() !== 0)('FS-19 a file or folder of another user is refused', async () => {
  await add(grant)
  await chown(path, 12_345, 12_345)
  await expect(file.read()).rejects.toThrow(/belongs to user 12345/)
  await chown(path, 0, 0)
  await chown(join(folder, 'home'), 12_345, 12_345)
  await expect(file.read()).rejects.toThrow(/belongs to user 12345/)
})

async function add(one: Grant): Promise<void> {
  await file.change((grants) => [...grants, one])
}

async function modeOf(at: string): Promise<number> {
  return (await stat(at)).mode & 0o777
}
