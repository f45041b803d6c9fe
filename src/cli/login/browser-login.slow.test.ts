import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  type AuthorizationServer,
  loopbackFetch,
  startAuthorizationServer,
} from '../../../test/authorization-server.ts'
import { type TestIo, testIo } from '../../../test/cli-io.ts'
import type { StopSignal } from '../io.ts'
import { openCredentials } from '../setup/keys.ts'
import { browserLogin } from './browser-login.ts'

let io: TestIo
let server: AuthorizationServer
beforeEach(async () => {
  ;[io, server] = await Promise.all([testIo(), startAuthorizationServer()])
  io.fetch = loopbackFetch
})
afterEach(() => Promise.all([io.remove(), server.close()]))

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
  expect(io.errText()).toContain('To log in to openai, open http://127.0.0.1')
  expect(io.errText()).not.toContain(found?.type === 'oauth' ? found.access : '')
})

test('Ctrl-C ends it, with nothing stored', async () => {
  let interrupt: ((signal: StopSignal) => void) | undefined
  const listening = {
    ...io,
    onSignal: (listener: (signal: StopSignal) => void) => {
      interrupt = listener
      return () => {
        interrupt = undefined
      }
    },
  }
  const openBrowser = (): void => interrupt?.('SIGINT')
  const failing = browserLogin('openai', undefined, listening, { endpoints: server.endpoints, openBrowser })
  await expect(failing).rejects.toMatchObject({
    exitCode: 130,
    message: 'the login was stopped, and nothing was stored',
  })
  expect(await (await openCredentials(io)).list()).toEqual([])
  expect(interrupt).toBeUndefined()
})
