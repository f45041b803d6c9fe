import { chmod, mkdir, readdir, readFile, rename, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { expect } from 'vitest'
import { testInTurns } from '../../../test/soak.ts'
import { temporary } from '../../../test/temporary.ts'
import { credentialKey, type McpCredential } from './credential.ts'
import { createMemoryMcpCredentialStore, type McpCredentialStore } from './credential-store.ts'
import { createFileMcpCredentialStore, McpCredentialsError } from './file-credential-store.ts'

const test = testInTurns(2)

const credential: McpCredential = {
  name: 'tracker',
  server: 'https://tracker.example/mcp',
  issuer: 'https://login.example',
  resource: 'https://tracker.example/mcp',
  client: { client_id: 'c-1' },
  tokens: { access: 'at-secret-1', refresh: 'rt-secret-1', expires: 1000, scopes: ['read'] },
  savedAt: 1,
}
const key = credentialKey(credential)

const kinds: Record<string, () => Promise<McpCredentialStore>> = {
  memory: async () => createMemoryMcpCredentialStore(),
  file: async () => createFileMcpCredentialStore(await temporary('mcp-store-')),
}

test.each(Object.keys(kinds))('%s: a stored login can be read, listed and deleted', async (kind) => {
  const store = await kinds[kind]!()
  expect(await store.get(key)).toBeUndefined()
  expect(await store.list()).toEqual([])
  await store.set(key, credential)
  await store.set('other', { ...credential, name: 'other' })
  expect(await store.get(key)).toEqual(credential)
  expect((await store.list()).map(({ name }) => name)).toEqual(['tracker', 'other'])
  expect(await store.delete(key)).toBe(true)
  expect(await store.delete(key)).toBe(false)
  expect(await store.get(key)).toBeUndefined()
})

test.each(Object.keys(kinds))('%s: work for one key runs one after the other, also after a failure', async (kind) => {
  const store = await kinds[kind]!()
  let running = 0
  let most = 0
  const work = (i: number) => async (): Promise<number> => {
    most = Math.max(most, ++running)
    await new Promise((resolve) => setTimeout(resolve, 2))
    running--
    if (i === 1) throw new Error('one fails')
    return i
  }
  const done = await Promise.allSettled([0, 1, 2, 3].map((i) => store.exclusively(key, work(i))))
  expect(most).toBe(1)
  expect(done.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
})

test('OA-08 another server, issuer, resource or client has another key', () => {
  const others: McpCredential[] = [
    { ...credential, name: 'x' },
    { ...credential, server: 'https://tracker.example/mcp2' },
    { ...credential, issuer: 'https://login.example/' },
    { ...credential, resource: 'https://tracker.example/' },
    { ...credential, client: { client_id: 'c-2' } },
  ]
  expect(new Set([key, ...others.map(credentialKey)]).size).toBe(6)
  expect(credentialKey({ ...credential, savedAt: 2, tokens: { access: 'x' } })).toBe(key)
})

test('only the owner can read the file and its folder, and no other file is left there', async () => {
  const folder = await temporary('mcp-store-')
  const store = createFileMcpCredentialStore(folder)
  await store.set(key, credential)
  expect(store.path).toBe(join(folder, 'mcp', 'credentials.json'))
  expect((await stat(store.path)).mode & 0o777).toBe(0o600)
  expect((await stat(join(folder, 'mcp'))).mode & 0o777).toBe(0o700)
  expect(await readdir(join(folder, 'mcp'))).toEqual(['credentials.json'])
})

test('a broken file causes an error that names it without quoting it, and the file is not changed', async () => {
  const store = createFileMcpCredentialStore(await temporary('mcp-store-'))
  await store.set(key, credential)
  for (const broken of ['{"a": "at-secret', '', '[]', '"at-secret"']) {
    await writeFile(store.path, broken)
    for (const attempt of [
      () => store.get(key),
      () => store.list(),
      () => store.set(key, credential),
      () => store.delete(key),
    ]) {
      const error = await attempt().catch((error: unknown) => error)
      expect(error).toBeInstanceOf(McpCredentialsError)
      expect(String(error)).toContain(`${store.path} is not a JSON object`)
      expect(inspect(error, { depth: 9 })).not.toContain('at-secret')
    }
    expect(await readFile(store.path, 'utf8')).toBe(broken)
  }
})

test('entries of other versions are kept, and are not used as logins', async () => {
  const store = createFileMcpCredentialStore(await temporary('mcp-store-'))
  await store.set(key, credential)
  const future = { kind: 'passkey', id: 7 }
  await writeFile(store.path, JSON.stringify({ future, [key]: credential }))
  await store.set('other', credential)
  expect(JSON.parse(await readFile(store.path, 'utf8'))).toEqual({ future, [key]: credential, other: credential })
  expect(await store.get('future')).toBeUndefined()
  expect(await store.list()).toHaveLength(2)
})

test.skipIf(process.platform === 'win32')('a file that other users can read is refused, with a remedy', async () => {
  const store = createFileMcpCredentialStore(await temporary('mcp-store-'))
  await store.set(key, credential)
  for (const mode of [0o640, 0o604, 0o620]) {
    await chmod(store.path, mode)
    await expect(store.get(key)).rejects.toThrow(`run chmod 600 ${store.path}`)
    await expect(store.set(key, credential)).rejects.toThrow(McpCredentialsError)
  }
  await chmod(store.path, 0o600)
  expect(await store.get(key)).toEqual(credential)
})

test.skipIf(process.platform === 'win32')('a link or a folder at its path is refused and not written to', async () => {
  const folder = await temporary('mcp-store-')
  const store = createFileMcpCredentialStore(folder)
  await store.set(key, credential)
  const elsewhere = join(folder, 'elsewhere.json')
  await rename(store.path, elsewhere)
  await symlink(elsewhere, store.path)
  const before = await readFile(elsewhere, 'utf8')
  await expect(store.get(key)).rejects.toThrow('is a link, so it is not used; replace it')
  await expect(store.set('x', credential)).rejects.toThrow('is a link')
  expect(await readFile(elsewhere, 'utf8')).toBe(before)

  const other = createFileMcpCredentialStore(join(folder, 'other'))
  await mkdir(other.path, { recursive: true })
  await expect(other.list()).rejects.toThrow('is no regular file')
})

test('concurrent writes lose nothing', async () => {
  const folder = await temporary('mcp-store-')
  const keys = Array.from({ length: 12 }, (_, i) => `k${i}`)
  await Promise.all(keys.map((one) => createFileMcpCredentialStore(folder).set(one, { ...credential, name: one })))
  const names = (await createFileMcpCredentialStore(folder).list()).map(({ name }) => name)
  expect(names.sort()).toEqual([...keys].sort())
})

test('an oversized login is not stored, and the others stay usable', async () => {
  const store = createFileMcpCredentialStore(await temporary('mcp-store-'))
  await store.set(key, credential)
  const huge = { ...credential, name: 'huge', tokens: { access: 'x'.repeat(9 * 1024 * 1024) } }
  await expect(store.set(credentialKey(huge), huge)).rejects.toThrow(McpCredentialsError)
  expect(await store.list()).toEqual([credential])
  const large = { ...credential, tokens: { access: 'x'.repeat(200_000) } }
  const fill = async (): Promise<void> => {
    for (let i = 0; i < 50; i++) await store.set(`large:${i}`, large)
  }
  await expect(fill()).rejects.toThrow(/would be bigger than/)
  expect(await store.get(key)).toEqual(credential)
})

test('an empty folder path is refused', () => {
  expect(() => createFileMcpCredentialStore('')).toThrow('needs the path of a folder')
})
