import { describe, expect, test } from 'vitest'
import { type ServedModelsOptions, servedModels } from './rpc.ts'

const offlineFetch: typeof fetch = async () => {
  throw new TypeError('fetch failed')
}

function serve(options: Partial<ServedModelsOptions>, fetch = offlineFetch): ReturnType<typeof servedModels> {
  const io = { env: {}, home: '/desk/home', fetch }
  return servedModels({ provider: 'deepseek', model: 'deepseek-chat', config: {}, io, ...options })
}

describe('models that can be chosen', () => {
  test('C023 C024 are those in the list of the provider', async () => {
    const models = serve({})
    const listed = await models.list('deepseek-chat')
    expect(listed[0]).toMatchObject({ id: 'deepseek-chat', provider: 'deepseek' })
    expect(listed.length).toBeGreaterThan(1)
    expect(await models.has(listed[1]!.id)).toBe(true)
    expect(await models.has('no-such')).toBe(false)
  })

  test('with another address, those that the server lists', async () => {
    const asked: unknown[] = []
    const fetch: typeof globalThis.fetch = async (url) => {
      asked.push(url)
      return Response.json({ data: [{ id: 'one' }, { id: 'two' }] })
    }
    const models = serve({ model: 'one', baseURL: 'http://127.0.0.1:9/v1' }, fetch)
    expect(asked).toEqual([])
    expect((await models.list('one')).map(({ id }) => id)).toEqual(['one', 'two'])
    expect([await models.has('two'), await models.has('three')]).toEqual([true, false])
  })

  test('any, if they cannot be listed; a remote server is not asked without a key', async () => {
    const fetch: typeof globalThis.fetch = async () => {
      throw new Error('it was asked')
    }
    for (const baseURL of ['http://127.0.0.1:9/v1', 'https://models.example.org/v1']) {
      const models = serve({ baseURL }, fetch)
      expect(await models.has('whatever')).toBe(true)
      expect(await models.list('whatever')).toEqual([
        { id: 'whatever', provider: 'deepseek', contextWindow: 0, maxOutput: 0, reasoning: false },
      ])
    }
  })

  test('one, for the offline model', async () => {
    const models = serve({ provider: 'offline', model: 'offline' })
    expect([await models.has('offline'), await models.has('gpt-5')]).toEqual([true, false])
  })
})
