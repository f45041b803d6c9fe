import { expect, test } from 'vitest'
import { createRemoteClient, type RemoteClient, RemoteProblem } from '../../src/client/index.ts'
import type { Provider } from '../../src/core/provider.ts'
import { eventSchema } from '../../src/events/index.ts'
import { createSchemaValidator } from '../../src/platform/json-schema.ts'
import type { Route } from '../../src/server/route.ts'
import { allRoutes } from '../../src/server/routes/all-routes.ts'
import type { Snapshots } from '../../src/snapshots/index.ts'
import { call, scripted, tool } from '../../src/testing/index.ts'
import { listen, remote } from './http-kit.ts'
import { answerProblems, routeOf } from './openapi-kit.ts'
import { startServer, token } from './server-kit.ts'

/** Routes that `client-host.test.ts` walks, and those that other programs have clients for. */
const withoutMethod =
  /^\/v1\/(agents|agent-settings|schedules|definitions|webhooks|about|policy|rules|grants|audit|mcp|providers|credentials|wikitext|chat|openai)\b/

test('SV42 every route about sessions and the host has a method of the client, and each answer is as the document declares it', async () => {
  const { client, answers, store } = await walkedServer()
  await client.health()
  await client.ready()
  await client.login()
  expect((await client.openApi()).openapi).toBe('3.1.0')
  expect(await client.metrics()).toContain('libero_runs 0')

  const made = await client.sessions.make({ id: 'walk', kind: 'tour', folder: '/tmp', tags: ['a'], message: 'Hello.' })
  expect(made).toMatchObject({ id: 'walk', kind: 'tour', folder: '/tmp', tags: ['a'] })
  await runsEnded(client, 'walk', 1)
  expect(await client.send('walk', { content: 'Wait.', key: 'k1', waitSeconds: 20 })).toMatchObject({
    clientKey: 'k1',
    run: { status: 'completed', stop: 'end', text: 'You said: Wait.' },
  })
  expect(await client.send('walk', { content: [{ type: 'text', text: 'Parts.' }], mode: 'steer' })).toHaveProperty(
    'head',
  )
  await runsEnded(client, 'walk', 3)
  expect((await client.sessions.list({ tag: ['a'], state: ['idle', 'working'], limit: 5 })).sessions).toHaveLength(1)
  expect(await client.sessions.update('walk', { title: 'A walk', tags: ['b'] })).toMatchObject({
    title: 'A walk',
    tags: ['b'],
  })

  await client.send('walk', 'Publish.')
  await runsEnded(client, 'walk', 4)
  const [waiting] = await client.pending()
  expect(waiting).toMatchObject({ session: 'walk', root: 'walk', name: 'publish', isQuestion: false, title: 'A walk' })
  expect((await client.sessions.get('walk')).pending).toEqual([waiting])
  expect(await client.pending({ session: 'walk' })).toEqual([waiting])
  await expect(client.answer({ ...waiting!, digest: 'another' }, { decision: 'allow' })).rejects.toMatchObject({
    status: 409,
    code: 'other_digest',
    fields: { digest: waiting!.digest },
  })
  await client.answer(waiting!, { decision: 'allow' })
  await runsEnded(client, 'walk', 5)
  await client.stop('walk')
  await client.continue('walk')

  const label = await client.sessions.label('walk', 'published')
  const { entries, head } = await client.sessions.entries('walk', { limit: 1000 })
  expect(entries).toEqual(await store.read('walk'))
  expect(label).toBeLessThanOrEqual(head)
  const { rows } = await client.sessions.index('walk', { after: 2 })
  expect(rows.map(([seq]) => seq)).toEqual(entries.slice(2).map(({ seq }) => seq))
  const copy = await client.sessions.fork('walk', { at: 4 })
  expect((await client.sessions.entries(copy.id, { limit: 1, fromEnd: true })).head).toBe(copy.head)
  expect((await client.sessions.rewind(copy.id, 2)).head).toBe(copy.head + 1)
  await client.sessions.unpark(copy.id)
  const text = await client.sessions.export('walk')
  const imported = await client.sessions.import(text)
  expect(imported.turns).toBe((await client.sessions.get('walk')).turns)
  const blob = await store.blobs('walk').put(new Uint8Array([0, 255, 10, 13]))
  expect([...(await client.sessions.blob('walk', blob))]).toEqual([0, 255, 10, 13])
  const version = await client.sessions.saveDraft('walk', 'And then')
  expect(await client.sessions.draft('walk')).toEqual({ text: 'And then', version })

  await walkSession(client)
  await client.sessions.make({ id: 'held' })
  await store.send('held', { clientKey: 'k2', mode: 'followUp', content: [{ type: 'text', text: 'No.' }] })
  expect((await client.sessions.takeBack('held', 'k2')).content).toEqual([{ type: 'text', text: 'No.' }])
  const forks = await client.sessions.forks('walk')
  expect(forks).toContainEqual(
    expect.objectContaining({ id: copy.id, origin: { session: 'walk', seq: expect.any(Number) } }),
  )
  expect((await client.search('long walk')).hits).toMatchObject([{ session: 'walk', where: 'title' }])

  expect((await client.usage({ by: ['kind', 'day'], days: 2 })).rows).toMatchObject([{ kind: 'tour' }])
  expect([await client.models(), await client.tools()]).toEqual([['m'], ['t']])
  expect([await client.mcp(), await client.skills()]).toEqual([[], ['s']])
  expect(await client.settings()).toEqual({ mode: 'ask' })
  expect(await client.changeSettings({ mode: 'plan' })).toEqual({ mode: 'plan' })
  const page = (await client.request('GET', '/v1/sessions/walk/events', { query: { limit: 2 } })) as { next: number }
  expect(page.next).toBe(2)

  const changes = client.allEvents()
  expect((await changes.next()).value).toEqual({ type: 'connected' })
  await client.sessions.update('walk', { title: 'Told' })
  expect((await changes.next()).value).toMatchObject({ type: 'session', session: { id: 'walk', title: 'Told' } })
  await changes.return()
  await client.sessions.delete('walk')
  await expect(client.sessions.get('walk')).rejects.toMatchObject({ status: 404, code: 'no_session' })
  await client.logout()

  for (const { route, ...answer } of answers)
    expect([route.path, answerProblems(route, answer)]).toEqual([route.path, []])
  const taken = new Set(answers.filter(({ status }) => status < 400).map(({ route }) => route))
  const missed = allRoutes.filter((route) => !taken.has(route) && !withoutMethod.test(route.path))
  expect(missed.map(({ method, path }) => `${method} ${path}`)).toEqual([])
})

/** What a person can do with a session beside messages. */
async function walkSession({ sessions }: RemoteClient): Promise<void> {
  expect(await sessions.changeSettings('walk', { thinking: 'low' })).toMatchObject({ chosen: { thinking: 'low' } })
  expect(await sessions.settings('walk')).toMatchObject({ now: { thinking: 'low', mode: 'ask' }, profiles: ['build'] })

  const changed = { path: 'a.txt', kind: 'changed', added: 1, removed: 1 }
  expect(await sessions.files('walk', { after: 0 })).toEqual({ from: 'snapshots', files: [changed] })
  expect(await sessions.fileDiff('walk', 'a.txt')).toEqual({ path: 'a.txt', diff: '-one\n+two\n', isCut: false })
  const { head: to } = await sessions.get('walk')
  expect(await sessions.planRollback('walk', { to })).toEqual({ turns: 0, files: noFiles })
  expect(await sessions.rollback('walk', { to, what: 'conversation' })).toEqual({ turns: 0 })
  expect(await sessions.undoRollback('walk')).toEqual({ turns: 0 })

  expect((await sessions.completions('walk', '/ren')).items).toMatchObject([{ text: '/rename ' }])
  const long = `${'word '.repeat(500)}/ren`
  expect(await sessions.completions('walk', long)).toEqual({ from: long.length, to: long.length, items: [] })
  const wide = '\u6587'.repeat(2000) // nine characters each in an address
  expect((await sessions.completions('walk', wide, 1000)).items).toEqual([])
  expect(await sessions.commands('walk')).toContainEqual(expect.objectContaining({ name: 'label', argument: '[text]' }))
  expect((await sessions.find('walk', 'you said', { limit: 1 })).hits).toMatchObject([{ where: 'assistant' }])
  for (const draft of [{}, { draft: 'x' }, { draft: '\u6587'.repeat(20_000) }])
    expect(await sessions.context('walk', draft)).toMatchObject({ counts: { system: expect.any(Number) } })
  const published = (await sessions.entries('walk')).entries.find((entry) => entry.type === 'approval_requested')
  const { callId } = published as { callId: string }
  expect(await sessions.why('walk', callId)).toMatchObject({ name: 'publish', answer: { decision: 'allow' } })
  expect((await sessions.runCommand('walk', '/rename A long walk')).text).toContain('A long walk')
}

const noFiles = { restore: [], delete: [], conflicts: [] }

/** As for a session that changed one file. */
const snapshots: Partial<Snapshots> = {
  changedFiles: async () => [{ path: 'a.txt', kind: 'changed', added: 1, removed: 1 }],
  diffOfFile: async () => ({ diff: '-one\n+two\n', isCut: false }),
  planRollback: async () => ({ turns: [], files: noFiles }),
  rollback: async () => ({ turns: 0 }),
  undoRollback: async () => ({ turns: 0 }),
}

test('SV42 refusals are problems with a code and a sentence, as the document declares them', async () => {
  const { client, answers, url } = await walkedServer()
  await client.sessions.make({ id: 'there' })
  const refused: [() => Promise<unknown>, number, string][] = [
    [() => client.sessions.get('nowhere'), 404, 'no_session'],
    [() => client.sessions.make({ id: 'there' }), 409, 'session_exists'],
    [() => client.sessions.fork('there', { at: 99 }), 400, 'bad_request'],
    [() => client.sessions.rewind('there', 99), 400, 'bad_request'],
    [() => client.sessions.import('no export'), 422, 'no_export'],
    [() => client.sessions.blob('there', 'none'), 404, 'no_blob'],
    [() => client.sessions.list({ cursor: 'broken' }), 400, 'bad_request'],
    [() => client.send('there', ''), 400, 'bad_request'],
    [() => client.answer({ session: 'there', callId: 'c', digest: 'd' }, { decision: 'allow' }), 404, 'no_call'],
    [() => client.events('there', { after: 99 }).next(), 409, 'beyond_head'],
    [() => client.request('GET', '/v1/usage', { query: { by: 'moon' } }), 400, 'bad_request'],
    [() => client.request('POST', '/v1/sessions', { body: { nonsense: 1 } }), 400, 'bad_request'],
    [() => client.request('PUT', '/v1/sessions'), 405, 'no_method'],
    [() => client.request('GET', '/v1/nothing'), 404, 'no_route'],
    [() => createRemoteClient(remote(`${url}/elsewhere/`)).health(), 404, 'no_route'],
  ]
  for (const [act, status, code] of refused) {
    const problem = await act().then(
      () => undefined,
      (error: unknown) => error as RemoteProblem,
    )
    expect(problem).toBeInstanceOf(RemoteProblem)
    expect([problem?.status, problem?.code]).toEqual([status, code])
    expect(problem?.message).toBe(problem?.detail)
    expect(problem?.detail).toMatch(/^[A-Z?].{10,}/)
    expect(JSON.stringify(problem)).not.toContain(token)
  }
  for (const { route, ...answer } of answers)
    expect([route.path, answerProblems(route, answer)]).toEqual([route.path, []])
})

test('SV42 the events of a session that a client gets are as the published schema says', async () => {
  const { client } = await walkedServer()
  await client.sessions.make({ id: 'walk', message: 'Hello.' })
  const validate = createSchemaValidator(eventSchema)
  let count = 0
  for await (const event of client.events('walk')) {
    expect([event, validate(event)]).toEqual([event, undefined])
    count++
    if (event.durable && event.entry.type === 'run_ended') break
  }
  expect(count).toBeGreaterThan(5)
})

interface Answer {
  readonly route: Route
  readonly status: number
  readonly type: string
  readonly body: string
}

/** A server on a port, and a client whose answers are kept. */
async function walkedServer() {
  const { server, store } = await startServer({
    provider: talker,
    tools: { publish: tool('publish', () => 'published') },
    workspaceFor: async ({ settings }) => ({
      profiles: ['build'],
      settings: async () => ({ mode: 'ask', ...settings }),
      snapshots: snapshots as Snapshots,
      async close() {},
    }),
    about: {
      models: async () => ['m'],
      tools: async () => ['t'],
      mcp: async () => [],
      skills: async () => ['s'],
      settings: async () => ({ mode: 'ask' }),
      changeSettings: async (changes) => changes,
    },
  })
  const { url } = await listen(server.fetch)
  const answers: Answer[] = []
  const client = createRemoteClient({
    ...remote(url),
    async fetch(address, init) {
      const response = await fetch(address, init)
      const route = routeOf(init.method ?? 'GET', new URL(address).pathname)
      const type = response.headers.get('content-type') ?? ''
      if (!route) return response
      // A stream has no end to wait for.
      const body = type === 'text/event-stream' ? ': stream' : await response.clone().text()
      answers.push({ route, status: response.status, type, body })
      return response
    },
  })
  return { client, answers, store, url }
}

/** Repeats what it is told; at `Publish.` it calls a tool. */
function talker(): Provider {
  const step: Parameters<typeof scripted>[0] = ({ messages }) => {
    const { content = [] } = messages.at(-1) ?? {}
    const said = content.map((block) => (block.type === 'text' ? block.text : 'a result')).join()
    return said === 'Publish.' ? [call(`c${messages.length}`, 'publish')] : `You said: ${said}`
  }
  return scripted(...Array.from({ length: 20 }, () => step))
}

/** Resolves when so many runs of a session have ended. */
async function runsEnded(client: RemoteClient, id: string, count: number): Promise<void> {
  let ended = 0
  for await (const _ of client.events(id, { types: ['run_ended'], deltas: false })) if (++ended === count) return
}
