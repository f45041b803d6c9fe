import { expect, test } from 'vitest'
import { createAuthority } from '../../src/authority/authority.ts'
import { createAgent, createMemoryStore } from '../../src/index.ts'
import type { ServerOptions } from '../../src/server/index.ts'
import type { SessionSettings } from '../../src/server/session-settings.ts'
import type { AgentForRequest } from '../../src/server/session-work.ts'
import { scripted } from '../../src/testing/index.ts'
import { gated, startServer, until } from './server-kit.ts'

/** A server whose agents have the mode that clients chose, else `ask`. */
async function withSettings(more: Partial<ServerOptions> & { provider?: () => ReturnType<typeof scripted> } = {}) {
  const given: SessionSettings[] = []
  const { provider = () => scripted('Done.'), ...options } = more
  const server = await startServer({
    async agentFor({ session, settings }: AgentForRequest) {
      given.push(settings)
      const authority = createAuthority({ mode: settings.mode ?? 'ask' })
      const agent = createAgent({ provider: provider(), session, authority })
      return { agent, authority, close: () => agent.destroy() }
    },
    workspaceFor: async ({ settings }) => ({
      profiles: ['build', 'plan'],
      settings: async () => ({ model: { provider: 'p', model: 'm' }, mode: 'ask', ...settings }),
      async close() {},
    }),
    ...options,
  })
  await server.send('POST', '/v1/sessions', { id: 'a' })
  const settings = async () => (await server.send('GET', '/v1/sessions/a/settings')).body
  const choose = (change: object) => server.send('PATCH', '/v1/sessions/a/settings', change)
  const ask = () => server.send('POST', '/v1/sessions/a/messages', { content: 'Go.' }, { prefer: 'wait=20' })
  return { ...server, given, settings, choose, ask }
}

test('WB01 model, thinking, mode and profile are chosen for one session, kept in its log, and taken back', async () => {
  const store = createMemoryStore()
  const first = await withSettings({ store })
  expect(await first.settings()).toEqual({
    chosen: {},
    now: { model: { provider: 'p', model: 'm' }, mode: 'ask' },
    profiles: ['build', 'plan'],
  })
  const model = { provider: 'q', model: 'big' }
  expect((await first.choose({ model, thinking: 'high' })).body.now).toEqual({ model, thinking: 'high', mode: 'ask' })
  await first.choose({ mode: 'plan', profile: 'build', thinking: null })
  await first.ask()
  expect(first.given).toEqual([{ model, mode: 'plan', profile: 'build' }])
  const second = await startServer({ store, workspaceFor: workspace })
  expect((await second.send('GET', '/v1/sessions/a/settings')).body.chosen).toEqual(first.given[0])
  for (const wrong of [{}, { mode: 'fast' }, { colour: 'red' }, { model: 'm' }, { thinking: 7 }])
    expect((await first.choose(wrong)).status, JSON.stringify(wrong)).toBe(400)
})

test('WB01 a mode counts from the next call on in the run that is under way', async () => {
  const script = gated('Done.')
  const { choose, settings, send, store } = await withSettings({ provider: () => script.provider as never })
  await send('POST', '/v1/sessions/a/messages', { content: 'Go.' })
  await until(() => script.requests.length === 1)
  expect((await choose({ mode: 'plan' })).body.now.mode).toBe('plan')
  expect((await choose({ mode: 'allowlist' })).body.now.mode).toBe('allowlist')
  script.open()
  await until(async () => (await store.find('a'))?.status === 'idle')
  expect((await settings()).now.mode).toBe('allowlist')
})

test('WB02 a run under way leaves yolo when the choice is taken back', async () => {
  const script = gated('Done.')
  let authority: ReturnType<typeof createAuthority> | undefined
  const { choose, send } = await withSettings({
    async agentFor({ session, settings }) {
      authority = createAuthority({ mode: settings.mode ?? 'ask' })
      const agent = createAgent({ provider: script.provider, session, authority })
      return { agent, authority, close: () => agent.destroy() }
    },
  })
  await send('POST', '/v1/sessions/a/messages', { content: 'Go.' })
  await until(() => script.requests.length === 1)
  await choose({ mode: 'yolo' })
  expect(authority?.mode).toBe('yolo')
  expect((await choose({ mode: null })).body).toMatchObject({ chosen: {}, now: { mode: 'ask' } })
  expect(authority?.mode).toBe('ask')
  script.open()
})

test('WB01 a mode that is chosen while the agent is opened reaches it', async () => {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => void (open = resolve))
  const authority = createAuthority({ mode: 'ask' })
  let isOpening = false
  const { choose, send } = await withSettings({
    async agentFor({ session }) {
      isOpening = true
      await opened
      const agent = createAgent({ provider: scripted('Done.'), session, authority })
      return { agent, authority, close: () => agent.destroy() }
    },
  })
  await send('POST', '/v1/sessions/a/messages', { content: 'Go.' })
  await until(() => isOpening)
  const chosen = choose({ mode: 'plan' })
  open()
  await chosen
  expect(authority.mode).toBe('plan')
})

test('WB02 no log, copy, import or restart leads to yolo, and only an admin chooses it', async () => {
  const store = createMemoryStore()
  const { choose, settings, send } = await withSettings({ store })
  await choose({ mode: 'plan' })
  expect((await choose({ mode: 'yolo' })).body.chosen).toEqual({ mode: 'yolo' })
  await send('POST', '/v1/sessions/a/fork', { id: 'copy' })
  expect((await send('GET', '/v1/sessions/copy/settings')).body.chosen).toEqual({ mode: 'plan' })
  expect(JSON.stringify(await store.read('a'))).not.toContain('yolo')
  const again = await startServer({ store, workspaceFor: workspace })
  expect((await again.send('GET', '/v1/sessions/a/settings')).body.chosen).toEqual({ mode: 'plan' })
  const forged = (await again.send('GET', '/v1/sessions/copy/export')).body.replaceAll('"plan"', '"yolo"')
  await again.send('POST', '/v1/sessions/import?id=forged', forged, { 'content-type': 'application/jsonl' })
  expect(JSON.stringify(await store.read('forged'))).toContain('yolo')
  expect((await again.send('GET', '/v1/sessions/forged/settings')).body.chosen).toEqual({})
  await send('DELETE', '/v1/sessions/a')
  await send('POST', '/v1/sessions', { id: 'a' })
  expect((await settings()).chosen.mode).not.toBe('yolo')
})

test('WB02 the mode and the profile need the scope answer, and yolo admin', async () => {
  let scopes: ('read' | 'send' | 'answer' | 'admin')[] = ['admin']
  const { choose, send } = await withSettings({ auth: { verify: () => ({ user: 'ann', scopes }) } })
  const command = (line: string) => send('POST', '/v1/sessions/a/commands', { line })
  scopes = ['send']
  const blind = await choose({ thinking: 'low' })
  expect([blind.status, blind.body]).toEqual([200, {}]) // settings are for callers who may read
  scopes = ['read', 'send']
  expect((await choose({ thinking: 'low' })).body.chosen).toEqual({ thinking: 'low' })
  expect((await choose({ mode: 'ask' })).body.code).toBe('scope_missing')
  // A profile decides the mode too: `build` would lead out of `plan`.
  for (const profile of ['build', null]) expect((await choose({ profile })).body.code).toBe('scope_missing')
  expect((await command('/profile build')).body.code).toBe('scope_missing')
  scopes = ['read', 'send', 'answer']
  expect((await choose({ mode: 'ask', profile: 'build' })).status).toBe(200)
  expect((await choose({ mode: 'yolo' })).body.code).toBe('scope_missing')
  scopes = ['admin']
  expect((await choose({ mode: 'yolo' })).body.chosen).toMatchObject({ mode: 'yolo' })
})

test('WB01 a host without workspaces says so', async () => {
  const { send } = await startServer({ provider: () => scripted('x') })
  await send('POST', '/v1/sessions', { id: 'a' })
  expect((await send('GET', '/v1/sessions/a/settings')).body).toMatchObject({ status: 501, code: 'not_offered' })
})

const workspace: NonNullable<ServerOptions['workspaceFor']> = async ({ settings }) => ({
  settings: async () => settings,
  async close() {},
})
