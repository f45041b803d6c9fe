import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createRemoteClient } from '../../src/client/index.ts'
import { createProcessContext } from '../../src/execution/process.ts'
import { definePlugin } from '../../src/plugins/plugin.ts'
import type { Route } from '../../src/server/route.ts'
import { allRoutes } from '../../src/server/routes/all-routes.ts'
import type { ServerAbout } from '../../src/server/server-options.ts'
import { call, type Step } from '../../src/testing/scripted.ts'
import { writeFile as writeFileTool } from '../../src/tools/write-file.ts'
import { temporary } from '../temporary.ts'
import { definition, world } from '../workflow/kit.ts'
import { answerProblems, routeOf } from './openapi-kit.ts'
import { startServer, token, until } from './server-kit.ts'

/** A client in this process whose answers are checked against the OpenAPI document. */
async function walked(
  steps: readonly Step[],
  { about, ...options }: Parameters<typeof world>[1] & { readonly about?: ServerAbout } = {},
) {
  const { workflow, store } = world(steps, options)
  onTestFinished(() => workflow.close())
  const { server } = await startServer({ store, workflowFor: async () => workflow, ...(about && { about }) })
  const taken = new Set<Route>()
  const problems: string[] = []
  onTestFinished(() => expect(problems).toEqual([]))
  const client = createRemoteClient({
    url: 'http://localhost',
    token,
    async fetch(address, init) {
      const response = await server.fetch(new Request(address, init))
      const route = routeOf(init.method ?? 'GET', new URL(address).pathname)!
      const answer = { status: response.status, type: response.headers.get('content-type') ?? '' }
      const body = await response.clone().text()
      for (const problem of answerProblems(route, { ...answer, body })) problems.push(`${route.path}: ${problem}`)
      if (response.ok) taken.add(route)
      return response
    },
  })
  return { client, taken }
}

const missedOf = (taken: ReadonlySet<Route>, paths: RegExp): readonly string[] =>
  allRoutes.flatMap((route) => (paths.test(route.path) && !taken.has(route) ? [`${route.method} ${route.path}`] : []))

test('WB35 every route about agents, schedules and webhooks has a method of the client', async () => {
  const folder = await temporary('walked-agent-')
  const plan = (): Promise<string> => readFile(join(folder, 'plan.txt'), 'utf8')
  await writeFile(join(folder, 'plan.txt'), 'sow\n')
  const write = call('1', 'write_file', { path: 'plan.txt', content: 'dig\n' })
  const { client, taken } = await walked([[write], 'Dug.', 'Again.'], {
    definitions: [definition('writing')],
    plugins: [definePlugin({ toolId: 'writing', displayName: '', description: '', tools: () => [writeFileTool] })],
    execution: createProcessContext({ cwd: folder }),
    snapshots: { store: await temporary('walked-snapshots-') },
  })
  const { agents, schedules, webhooks } = client
  const untilDone = (id: string) => until(async () => (await agents.get(id)).status.state === 'completed')

  expect(await agents.definitions()).toMatchObject([{ id: 'helper' }])
  expect(await agents.changeDefaults({ approval: { write_file: { mode: 'confirm' } } })).toEqual(
    await agents.defaults(),
  )
  const { id } = await agents.make({ definition: 'helper', id: 'agent-a', name: 'Digger', message: 'Dig' })
  await until(async () => (await agents.get(id)).status.state === 'input-required')
  const [waiting] = (await agents.get(id)).pending
  await agents.answer(id, waiting!.approvalId, { decision: 'allow', digest: waiting!.digest })
  await untilDone(id)
  expect((await agents.get(id)).tokens).toMatchObject({ level: 'ok' })
  const { messages, count } = await agents.messages(id, { from: 0, to: 1 })
  expect([messages[0]?.content, count > 1]).toEqual(['Dig', true])
  const message = messages[0]!.id
  await until(async () => {
    // It is at work until its files are recorded.
    const planned = await agents.planRollback(id, message).catch(() => undefined)
    return planned?.restore[0] === 'plan.txt'
  })
  expect(await plan()).toBe('dig\n')
  expect((await agents.rollback(id, message)).restored).toEqual(['plan.txt'])
  expect(await plan()).toBe('sow\n')
  expect((await agents.undoRollback(id, message, { force: true })).restored).toEqual(['plan.txt'])
  expect(await agents.rewind(id, message)).toEqual({ content: { text: 'Dig' } })
  expect(await agents.send(id, 'Again', { key: 'k1' })).toBe('k1')
  await untilDone(id)
  expect((await agents.settings(id)).plugins[0]).toMatchObject({ id: 'writing', tools: [{ name: 'write_file' }] })
  await until(async () => (await agents.update(id, { name: 'Dug' }).catch(() => undefined))?.name === 'Dug')
  expect((await agents.list({ state: ['idle'], limit: 5 })).agents).toMatchObject([{ id, title: 'Dug' }])
  expect((await agents.list({ name: 'Digger' })).agents).toEqual([])
  expect((await agents.list({ name: 'Dug' })).agents).toHaveLength(1)

  const everyHour = { type: 'interval', everySeconds: 3600 } as const
  const made = await schedules.make({ agentId: id, when: everyHour, message: 'Look', name: 'Hourly', maxRuns: 3 })
  expect(await schedules.update(made.id, { name: null, maxRuns: null, enabled: false })).toEqual(
    (await schedules.list({ agent: id }))[0],
  )
  await schedules.delete(made.id)
  expect(await schedules.list()).toEqual([])
  await agents.stop(id)
  await agents.close(id)
  await agents.delete(id)
  await expect(agents.get(id)).rejects.toMatchObject({ status: 404, code: 'no_agent' })

  const hook = await webhooks.make({ url: 'https://203.0.113.7/hook', events: ['run_ended'] }).catch((error) => error)
  expect(hook).toMatchObject({ status: 400 }) // an address of documentation is not public
  const { secret, ...kept } = await webhooks.make({ url: 'https://8.8.8.8/hook', events: ['run_ended'] })
  expect(secret).toMatch(/^whsec_/)
  expect(await webhooks.list()).toEqual([kept])
  await webhooks.delete(kept.id)
  expect(missedOf(taken, /^\/v1\/(agents|agent-settings|schedules|definitions|webhooks)\b/)).toEqual([])
})

test('WB41 every route about the host has a method of the client; what the host lacks is named by about and refused', async () => {
  const told: unknown[] = []
  const heard =
    <T>(answer: T) =>
    async (...given: readonly unknown[]): Promise<T> => {
      told.push(given[0])
      return answer
    }
  const explanation = { verdict: 'ask', by: 'mode', why: 'x' }
  const about: ServerAbout = {
    ...{ mcp: heard([]), explain: heard(explanation), testPolicy: heard({ results: [], passed: 0, failed: 0 }) },
    ...{ rules: heard({ mode: 'ask', rules: [] }), grants: heard([]), revokeGrant: async (id) => id === 'g' },
    ...{ audit: heard({ records: [], next: 'n' }), mcpLogin: heard({ url: 'https://a.example' }) },
    ...{ mcpLogout: heard({ removed: 1, revoked: 0 }), mcpTest: heard({ name: 'm', isOk: true, tools: [] }) },
    ...{ providers: heard([]), setKey: heard(undefined), deleteKey: async (name) => name === 'p' },
    wikitext: async (text) => [text, { tag: 'b', children: ['x'] }],
    place: async ({ user }) => ({ host: `of ${user}` }),
  }
  const { client, taken } = await walked([], { about })
  const { offers, ...facts } = await client.about()
  expect(offers).toEqual([...Object.keys(about).filter((name) => name !== 'place'), 'agents'].sort())
  expect(facts).toEqual({
    ...{ version: expect.any(String), user: 'user', host: 'of user' },
    scopes: ['read', 'send', 'answer', 'admin'],
  })
  const shell = { tool: 'shell', input: { command: 'ls' }, mode: 'yolo' } as const
  expect(await client.explain(shell)).toEqual(explanation)
  await client.testPolicy({ rules: { deny: ['net'] }, cases: [{ ...shell, expect: 'deny' }] })
  expect(told).toEqual([shell, { rules: { deny: ['net'] }, cases: [{ ...shell, expect: 'deny' }] }])
  await Promise.all([client.rules(), client.grants(), client.mcp(), client.providers(), client.revokeGrant('g')])
  await expect(client.revokeGrant('h')).rejects.toMatchObject({ status: 404, code: 'no_grant' })
  const query = { limit: 3, session: 's', tool: 't', decision: 'deny', text: 'x', cursor: 'n' } as const
  expect(await client.audit({ ...query, days: 2 })).toEqual({ records: [], next: 'n' })
  expect(told.at(-1)).toEqual({ ...query, since: expect.any(Number) })
  expect(await client.mcpLogin('a/b')).toEqual({ url: 'https://a.example' })
  expect([await client.mcpLogout('a/b'), await client.mcpTest('a/b')]).toHaveLength(2)
  expect(told.slice(-3)).toEqual(['a/b', 'a/b', 'a/b'])
  await client.setKey('p', 'key', { check: true })
  expect(told.at(-1)).toEqual({ provider: 'p', key: 'key', check: true })
  await client.deleteKey('p')
  await expect(client.deleteKey('q')).rejects.toMatchObject({ code: 'no_credential' })
  expect(await client.wikitext('a')).toEqual(['a', { tag: 'b', children: ['x'] }])
  expect(missedOf(taken, /^\/v1\/(wikitext|about|policy|rules|grants|audit|mcp|providers|credentials)\b/)).toEqual([])
  await expect(client.models()).rejects.toMatchObject({ status: 501, code: 'not_offered' })
})

test('WB41 a caller with scopes sees those, and may not write keys or read grants', async () => {
  const { send } = await startServer({
    about: { providers: async () => [], setKey: async () => {}, grants: async () => [] },
    auth: { verify: () => ({ user: 'ann', tenant: 'acme', scopes: ['read'] }) },
  })
  expect((await send('GET', '/v1/about')).body).toMatchObject({ user: 'ann', tenant: 'acme', scopes: ['read'] })
  expect((await send('GET', '/v1/providers')).status).toBe(200)
  for (const [method, path] of [['GET', '/v1/grants'] as const, ['GET', '/v1/audit'] as const])
    expect((await send(method, path)).status).toBe(403)
  expect((await send('PUT', '/v1/credentials/p', { key: 'k' })).status).toBe(403)
  expect((await send('POST', '/v1/mcp/x/login')).status).toBe(403)
})
