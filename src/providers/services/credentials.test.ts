import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { fakeService } from '../../../test/oracles/loopback.ts'
import { ask, secretIn, serviceCases } from '../../../test/oracles/services.ts'
import { speak } from '../../../test/oracles/streams.ts'
import { createCredentialStore } from '../../auth/credentials.ts'
import { AgentAuthError } from '../../core/errors.ts'
import { createAgent } from '../../create-agent.ts'
import type { ServiceOptions } from '../service.ts'

describe.each(serviceCases)('the credentials of %s', (name, { make, wire, env }) => {
  /** The secrets that a provider with these options sends. */
  async function sent(options: ServiceOptions): Promise<string[]> {
    const { fetch, asked } = fakeService(speak(wire, { text: 'hello' }))
    await ask(make({ fetch, prices: false, ...options }))
    return asked.flatMap(({ headers }) => secretIn(headers))
  }

  test('A228 are the key, else the token, else those of the environment, else those of the file', async () => {
    const credentialsPath = await stored(name, { type: 'api_key', key: 'of-the-file' })
    const file = { credentialsPath, env: {} }
    const environment = { ...file, env: { [env]: 'of-the-environment' } }
    const token = { ...environment, access: 'token' }
    expect(await sent({ ...token, apiKey: 'key' })).toEqual(['key'])
    expect(await sent(token)).toEqual(['token'])
    expect(await sent(environment)).toEqual(['of-the-environment'])
    expect(await sent(file)).toEqual(['of-the-file'])
  })

  test('A228 may be OAuth tokens in the file', async () => {
    const credentialsPath = await stored(name, { type: 'oauth', access: 'of-a-login' })
    expect(await sent({ credentialsPath, env: {} })).toEqual(['of-a-login'])
  })

  test('that are missing make the run fail with a word on what to do', async () => {
    const { fetch, asked } = fakeService()
    const provider = make({ fetch, env: {}, credentialsPath: false })
    const error = await createAgent({ provider })
      .run({ prompt: 'hi' })
      .catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(AgentAuthError)
    expect(error).toMatchObject({ provider: name, providerCode: 'no_credentials', retryable: false })
    expect((error as Error).message).toContain(`pass apiKey, or set ${env}`)
    expect(asked).toEqual([])
  })

  test('that are refused make the run fail at once, and the key is not repeated', async () => {
    const answer = { status: 401, body: JSON.stringify({ error: { message: 'bad key sk-live-abcdefghijklmnop' } }) }
    const { fetch, asked } = fakeService(answer)
    const provider = make({ fetch, apiKey: 'sk-live-abcdefghijklmnop' })
    const error = await createAgent({ provider })
      .run({ prompt: 'hi' })
      .catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(AgentAuthError)
    expect(String(error) + JSON.stringify(error)).not.toContain('abcdefghijklmnop')
    expect(asked).toHaveLength(1)
  })

  test('S12 are taken to no other origin by a redirect, nor is the prompt', async () => {
    const elsewhere = { status: 307, headers: { location: 'https://elsewhere.example/v1' } }
    const { fetch, asked } = fakeService(elsewhere, speak(wire, { text: 'hello' }))
    const answer = ask(make({ fetch, apiKey: 'key', prices: false, retry: false }))
    await expect(answer).rejects.toThrow(/leads to https:\/\/elsewhere\.example: not followed to another origin/)
    expect(asked).toHaveLength(1)
  })
})

async function stored(name: string, credential: Parameters<ReturnType<typeof createCredentialStore>['set']>[1]) {
  const folder = await mkdtemp(join(tmpdir(), 'libero-services-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const path = join(folder, 'credentials.json')
  await createCredentialStore({ path }).set(name, credential)
  return path
}
