import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { loopbackFetch, startAuthorizationServer } from '../../test/authorization-server.ts'
import { createCredentialStore } from '../auth/credentials.ts'
import { fakeClock } from '../testing/index.ts'
import {
  type CredentialLookup,
  type CredentialOptions,
  credentialSource,
  MissingCredentialError,
} from './credential.ts'

describe('a credential is looked for', () => {
  const all = {
    apiKey: 'given-key',
    access: 'given-token',
    env: { ACME_API_KEY: 'env-key' },
  } satisfies CredentialOptions

  test('A228 in apiKey, then in access, then in the environment, then in the file', async () => {
    const credentialsPath = await fileWith({ acme: { type: 'api_key', key: 'file-key' } })
    const { apiKey, access, env } = { ...all }
    expect(await find({ apiKey, access, env, credentialsPath })).toEqual({ kind: 'api_key', secret: 'given-key' })
    expect(await find({ access, env, credentialsPath })).toEqual({ kind: 'oauth', secret: 'given-token' })
    expect(await find({ env, credentialsPath })).toEqual({ kind: 'api_key', secret: 'env-key' })
    expect(await find({ env: {}, credentialsPath })).toEqual({ kind: 'api_key', secret: 'file-key' })
  })

  test('A228 in each variable of the environment in its order', async () => {
    const place = { name: 'acme', env: ['FIRST', 'SECOND'] }
    expect(await find({ env: { SECOND: 'two' } }, place)).toMatchObject({ secret: 'two' })
    expect(await find({ env: { FIRST: 'one', SECOND: 'two' } }, place)).toMatchObject({ secret: 'one' })
    expect(await find({ env: { FIRST: '', SECOND: 'two' } }, place)).toMatchObject({ secret: 'two' })
  })

  test('A228 in the environment of the process, as it was when the provider was made', async () => {
    vi.stubEnv('ACME_API_KEY', 'at first')
    onTestFinished(() => void vi.unstubAllEnvs())
    const source = credentialSource({}, acme)
    vi.stubEnv('ACME_API_KEY', 'later')
    expect(await source.get()).toMatchObject({ secret: 'at first' })
    expect(await credentialSource({}, acme).get()).toMatchObject({ secret: 'later' })
  })

  test('and an empty one is none', async () => {
    const found = await find({ apiKey: '', access: ' ', env: { ACME_API_KEY: 'env-key' } })
    expect(found).toMatchObject({ secret: 'env-key' })
  })

  test('and is taken without the line break that files and shells add', async () => {
    expect(await find({ apiKey: ' key\n' })).toMatchObject({ secret: 'key' })
    expect(await find({ access: 'token\r\n' })).toMatchObject({ secret: 'token' })
    expect(await find({ env: { ACME_API_KEY: 'env-key\n' } })).toMatchObject({ secret: 'env-key' })
  })

  test('in the file only when it is needed, and again after it was not there', async () => {
    const folder = await tempFolder()
    const credentialsPath = join(folder, 'credentials.json')
    const source = credentialSource({ env: {}, credentialsPath }, acme)
    await expect(source.get()).rejects.toThrow(MissingCredentialError)
    await createCredentialStore({ path: credentialsPath }).set('acme', { type: 'api_key', key: 'file-key' })
    expect(await source.get()).toMatchObject({ secret: 'file-key' })
  })

  test('and when it is nowhere, it is said where to put it', async () => {
    const folder = await tempFolder()
    const source = credentialSource({ env: {}, credentialsPath: join(folder, 'none.json') }, acme)
    await expect(source.get()).rejects.toThrow(
      'there are no credentials for "acme": pass apiKey, or set ACME_API_KEY, or log in',
    )
    await expect(credentialSource({ env: {}, credentialsPath: false }, acme).get()).rejects.toThrow('pass apiKey')
  })

  test('and a service that needs none is asked without', async () => {
    expect(await find({ env: {}, credentialsPath: false }, { ...acme, isOptional: true })).toBeUndefined()
  })
})

describe('tokens', () => {
  test('that cannot be renewed are used as they are', async () => {
    const source = credentialSource({ access: 'token', accountId: 'a1', expires: 1 }, acme)
    const found = await source.get()
    expect(found).toEqual({ kind: 'oauth', secret: 'token', accountId: 'a1', expires: 1 })
    expect(await source.renew(found!)).toBeUndefined()
    const noEndpoints = credentialSource({ access: 'token', refresh: 'again' }, acme)
    expect(await noEndpoints.renew({ kind: 'oauth', secret: 'token' })).toBeUndefined()
  })

  test('name the account they are for, unless the caller does', async () => {
    const payload = { 'https://api.openai.com/auth': { chatgpt_account_id: 'from the token' } }
    const access = `head.${Buffer.from(JSON.stringify(payload)).toString('base64url')}.tail`
    expect(await find({ access })).toMatchObject({ accountId: 'from the token' })
    expect(await find({ access, accountId: 'given' })).toMatchObject({ accountId: 'given' })
  })

  test('that have ended are renewed once, however many ask, and onRefresh is called before they are used', async () => {
    const { server, place, clock } = await authority()
    const { access, refresh } = server.issue(0)
    const heard: string[] = []
    const source = credentialSource(
      { access, refresh, expires: clock.now() - 1, onRefresh: (tokens) => void heard.push(tokens.access) },
      place,
    )
    const found = await Promise.all([source.get(), source.get(), source.get()])
    expect(server.renewals).toBe(1)
    expect(new Set(found.map((one) => one?.secret))).toEqual(new Set(heard))
    expect(heard).toHaveLength(1)
    expect(server.accepts(heard[0]!)).toBe(true)
    // Only one of them reports the renewal.
    expect(found.filter((one) => one?.isFresh)).toHaveLength(1)
    expect(await source.get()).not.toHaveProperty('isFresh')
  })

  test('that a service did not accept are renewed once, however many were refused', async () => {
    const { server, place, clock } = await authority()
    const issued = server.issue(clock.now())
    const source = credentialSource(issued, place)
    const refused = (await source.get())!
    expect(refused.secret).toBe(issued.access)
    const renewed = await Promise.all([source.renew(refused), source.renew(refused)])
    expect(server.renewals).toBe(1)
    expect(renewed[0]!.secret).toBe(renewed[1]!.secret)
    expect(renewed[0]!.secret).not.toBe(issued.access)
  })

  test('A228 of the file are renewed in the file, which only its owner may read', async () => {
    const { server, place, clock } = await authority()
    const credentialsPath = join(await tempFolder(), 'credentials.json')
    const store = createCredentialStore({ path: credentialsPath })
    await store.set('acme', { type: 'oauth', ...server.issue(0), expires: clock.now() - 1, accountId: 'a1' })
    const source = credentialSource({ env: {}, credentialsPath }, place)
    const found = await source.get()
    expect(found).toMatchObject({ kind: 'oauth', isFresh: true, accountId: 'a1' })
    expect(server.accepts(found!.secret)).toBe(true)
    expect(await store.get('acme')).toMatchObject({ type: 'oauth', access: found!.secret, accountId: 'a1' })
    expect((await stat(credentialsPath)).mode & 0o777).toBe(0o600)
    // A process that comes later finds the new ones.
    const later = credentialSource({ env: {}, credentialsPath }, place)
    expect(await later.get()).toMatchObject({ secret: found!.secret })
    expect(server.renewals).toBe(1)
  })

  test('that cannot be renewed any more fail without being shown', async () => {
    const { place, clock } = await authority()
    const source = credentialSource({ access: 'old-access', refresh: 'burnt-refresh', expires: clock.now() - 1 }, place)
    const error = await Promise.resolve(source.get()).catch((caught: Error) => caught)
    expect(error).toBeInstanceOf(Error)
    expect(String((error as Error).message)).not.toMatch(/old-access|burnt-refresh/)
  })
})

const acme: CredentialLookup = { name: 'acme', env: ['ACME_API_KEY'] }

const find = async (options: CredentialOptions, place = acme) =>
  credentialSource({ credentialsPath: false, ...options }, place).get()

async function authority() {
  const server = await startAuthorizationServer()
  onTestFinished(() => server.close())
  const clock = fakeClock(1_000_000)
  const place: CredentialLookup = { ...acme, oauth: server.endpoints, fetch: loopbackFetch, clock }
  return { server, place, clock }
}

async function fileWith(entries: object): Promise<string> {
  const path = join(await tempFolder(), 'credentials.json')
  await writeFile(path, JSON.stringify(entries))
  return path
}

async function tempFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'libero-credential-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}
