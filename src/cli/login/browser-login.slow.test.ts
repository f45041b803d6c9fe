import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  type AuthorizationServer,
  loopbackFetch,
  startAuthorizationServer,
} from '../../../test/authorization-server.ts'
import { type FakeIo, fakeIo } from '../../../test/cli/fake-io.ts'
import { openCredentials } from '../models/credentials.ts'
import { browserLogin } from './browser-login.ts'

let io: FakeIo
let server: AuthorizationServer
beforeEach(async () => {
  io = fakeIo({ fetch: loopbackFetch })
  server = await startAuthorizationServer()
})
afterEach(() => server.close())

test('a login in the browser is stored, and neither token is shown', async () => {
  const { endpoints } = server
  const openBrowser = async (url: string): Promise<void> => {
    const { headers } = await loopbackFetch(url)
    await loopbackFetch(headers.get('location') ?? '')
  }
  const path = await browserLogin('openai', undefined, io, { endpoints, openBrowser })
  const found = await (await openCredentials(io)).get('openai')
  expect(found?.type === 'oauth' && server.accepts(found.access)).toBe(true)
  expect(path).toContain('credentials.json')
  expect(io.said.err).toContain('To log in to openai, open http://127.0.0.1')
  expect(io.said.err).not.toContain(found?.type === 'oauth' ? found.access : '')
})

test('Ctrl-C stops the login, and nothing is stored', async () => {
  const openBrowser = (): void => io.signal('SIGINT')
  const failing = browserLogin('openai', undefined, io, { endpoints: server.endpoints, openBrowser })
  await expect(failing).rejects.toMatchObject({
    exitCode: 130,
    message: 'the login was stopped, and nothing was stored',
  })
  expect(await (await openCredentials(io)).list()).toEqual([])
  expect(io.signals.size).toBe(0)
})
