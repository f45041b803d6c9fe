import { expect, test } from 'vitest'
import { createMemoryStore, createSession, type SessionStore } from '../../src/index.ts'
import { call, scripted } from '../../src/testing/index.ts'
import { startServer, token, tool } from './server-kit.ts'

interface Hit {
  session: string
  where: string
  seq?: number
  excerpt: string
}

/** All hits, and how many requests they took. */
async function everything(get: (query: string) => Promise<{ body: { hits: Hit[]; next?: string } }>) {
  const hits: Hit[] = []
  let next: string | undefined
  let pages = 0
  do {
    const { body } = await get(next === undefined ? '' : `&cursor=${next}`)
    hits.push(...body.hits)
    next = body.next
    pages++
  } while (next !== undefined && pages < 200)
  return { hits, pages }
}

async function talk(store: SessionStore, id: string, title: string, texts: readonly string[]) {
  const { sessions } = await store.list({ limit: 1 })
  while (Date.now() <= (sessions[0]?.updatedAt ?? 0)) await new Promise((resolve) => setTimeout(resolve, 1)) // newer than the last
  const session = await createSession({ store, id, title })
  await session.addTurns(
    texts.map((text, i) => ({ role: i % 2 ? 'assistant' : 'user', content: [{ type: 'text', text }] })),
  )
}

test('WB10 a phrase is found in titles first, then in what was said, the newest session first', async () => {
  const store = createMemoryStore()
  await talk(store, 'one', 'Zebra crossing', ['Hello.', 'Good day.'])
  await talk(store, 'two', 'Animals', ['What is a ZEBRA?', 'A horse with stripes.\n\nMany zebras.'])
  await talk(store, 'three', 'Plants', ['A tree.', 'Yes.'])
  await talk(store, 'four', 'More', ['The last zebra.', 'Fine.'])
  const { send } = await startServer({ store })
  const { hits } = await everything((more) => send('GET', `/v1/search?q=zebra${more}`))
  expect(hits.map(({ session, where, seq }) => [session, where, seq !== undefined])).toEqual([
    ['one', 'title', false],
    ['four', 'user', true],
    ['two', 'user', true],
    ['two', 'assistant', true],
  ])
  expect(hits.at(-1)?.excerpt).toBe('A horse with stripes. Many zebras.')
  for (const wrong of ['', 'q=', `q=${'x'.repeat(201)}`, 'q=a&cursor=nonsense', 'q=a&cursor=e30'])
    expect((await send('GET', `/v1/search?${wrong}`)).status, wrong).toBe(400)
})

test('WB10 one request looks at so much, and cursors lead through all of it', async () => {
  const store = createMemoryStore()
  const texts = Array.from({ length: 4500 }, (_, i) => (i === 4400 ? 'a needle' : 'hay'))
  await talk(store, 'long', 'Long', texts)
  for (let i = 0; i < 130; i++) await talk(store, `s${i}`, `Session ${i}`, [i === 7 ? 'a needle' : 'hay', 'more hay'])
  const { send } = await startServer({ store })
  const { hits, pages } = await everything((more) => send('GET', `/v1/search?q=needle${more}`))
  expect(hits.map(({ session }) => session)).toEqual(['s7', 'long'])
  expect(pages).toBeGreaterThan(3)
  const found: Hit[] = []
  for (let after = 0; ; ) {
    const { body } = await send('GET', `/v1/sessions/long/find?q=NEEDLE&after=${after}`)
    found.push(...body.hits)
    if (body.next === undefined) break
    expect(body.next).toBeGreaterThan(after)
    after = body.next
  }
  expect(found).toMatchObject([{ where: 'user', excerpt: 'a needle' }])
  expect((await store.read('long'))[found[0]!.seq! - 1]).toMatchObject({ type: 'turn' })
})

test('WB11 calls and results of one session are found, with limits', async () => {
  const script = scripted([call('c1', 'look', { at: 'the moon' })], 'The moon is round.')
  const { send } = await startServer({
    provider: () => script,
    tools: { look: tool('look', { execute: async () => 'a moon' }) },
  })
  await send('POST', '/v1/sessions', { id: 'a' })
  await send('POST', '/v1/sessions/a/messages', { content: 'Is the moon round?' }, { prefer: 'wait=20' })
  const { body } = await send('GET', '/v1/sessions/a/find?q=moon')
  expect(body.hits.map(({ where }: Hit) => where)).toEqual(['user', 'call', 'result', 'assistant'])
  expect(body.next).toBeUndefined()
  const first = await send('GET', '/v1/sessions/a/find?q=moon&limit=1')
  const second = await send('GET', `/v1/sessions/a/find?q=moon&limit=1&after=${first.body.next}`)
  expect([...first.body.hits, ...second.body.hits]).toEqual(body.hits.slice(0, 2))
})

test('WB10 tenants find nothing of each other, with any cursor', async () => {
  const store = createMemoryStore()
  let tenant = 'red'
  const { send } = await startServer({ store, auth: { verify: () => ({ user: 'ann', tenant }) } })
  for (const one of ['red', 'blue']) {
    const session = await createSession({ store, id: `${one}.a`, tenant: one, title: `${one} secret` })
    await session.addTurns([{ role: 'user', content: [{ type: 'text', text: `the secret of ${one}` }] }])
  }
  const own = await everything((more) => send('GET', `/v1/search?q=secret${more}`))
  expect(own.hits.map(({ session, excerpt }) => [session, excerpt])).toEqual([
    ['a', 'red secret'],
    ['a', 'the secret of red'],
  ])
  tenant = 'blue'
  const forged = Buffer.from(JSON.stringify({ in: 'texts', session: 'red.a', after: 0 })).toString('base64url')
  const { body } = await send('GET', `/v1/search?q=secret&cursor=${forged}`, undefined, { authorization: token })
  expect(JSON.stringify(body)).not.toContain('red')
})
