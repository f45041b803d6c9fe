import { expect, test } from 'vitest'
import { scripted } from '../../src/testing/index.ts'
import { startServer, until } from './server-kit.ts'

async function withSessions() {
  const server = await startServer({ provider: () => scripted('Noon.') })
  for (const [id, details] of Object.entries({
    a: { tags: ['x'], kind: 'chat' },
    b: { tags: ['x', 'y'] },
    c: { title: 'Third' },
  }))
    await server.send('POST', '/v1/sessions', { id, ...details })
  await server.send('POST', '/v1/sessions/a/messages', { content: 'What time is it?' }, { prefer: 'wait=20' })
  return server
}

const ids = ({ body }: { body: { sessions: { id: string }[] } }) => body.sessions.map(({ id }) => id)

test('SV83 sessions are listed by filter and cursor, the last changed first', async () => {
  const { send } = await withSessions()
  expect(ids(await send('GET', '/v1/sessions'))[0]).toBe('a')
  expect(ids(await send('GET', '/v1/sessions?tag=x')).sort()).toEqual(['a', 'b'])
  expect(ids(await send('GET', '/v1/sessions?tag=x&tag=y'))).toEqual(['b'])
  expect(ids(await send('GET', '/v1/sessions?kind=chat'))).toEqual(['a'])
  expect(ids(await send('GET', '/v1/sessions?state=waiting&state=failed'))).toEqual([])
  const first = await send('GET', '/v1/sessions?limit=2')
  const rest = await send('GET', `/v1/sessions?limit=2&cursor=${encodeURIComponent(first.body.next)}`)
  expect([...ids(first), ...ids(rest)].sort()).toEqual(['a', 'b', 'c'])
  expect(rest.body.next).toBeUndefined()
  for (const wrong of ['state=happy', 'limit=0', 'limit=x', 'limit=1&limit=2', 'colour=red', 'cursor=nonsense'])
    expect((await send('GET', `/v1/sessions?${wrong}`)).status, wrong).toBe(400)
})

test('SV83 a session is read with its head as ETag, renamed, tagged, labelled and deleted', async () => {
  const { send, store } = await withSessions()
  const shown = await send('GET', '/v1/sessions/a')
  expect(shown.body).toMatchObject({ id: 'a', status: 'idle', turns: 2, pending: [] })
  const etag = shown.headers.get('etag')!
  expect(etag).toBe(`"${shown.body.head}"`)
  expect((await send('GET', '/v1/sessions/a', undefined, { 'if-none-match': etag })).status).toBe(304)
  const changed = await send('PATCH', '/v1/sessions/a', { title: 'Clock', tags: ['z'] })
  expect(changed.body).toMatchObject({ title: 'Clock', tags: ['z'] })
  expect((await send('PATCH', '/v1/sessions/a', { tenant: 'other' })).status).toBe(400)
  expect((await send('PATCH', '/v1/sessions/a', {})).status).toBe(400)
  const { body: label } = await send('POST', '/v1/sessions/a/label', { text: 'before lunch' })
  expect(label.seq).toBe((await store.find('a'))!.head)
  expect((await send('DELETE', '/v1/sessions/a')).status).toBe(204)
  expect((await send('GET', '/v1/sessions/a')).body).toMatchObject({ status: 404, code: 'no_session' })
  expect((await send('DELETE', '/v1/sessions/a')).status).toBe(404)
})

test('SV83 a session is forked and rewound by entry number', async () => {
  const { send, store } = await withSessions()
  const head = (await store.find('a'))!.head
  const fork = await send('POST', '/v1/sessions/a/fork', { at: 3, id: 'copy' })
  expect([fork.status, fork.body.id, fork.body.head >= 3]).toEqual([201, 'copy', true])
  expect((await send('POST', '/v1/sessions/a/fork', { id: 'copy' })).body.code).toBe('session_exists')
  expect((await send('POST', '/v1/sessions/a/fork', { at: head + 1 })).status).toBe(400)
  expect((await send('POST', '/v1/sessions/a/rewind', { to: 1 })).status).toBe(200)
  expect((await store.read('a')).at(-1)).toMatchObject({ type: 'rewind', toSeq: 1 })
  expect((await send('POST', '/v1/sessions/a/rewind', { to: 10_000 })).status).toBe(400)
})

test('SV83 entries are read by range, and an index names all of them', async () => {
  const { send, store } = await withSessions()
  const all = await store.read('a')
  const { body } = await send('GET', '/v1/sessions/a/entries?after=1&before=4')
  expect(body).toEqual({ entries: all.slice(1, 3), head: all.length })
  expect((await send('GET', '/v1/sessions/a/entries?limit=2&fromEnd=true')).body.entries).toEqual(all.slice(-2))
  const index = await send('GET', '/v1/sessions/a/index')
  expect(index.body.rows.map(([seq]: number[]) => seq)).toEqual(all.map(({ seq }) => seq))
  expect(index.body.rows).toContainEqual([expect.any(Number), 'turn:assistant', expect.any(Number)])
})

test('SV83 an export can be imported under another id, and a text that is none is refused', async () => {
  const { send, store } = await withSessions()
  const { body: text } = await send('GET', '/v1/sessions/a/export')
  const made = await send('POST', '/v1/sessions/import?id=again', text, { 'content-type': 'application/jsonl' })
  expect([made.status, made.body.id]).toEqual([201, 'again'])
  expect(await store.read('again')).toEqual(await store.read('a'))
  const refused = await send('POST', '/v1/sessions/import', 'no export', { 'content-type': 'application/jsonl' })
  expect([refused.status, refused.body.code]).toEqual([422, 'no_export'])
  expect((await send('POST', '/v1/sessions/import?id=a', text)).body.code).toBe('session_exists')
})

test('SV83 blobs are downloads that cannot run as a page, and drafts are kept until they are removed', async () => {
  const { send, store } = await withSessions()
  const name = await store.blobs('a').put(new TextEncoder().encode('<script>1</script>'))
  const blob = await send('GET', `/v1/sessions/a/blobs/${encodeURIComponent(name)}`)
  expect([blob.status, blob.body]).toEqual([200, '<script>1</script>'])
  expect(blob.headers.get('content-type')).toBe('application/octet-stream')
  expect(blob.headers.get('content-security-policy')).toContain('sandbox')
  expect((await send('GET', '/v1/sessions/a/blobs/none')).body.code).toBe('no_blob')
  expect((await send('GET', '/v1/sessions/b/draft')).body).toEqual({ text: '', version: 0 })
  await send('PUT', '/v1/sessions/b/draft', { text: 'And then' })
  expect((await send('GET', '/v1/sessions/b/draft')).body).toMatchObject({ text: 'And then' })
})

test('SV97 usage adds up what sessions cost, by day, kind or folder', async () => {
  const { send } = await withSessions()
  const { body } = await send('GET', '/v1/usage?by=kind')
  expect(body.total).toMatchObject({ sessions: 1, turns: 1 })
  expect(body.rows).toMatchObject([{ kind: 'chat', sessions: 1 }])
  expect((await send('GET', '/v1/usage')).body.rows).toMatchObject([{ day: new Date().toISOString().slice(0, 10) }])
})

test('SV84 what is wrong with a request is a problem with a code and a sentence', async () => {
  const { send } = await withSessions()
  const missing = await send('GET', '/v1/sessions/none')
  expect(missing.headers.get('content-type')).toBe('application/problem+json')
  expect(missing.body).toEqual({
    type: 'urn:libero:problem:no_session',
    title: 'Not found',
    status: 404,
    detail: 'There is no session "none"; GET /v1/sessions lists those you have',
    code: 'no_session',
  })
  expect((await send('GET', '/v1/nowhere')).body.code).toBe('no_route')
  const method = await send('PUT', '/v1/sessions/a')
  expect([method.status, method.headers.get('allow')]).toEqual([405, 'GET, PATCH, DELETE'])
  expect((await send('GET', '/v1/models')).body).toMatchObject({ status: 501, code: 'not_offered' })
  const deep = `{"content":${'['.repeat(100)}${']'.repeat(100)}}`
  expect((await send('POST', '/v1/sessions/a/messages', deep, { 'content-type': 'application/json' })).status).toBe(400)
})

test('SV96 health, readiness and metrics are there', async () => {
  const { send, server } = await withSessions()
  const open = async (path: string) => (await server.fetch(new Request(`http://127.0.0.1${path}`))).status
  expect([await open('/healthz'), await open('/readyz'), await open('/metrics')]).toEqual([200, 200, 401])
  await until(async () => /^libero_runs 0$/m.test((await send('GET', '/metrics')).body))
})
