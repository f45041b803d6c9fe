import { inspect } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { hookNames } from '../../src/core/hook-map.ts'
import { createAgent, createMemoryStore, createSession } from '../../src/index.ts'
import type { ServiceOptions } from '../../src/providers/service.ts'
import { openai } from '../../src/providers/services/openai.ts'
import { openaiCompat } from '../../src/providers/services/openai-compat.ts'
import { type Answer, cut, type FaultServer, startFaultServer } from './fault-server.ts'
import { type Family, families } from './fault-streams.ts'
import { error, hello, key, meetAt } from './provider-faults-kit.ts'

let server: FaultServer
let other: FaultServer
beforeAll(async () => {
  server = await startFaultServer()
  other = await startFaultServer()
})
afterAll(async () => {
  await server.close()
  await other.close()
})
afterEach(() => vi.restoreAllMocks())

describe('no key', () => {
  /** Every text that an error, event or log could contain of it. */
  const written = (...things: readonly unknown[]): string =>
    things.map((thing) => `${inspect(thing, { depth: 10, showHidden: true })}${json(thing)}${String(thing)}`).join('\n')

  function json(thing: unknown): string {
    try {
      return JSON.stringify(thing) ?? ''
    } catch {
      return ''
    }
  }

  const echoes = (family: Family): Record<string, Answer> => ({
    'in a body': error(family, 400, `invalid key ${key}`),
    'as a code': { status: 401, body: family.error('no', key) },
    'as text': { status: 403, body: `Authorization: Bearer ${key}` },
    'in a page': { status: 500, body: `<html>${key}</html>` },
    'when it is busy': error(family, 429, `${key} is over its limit`, { 'retry-after': '0' }),
    'when it asks for a long pause': error(family, 429, `${key} is over its limit`, { 'retry-after': '99999' }),
    'in a stream': { body: `data: {"oops ${key}\n\n` },
    'in an error in a stream': { body: family.overload.replace(/verloaded"/g, `verloaded ${key}"`) },
    'after the first words': {
      body: [family.frames(hello).slice(0, 3).join(''), family.overload.replace(/verloaded"/g, `verloaded ${key}"`)],
    },
    'in a redirect': { status: 302, headers: { location: `http://127.0.0.1:1/?key=${key}` } },
    'in a redirect to nowhere': { status: 307, headers: { location: `ftp://${key}@127.0.0.1/` } },
    'and hangs up': { body: [cut] },
  })

  test.each(families)(
    'of $name is in an error, a hook, a log or on the console, even if the service repeats it',
    async (family) => {
      const printed: unknown[] = []
      for (const method of ['log', 'warn', 'error', 'info', 'debug'] as const)
        vi.spyOn(console, method).mockImplementation((...args) => void printed.push(args))
      for (const [how, answer] of Object.entries(echoes(family))) {
        const store = createMemoryStore()
        const session = await createSession({ store, id: 's' })
        server.play(answer)
        const meeting = meetAt(server.url, family, {
          session,
          service: { retry: { initialDelayMs: 0, maxAttempts: 1 } },
        })
        const told: unknown[] = []
        for (const name of hookNames) meeting.agent.hooks.hook(name, (ctx: unknown) => void told.push(name, ctx))
        const failed = await meeting.failure()
        const all = written(failed, failed.cause, failed.stack, told, printed, await store.read('s'))
        expect(server.requests.length, how).toBeGreaterThan(0)
        expect(JSON.stringify(server.requests[0]!.headers), how).toContain(key)
        expect(all.includes('canary'), how).toBe(false)
      }
    },
  )

  const others = {
    ...Object.fromEntries(families.map(({ name, make }) => [name, (options: ServiceOptions) => make(options)])),
    'a service with a header of its own': (options: ServiceOptions) =>
      openaiCompat({ ...options, name: 'acme', defaultModel: 'm', authHeader: { name: 'X-Acme-Token' } }),
    'a login': ({ apiKey: _, ...options }: ServiceOptions) => openai({ ...options, access: key, accountId: 'a' }),
  }
  test.each(Object.entries(others))('S12 of %s goes to another origin, nor does the prompt', async (_, make) => {
    for (const status of [307, 308]) {
      server.play({ status, headers: { location: `${other.url}/elsewhere` } })
      const provider = make({ apiKey: key, baseURL: server.url, prices: false })
      await expect(createAgent({ provider }).run({ prompt: 'over there' })).rejects.toThrow(
        `${server.url} answered ${status} to POST, which leads to ${other.url}: not followed to another origin`,
      )
      expect(JSON.stringify(server.requests[0]!.headers)).toContain(key)
    }
    expect(server.requests).toHaveLength(1)
    expect(other.requests).toEqual([])
  })
})
