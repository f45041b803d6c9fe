import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { CliError, UsageError } from '../cli-error.ts'
import type { Config } from '../config/config.ts'
import { chooseModel, type ModelIo, type ModelRequest, NoModelError } from './choose-model.ts'

let home: string
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'choose-model-'))
})
afterEach(() => rm(home, { recursive: true, force: true }))

const noServer: typeof fetch = async () => {
  throw new TypeError('fetch failed')
}

/** A machine on which only these servers answer, by port. */
function serving(models: Readonly<Record<string, readonly string[]>>, asked: string[] = []): typeof fetch {
  return async (address) => {
    const { href, port } = new URL(String(address))
    asked.push(href)
    if (!models[port]) throw new TypeError('fetch failed')
    return Response.json({ object: 'list', data: models[port].map((id) => ({ id, object: 'model' })) })
  }
}

async function choose(wish: ModelRequest, { config = {}, ...io }: Partial<ModelIo> & { config?: Config } = {}) {
  const { provider, ...chosen } = await chooseModel(wish, config, { env: {}, home, fetch: noServer, ...io })
  expect(provider.meta.name).toBe(chosen.name)
  return chosen
}

const storeKeys = (...names: string[]): Promise<void> =>
  writeFile(
    join(home, 'credentials.json'),
    JSON.stringify(Object.fromEntries(names.map((name) => [name, { type: 'api_key', key: 'stored-key-1' }]))),
  )

describe('a provider that is named', () => {
  test('is used, with its own default model', async () => {
    const env = { OPENAI_API_KEY: 'k', ANTHROPIC_API_KEY: 'k' }
    expect(await choose({ provider: 'openai' }, { env })).toEqual({
      name: 'openai',
      model: 'gpt-5.5',
      why: '--provider openai',
    })
  })

  test('without a key means one error with all next steps, before any request', async () => {
    const failing = choose({ provider: 'anthropic' })
    await expect(failing).rejects.toThrow(
      'anthropic needs a key: set ANTHROPIC_API_KEY, or run: libero login anthropic (to try without one: --provider offline)',
    )
    await expect(failing).rejects.toMatchObject({ exitCode: 1 })
    await expect(failing).rejects.toBeInstanceOf(CliError)
  })

  test('works with a stored key, a given key, or without one at a local address', async () => {
    await storeKeys('mistral')
    expect(await choose({ provider: 'mistral' })).toMatchObject({ name: 'mistral' })
    expect(await choose({ provider: 'cerebras', apiKey: 'k' })).toMatchObject({ name: 'cerebras' })
    expect(await choose({ provider: 'groq', baseURL: 'http://127.0.0.1:9/v1' })).toMatchObject({ name: 'groq' })
    await expect(choose({ provider: 'groq', baseURL: 'http://example.test/v1' })).rejects.toThrow('groq needs a key')
    await expect(choose({ provider: 'cerebras', apiKey: ' ' })).rejects.toThrow('cerebras needs a key')
  })

  test('with a typo is a usage error that suggests the nearest', async () => {
    const failing = choose({ provider: 'antropic' })
    await expect(failing).rejects.toThrow(
      'there is no provider "antropic", did you mean anthropic? (there are anthropic, openai',
    )
    await expect(failing).rejects.toBeInstanceOf(UsageError)
    await expect(choose({}, { config: { provider: 'opnai' } })).rejects.toThrow('did you mean openai?')
    await expect(choose({ provider: 'x\u001b[2J' })).rejects.toThrow('"x␛[2J"')
  })

  test('with an invalid address, or a password in it, is a usage error that does not repeat the password', async () => {
    await expect(choose({ provider: 'openai', apiKey: 'k', baseURL: 'ftp://x' })).rejects.toBeInstanceOf(UsageError)
    const failing = choose({ provider: 'openai', apiKey: 'k', baseURL: 'https://me:hunter22@example.test' })
    await expect(failing).rejects.toThrow('must not hold a user name or a password')
    await expect(failing).rejects.not.toThrow('hunter22')
  })

  test('comes from the config unless a flag names another, together with the model of the config', async () => {
    const config = { provider: 'openai', model: 'gpt-5-mini' }
    const env = { OPENAI_API_KEY: 'k', ANTHROPIC_API_KEY: 'k' }
    expect(await choose({}, { config, env })).toMatchObject({
      name: 'openai',
      model: 'gpt-5-mini',
      why: 'provider in the config',
    })
    expect(await choose({ model: 'gpt-5.5' }, { config, env })).toMatchObject({ name: 'openai', model: 'gpt-5.5' })
    expect(await choose({ provider: 'anthropic' }, { config, env })).toMatchObject({ model: 'claude-sonnet-5' })
    expect(await choose({ provider: 'openai' }, { config, env })).toMatchObject({ model: 'gpt-5-mini' })
  })

  test('may be defined in the config, with its address and its variable for the key', async () => {
    const config = { providers: { mine: { baseURL: 'https://models.test/v1', model: 'm-1', apiKeyEnv: 'MY_KEY' } } }
    await expect(choose({ provider: 'mine' }, { config })).rejects.toThrow(
      'mine needs a key: set MY_KEY, or run: libero login mine',
    )
    const env = { MY_KEY: 'k' }
    expect(await choose({ provider: 'mine' }, { config, env })).toMatchObject({ name: 'mine', model: 'm-1' })
    expect(await choose({ model: 'mine/m-2' }, { config, env })).toMatchObject({ name: 'mine', model: 'm-2' })
    expect(await choose({}, { config, env })).toMatchObject({ name: 'mine', why: 'MY_KEY is set' })
  })

  test('UI29 a provider of the config has the price and the context window that the config says', async () => {
    const price = { input: 2, output: 10, cacheRead: 0.5 }
    const mine = { baseURL: 'https://models.test/v1', model: 'm-1', apiKeyEnv: 'MY_KEY', contextWindow: 64_000, price }
    const io = { env: { MY_KEY: 'k' }, home, fetch: noServer }
    const { provider } = await chooseModel({ provider: 'mine' }, { providers: { mine } }, io)
    const usage = { input: 1_000_000, output: 100_000, cacheRead: 2_000_000, cacheCreation: 500_000 }
    expect(await provider.costOf?.('m-1', usage)).toBeCloseTo(2 + 1 + 1 + 1)
    expect(await provider.costOf?.('m-2', { input: 1_000_000, output: 0 })).toBeCloseTo(2)
    expect(await provider.contextWindow?.('m-2')).toBe(64_000)
    const { price: _, ...unpriced } = mine
    const bare = await chooseModel({ provider: 'mine' }, { providers: { mine: unpriced } }, io)
    expect(await bare.provider.costOf?.('m-1', usage)).toBeUndefined()
    expect(await bare.provider.contextWindow?.('m-1')).toBe(64_000)
  })
})

describe('a model with a slash in its name', () => {
  const env = { OPENAI_API_KEY: 'k', OPENROUTER_API_KEY: 'k', GROQ_API_KEY: 'k' }

  test('names its provider if no other is named', async () => {
    expect(await choose({ model: 'openai/gpt-5-mini' }, { env })).toEqual({
      name: 'openai',
      model: 'gpt-5-mini',
      why: '--model openai/gpt-5-mini',
    })
    expect(await choose({ model: 'openai/x' }, { env, config: { provider: 'anthropic' } })).toMatchObject({
      name: 'openai',
    })
    expect(await choose({}, { env, config: { model: 'groq/qwen' } })).toMatchObject({ name: 'groq', model: 'qwen' })
  })

  test('is not split for a provider whose models all have such names', async () => {
    const wish = { model: 'openai/gpt-oss-120b' }
    expect(await choose({ ...wish, provider: 'groq' }, { env })).toMatchObject({ name: 'groq', ...wish })
    expect(await choose(wish, { env, config: { provider: 'openrouter' } })).toMatchObject({
      name: 'openrouter',
      ...wish,
    })
    expect(await choose({ model: 'openrouter/auto' }, { env })).toMatchObject({
      name: 'openrouter',
      model: 'openrouter/auto',
    })
    expect(await choose({ model: 'openrouter/a/b' }, { env })).toMatchObject({ name: 'openrouter', model: 'a/b' })
  })

  test('is not split if its first part is not a provider', async () => {
    expect(await choose({ model: 'acme/one' }, { env })).toMatchObject({ name: 'openai', model: 'acme/one' })
  })
})

describe('if no provider is named', () => {
  test('the environment takes precedence over stored keys, each in a fixed order', async () => {
    await storeKeys('groq', 'openai')
    const env = { GEMINI_API_KEY: 'k', CEREBRAS_API_KEY: 'k', ANTHROPIC_API_KEY: '  ' }
    expect(await choose({}, { env })).toMatchObject({ name: 'google', why: 'GEMINI_API_KEY is set' })
    expect(await choose({})).toMatchObject({ name: 'openai', why: 'there is a login for openai' })
  })

  test('a local server is next: Ollama before LM Studio, with the first model that writes text', async () => {
    const both = { 11434: ['nomic-embed-text:latest', 'qwen3:8b'], 1234: ['phi-4'] }
    expect(await choose({}, { fetch: serving(both) })).toEqual({
      name: 'ollama',
      model: 'qwen3:8b',
      why: 'ollama answers on this machine',
    })
    expect(await choose({}, { fetch: serving({ 1234: ['phi-4'] }) })).toMatchObject({
      name: 'lmstudio',
      model: 'phi-4',
    })
    expect(await choose({}, { fetch: serving({ 11434: [], 1234: ['phi-4'] }) })).toMatchObject({ name: 'lmstudio' })
  })

  test('only local addresses are contacted, and none if there is a key', async () => {
    const asked: string[] = []
    await choose({}, { fetch: serving({ 1234: ['phi-4'] }, asked) })
    expect(asked).toEqual(['http://127.0.0.1:11434/v1/models', 'http://127.0.0.1:1234/v1/models'])
    await choose({}, { fetch: serving({}, asked), env: { XAI_API_KEY: 'k' } })
    expect(asked).toHaveLength(2)
  })

  test('a server that answers nonsense, or never, is ignored', async () => {
    const rubbish: typeof fetch = async () => new Response('<html>')
    await expect(choose({}, { fetch: rubbish })).rejects.toThrow(NoModelError)
    const never: typeof fetch = (_address, init) =>
      new Promise((_, reject) => init?.signal?.addEventListener('abort', () => reject(init.signal?.reason)))
    await expect(choose({}, { fetch: never })).rejects.toThrow(NoModelError)
  })

  test('T07 without any, the error names libero login, a variable and the offline model', async () => {
    await expect(choose({})).rejects.toThrow(
      /^no model is set up: .*libero login.*ANTHROPIC_API_KEY.*--provider offline/,
    )
  })

  test('a requested model is never silently replaced by another one', async () => {
    const local = serving({ 11434: ['qwen3:8b'] })
    expect(await choose({ model: 'qwen3:8b' }, { fetch: local })).toMatchObject({ name: 'ollama', model: 'qwen3:8b' })
    await expect(choose({ model: 'gpt-9' }, { fetch: local })).rejects.toThrow(
      'no provider was found for the model "gpt-9": name one with --provider, or run: libero login',
    )
  })

  test('a key or an address without a provider is refused', async () => {
    const env = { ANTHROPIC_API_KEY: 'k' }
    await expect(choose({ baseURL: 'http://127.0.0.1:1/v1' }, { env })).rejects.toThrow('the address needs a provider')
    await expect(choose({ apiKey: 'secret-key-1' }, { env })).rejects.toThrow('the key needs a provider')
  })

  test('a credentials file that cannot be read is an error', async () => {
    await writeFile(join(home, 'credentials.json'), '{ "openai": ')
    await expect(choose({})).rejects.toThrow('is not a JSON object')
  })
})

test('a local server with an endless response is ignored', async () => {
  let given = 0
  const endless: typeof fetch = async () =>
    new Response(
      new ReadableStream({
        pull(controller) {
          given++
          if (given > 100) controller.error(new Error('it was listened to for too long'))
          controller.enqueue(Buffer.alloc(1024 * 1024, ' '))
        },
      }),
    )
  await expect(choose({ provider: 'ollama' }, { fetch: endless })).rejects.toThrow('ollama does not answer')
  expect(given).toBeLessThan(10)
})

test('for a named local server its first model is used, or the error says how to get one', async () => {
  expect(await choose({ provider: 'ollama' }, { fetch: serving({ 11434: ['qwen3:8b'] }) })).toMatchObject({
    model: 'qwen3:8b',
  })
  expect(await choose({ provider: 'ollama', model: 'own' })).toMatchObject({ model: 'own' })
  await expect(choose({ provider: 'ollama' })).rejects.toThrow('ollama does not answer at 127.0.0.1:11434: start it')
  const failing = choose({ provider: 'ollama', baseURL: 'http://me:hunter22@127.0.0.1:9/v1' })
  await expect(failing).rejects.not.toThrow('hunter22')
  await expect(choose({ provider: 'ollama' }, { fetch: serving({ 11434: [] }) })).rejects.toThrow('run: ollama pull')
})
