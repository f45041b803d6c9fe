import { spawnSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Credential, type CredentialStore, CredentialsError, createCredentialStore } from './credentials.ts'

const key: Credential = { type: 'api_key', key: 'sk-1' }
const login: Credential = { type: 'oauth', access: 'at-1', refresh: 'rt-1', expires: 1000, accountId: 'acct-1' }

let folder: string
let path: string
let store: CredentialStore

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'libero-credentials-'))
  path = join(folder, 'home', 'credentials.json')
  store = createCredentialStore({ path })
})

afterEach(() => rm(folder, { recursive: true, force: true }))

test('the file is in the home folder by default', () => {
  expect(createCredentialStore().path).toBe(join(homedir(), '.libero', 'credentials.json'))
  expect(store.path).toBe(path)
})

test('a stored credential can be read, listed without its secret, and removed', async () => {
  expect(await store.get('anthropic')).toBeUndefined()
  expect(await store.list()).toEqual([])
  expect(await store.remove('anthropic')).toBe(false)
  expect(await readdir(folder)).toEqual(['home'])

  await store.set('anthropic', key)
  await store.set('codex', login)
  expect(await store.get('anthropic')).toEqual(key)
  expect(await createCredentialStore({ path }).get('codex')).toEqual(login)
  expect(await store.list()).toEqual([
    { name: 'anthropic', type: 'api_key' },
    { name: 'codex', type: 'oauth', expires: 1000 },
  ])

  expect(await store.remove('anthropic')).toBe(true)
  expect(await store.get('anthropic')).toBeUndefined()
  expect(await store.get('codex')).toEqual(login)
})

test('only the owner can read the file, and no other file is left beside it', async () => {
  await store.set('anthropic', key)
  expect(await modeOf(path)).toBe(0o600)
  expect(await modeOf(join(folder, 'home'))).toBe(0o700)
  expect(await readdir(join(folder, 'home'))).toEqual(['credentials.json'])
})

test('a file that others can read still works, and the next write restricts it', async () => {
  await store.set('anthropic', key)
  await chmod(path, 0o644)
  expect(await store.get('anthropic')).toEqual(key)
  await store.set('codex', login)
  expect(await modeOf(path)).toBe(0o600)
})

test('a file that is no JSON object causes an error that names it without quoting it, and is not overwritten', async () => {
  await store.set('anthropic', key)
  for (const broken of ['{"anthropic": "sk-secret', 'sk-secret', '', '[]', 'null', '"sk-secret"']) {
    await writeFile(path, broken)
    for (const attempt of [store.get, store.remove, store.list, (name: string) => store.set(name, key)]) {
      const error = await failure(attempt('a'))
      expect(error).toBeInstanceOf(CredentialsError)
      expect(String(error)).toContain(`${path} is not a JSON object`)
      expect(String(error)).toContain('or delete it and log in again')
      expect(inspect(error, { depth: 9 })).not.toContain('sk-secret')
    }
    expect(await readFile(path, 'utf8')).toBe(broken)
  }
})

test('entries and fields of other versions are kept', async () => {
  const file = { '//': 'mine', future: { type: 'passkey', id: 7 }, codex: { ...login, email: 'me@example.org' } }
  await store.set('codex', login)
  await writeFile(path, JSON.stringify(file))
  await store.set('anthropic', key)
  const { accountId: _, ...anonymous } = login
  await store.set('codex', { ...anonymous, access: 'at-2' })
  expect(JSON.parse(await readFile(path, 'utf8'))).toEqual({
    ...file,
    anthropic: key,
    codex: { ...anonymous, access: 'at-2', email: 'me@example.org' },
  })
  expect((await store.list()).map(({ name }) => name)).toEqual(['codex', 'anthropic'])
})

test('a key replaces a login completely', async () => {
  await store.set('codex', { ...login, email: 'me@example.org' } as Credential)
  await store.set('codex', key)
  expect(await store.get('codex')).toEqual(key)
})

test('an invalid entry causes an error with its place, without its value', async () => {
  await store.set('a', key)
  for (const entry of [
    'sk-secret',
    { type: 'api_key' },
    { type: 'oauth', access: 1 },
    { type: 'passkey', key: 'sk-secret' },
  ]) {
    await writeFile(path, JSON.stringify({ a: entry }))
    const error = String(await failure(store.get('a')))
    expect(error).toContain(`The entry "a" in ${path} is no credential that this version knows; log in again`)
    expect(error).not.toContain('sk-secret')
  }
})

test('an invalid credential is not stored', async () => {
  for (const wrong of [
    { type: 'api_key', key: '' },
    { type: 'oauth', access: 'x', expires: Number.NaN },
    'sk-secret',
  ]) {
    const error = String(await failure(store.set('a', wrong as Credential)))
    expect(error).toContain('Cannot store the credential "a": pass')
    expect(error).not.toContain('sk-secret')
  }
  expect(await store.list()).toEqual([])
})

test.each(['__proto__', 'constructor', 'toString', '../x', ''])('the name %j works like any other', async (name) => {
  expect(await store.get(name)).toBeUndefined()
  await store.set(name, key)
  await store.set('other', login)
  expect(await store.get(name)).toEqual(key)
  expect(await store.list()).toContainEqual({ name, type: 'api_key' })
  expect(await store.remove(name)).toBe(true)
  expect(await store.get(name)).toBeUndefined()
  expect(({} as Record<string, unknown>).key).toBeUndefined()
})

test.skipIf(process.platform === 'win32')('SE-08 a pipe in its place is refused, and not waited for', async () => {
  await mkdir(join(folder, 'home'))
  spawnSync('mkfifo', [path])
  await expect(store.list()).rejects.toThrow(CredentialsError)
  await expect(store.set('anthropic', key)).rejects.toThrow(CredentialsError)
})

test('concurrent writes lose nothing', async () => {
  const names = Array.from({ length: 20 }, (_, i) => `p${i}`)
  await Promise.all(names.map((name) => createCredentialStore({ path }).set(name, key)))
  expect((await store.list()).map(({ name }) => name).sort()).toEqual(names.sort())
})

async function modeOf(path: string): Promise<number> {
  return (await stat(path)).mode & 0o777
}

function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => expect.unreachable(),
    (error: unknown) => error,
  )
}
