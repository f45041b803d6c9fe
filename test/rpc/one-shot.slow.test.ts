import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { plainTurn } from './check-grammar.ts'
import type { MockService } from './mock-service.ts'
import { type Client, order, scratch, service, start } from './rpc-kit.ts'

/** `libero --json` with a provider of the user's config. */
function startJson(mock: MockService, ...args: readonly string[]): Client {
  const home = join(scratch(), 'home')
  mkdirSync(home)
  const providers = { mock: { baseURL: mock.url, model: 'mock-1' } }
  writeFileSync(join(home, 'config.json'), JSON.stringify({ provider: 'mock', providers }))
  const client = start(['--json', ...args], { home })
  client.end()
  return client
}

describe('libero --json', () => {
  test('C033 writes the frames of one prompt and ends with 0', async () => {
    const mock = await service()
    const client = startJson(mock, 'say something')
    expect(await client.exited).toBe(0)
    expect(order(client.frames)).toEqual(['user_message', ...plainTurn, 'done'])
  })

  test('C033 a failure is one error, last, and exit code 1', async () => {
    const mock = await service()
    mock.play({ status: 401 })
    const client = startJson(mock, 'say something')
    expect(await client.exited).toBe(1)
    expect(order(client.frames).slice(-2)).toEqual(['turn_end', 'error'])
  })

  test('C033 F005 a call that needs an approval halts it, with exit code 3', async () => {
    const mock = await service()
    mock.play([{ call: 'write_file', args: { path: 'made.txt', content: 'here' } }])
    const client = startJson(mock, 'write it')
    expect(await client.exited).toBe(3)
    expect(client.frames.find(({ type }) => type === 'tool_result')).toMatchObject({ is_error: true })
    expect(mock.requests).toHaveLength(1)
  })
})
