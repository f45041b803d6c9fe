import { describe, expect, test } from 'vitest'
import { writeLongSession } from '../../test/long-session.ts'
import { StoreError } from '../core/errors.ts'
import type { LogEntry } from '../core/log.ts'
import type { SessionStore } from '../core/store.ts'
import { createAgent, createMemoryStore, createSession, createSpawnTool, loadSession } from '../index.ts'
import { call, scripted, texts, tool } from '../testing/index.ts'
import { exportSession, importSession } from './export.ts'

/** A session with a child, a grandchild, an entry too big for a line, and one of an unknown type. */
async function filledStore(): Promise<SessionStore> {
  const store = createMemoryStore()
  const session = await createSession({ store, id: 's' })
  const spawning = (id: string) => [call(id, 'spawn', { task: `task ${id}` })]
  const big = tool('big', () => 'ä'.repeat(300_000))
  const agent = createAgent({
    provider: scripted([call('1', 'big')], spawning('2'), spawning('3'), 'deep', 'done', 'fin'),
    tools: { big, spawn: createSpawnTool() },
    session,
  })
  await agent.run({ prompt: 'Go.' })
  await session.open()
  await session.log.append({ type: 'from_the_future', what: { ever: 1 } } as never)
  await session.release()
  return store
}

async function textOf(pieces: AsyncIterable<string>): Promise<string> {
  let text = ''
  for await (const piece of pieces) text += piece
  return text
}

async function everything(store: SessionStore): Promise<unknown> {
  const { sessions } = await store.list({ order: 'id' })
  return Promise.all(sessions.map(async ({ id, parent }) => ({ id, parent, entries: await store.read(id) })))
}

const filled = filledStore()
const exported = filled.then((store) => textOf(exportSession(store, 's')))
const linesOf = async (): Promise<string[]> => (await exported).split('\n').slice(0, -1)

describe('an exported session', () => {
  test('comes back as it was, with its children', async () => {
    const store = createMemoryStore()
    const imported = await importSession(store, await exported)
    expect(imported).toEqual({ id: 's', children: ['s/2', 's/2/3'], entries: expect.any(Number) })
    expect(await everything(store)).toEqual(await everything(await filled))
    expect(await textOf(exportSession(store, 's'))).toBe(await exported)
  })

  test('goes from store to store without being held as one text', async () => {
    const store = createMemoryStore()
    await importSession(store, exportSession(await filled, 's'))
    expect(await everything(store)).toEqual(await everything(await filled))
  })

  test('ST11 a long one is read in pages and written in parts, and opens from its checkpoint', async () => {
    const [from, to] = [createMemoryStore(), createMemoryStore()]
    await writeLongSession(from, 's', { turns: 20_000 })
    const sizes = { read: 0, written: 0 }
    const reading: SessionStore = {
      ...from,
      async read(...args) {
        const entries = await from.read(...args)
        sizes.read = Math.max(sizes.read, entries.length)
        return entries
      },
    }
    const writing: SessionStore = {
      ...to,
      append(id, entries, fence) {
        sizes.written = Math.max(sizes.written, entries.length)
        return to.append(id, entries, fence)
      },
    }
    const { entries } = await importSession(writing, exportSession(reading, 's'))
    expect(sizes).toEqual({ read: 200, written: 5000 })
    expect(entries).toBe((await from.find('s'))!.head)
    expect(await everything(to)).toEqual(await everything(from))
    const [there, here] = [await loadSession(from, 's'), await loadSession(to, 's')]
    expect([here.turnsBefore, here.turns]).toEqual([there.turnsBefore, there.turns])
  })

  test('gives the parent in the runs of a checkpoint the name that it has here', async () => {
    const from = createMemoryStore()
    const session = await createSession({ store: from, id: 's' })
    await session.open()
    await session.log.append({ type: 'label', text: 'parent' })
    const child = await session.child('c')
    const parent = { session: 's', runId: 'r', callId: 'c' }
    await child.log.append({ type: 'run_started', runId: 'r1', model: 'm', parent })
    for (let i = 0; i < 600; i++) await child.log.append({ type: 'label', text: 'more' })
    await child.log.append(
      { type: 'rewind', toSeq: 0 },
      { type: 'run_ended', runId: 'r1', status: 'completed', stop: 'end' },
    )
    await session.release()
    const to = createMemoryStore()
    await importSession(to, exportSession(from, 's'), { id: 'new' })
    const { head, checkpoint } = (await to.find('new/c'))!
    expect((await to.read('new/c', { after: checkpoint! - 1 }))[0]).toMatchObject({
      seq: checkpoint,
      type: 'checkpoint',
    })
    expect(checkpoint).toBeLessThanOrEqual(head)
    expect((await loadSession(to, 'new/c')).runs).toMatchObject([{ id: 'r1', parent: { session: 'new' } }])
  })

  test('can be cut into any pieces on the way', async () => {
    const text = await exported
    async function* pieces() {
      for (let at = 0; at < text.length; at += 1777) yield text.slice(at, at + 1777)
    }
    const store = createMemoryStore()
    await importSession(store, pieces())
    expect(await textOf(exportSession(store, 's'))).toBe(text)
  })

  test('can be given another name, which its children take on, and be gone on with', async () => {
    const store = await filledStore()
    const { id, children } = await importSession(store, await exported, { id: 'copy' })
    expect([id, children]).toEqual(['copy', ['copy/2', 'copy/2/3']])
    const [begun] = await store.read('copy/2')
    expect(begun).toMatchObject({ type: 'run_started', parent: { session: 'copy' } })
    const parents = (await store.list({ order: 'id' })).sessions
      .filter((one) => one.id.startsWith('copy'))
      .map(({ parent }) => parent)
    expect(parents).toEqual([undefined, 'copy', 'copy/2'])
    const session = await loadSession(store, 'copy')
    await createAgent({ provider: scripted('And on.'), session }).run({ prompt: 'More.' })
    expect(texts(session.turns).at(-1)).toBe('assistant: And on.')
  })

  test('without its children is only itself', async () => {
    const store = createMemoryStore()
    await importSession(store, exportSession(await filled, 's', { children: false }))
    expect((await store.list()).sessions.map(({ id }) => id)).toEqual(['s'])
  })

  test('takes the blobs along that its entries name', async () => {
    const from = createMemoryStore()
    const session = await createSession({ store: from, id: 'b' })
    await session.open()
    const blob = await from.blobs('b').put(new Uint8Array([0, 255, 10, 13]))
    await session.log.append({ type: 'state', owner: 'x', value: { blob } })
    const child = await session.child('c')
    await child.save()
    const childBlob = await from.blobs('b/c').put(new Uint8Array([7]))
    await child.log.append({ type: 'state', owner: 'x', value: { blob: childBlob } })
    await session.release()
    const memory = createMemoryStore()
    const to: SessionStore = {
      ...memory,
      blobs: (id) => ({
        ...memory.blobs(id),
        put: async (bytes) => `other-${await memory.blobs(id).put(bytes)}`,
        get: (name) => memory.blobs(id).get(name.replace('other-', '')),
      }),
    }
    await importSession(to, exportSession(from, 'b'))
    const [entry] = await to.read('b')
    expect(entry).toMatchObject({ value: { blob: `other-${blob}` } })
    expect(await to.blobs('b').get(`other-${blob}`)).toEqual(new Uint8Array([0, 255, 10, 13]))
    expect(await to.blobs('b/c').get(`other-${childBlob}`)).toEqual(new Uint8Array([7]))
  })

  test('that does not exist cannot be exported', async () => {
    await expect(textOf(exportSession(await filled, 'none'))).rejects.toThrow('There is no session "none"')
  })
})

describe('an import', () => {
  test('never touches a session that is there', async () => {
    const store = await filledStore()
    const before = await everything(store)
    await expect(importSession(store, await exported)).rejects.toThrow('Session "s" exists already; import it under')
    expect(await everything(store)).toEqual(before)
  })

  test('never touches a child that is there', async () => {
    const store = createMemoryStore()
    const session = await createSession({ store, id: 's/2' })
    await session.save()
    await expect(importSession(store, await exported)).rejects.toThrow('Session "s/2" exists already')
    expect((await store.list()).sessions.map(({ id }) => id)).toEqual(['s/2'])
  })

  test('leaves nothing behind when the store fails half-way', async () => {
    const memory = createMemoryStore()
    let appends = 0
    const store: SessionStore = {
      ...memory,
      async append(...args) {
        if (++appends === 2) throw new StoreError('full', 'no room')
        return memory.append(...args)
      },
    }
    await expect(importSession(store, await exported)).rejects.toThrow('no room')
    expect(appends).toBe(2)
    expect(await memory.list()).toEqual({ sessions: [] })
  })

  test('says that the last line was torn, and takes what is before it', async () => {
    const store = createMemoryStore()
    const lines = (await linesOf()).slice(0, 6)
    const torn = `${lines.join('\n')}\n{"type":"turn","seq":6,"i`
    expect(await importSession(store, torn)).toMatchObject({ id: 's', entries: 5, tornAt: 7 })
    expect((await store.read('s')).length).toBe(5)
    const cut = await importSession(createMemoryStore(), `${lines.join('\n')}\n`)
    expect(cut.tornAt).toBe(7)
  })

  const change = (at: number, edit: (entry: LogEntry) => unknown) => (lines: string[]) => {
    lines[at - 1] = JSON.stringify(edit(JSON.parse(lines[at - 1] ?? '')))
  }
  test.each<[string, (lines: string[]) => void, string]>([
    [
      'a garbled line',
      (lines) => void (lines[3] = '{"type":'),
      'at line 4: it is not valid JSON, and more lines follow',
    ],
    ['a line that is no object', (lines) => void (lines[3] = '7'), 'at line 4: it must be an object'],
    ['a missing line', (lines) => void lines.splice(3, 1), 'at line 4: its seq must be 3, got 4'],
    ['a line too many', (lines) => void lines.splice(3, 0, lines[2] ?? ''), 'at line 4: its seq must be 3, got 2'],
    ['an entry without an id', change(3, ({ id: _, ...entry }) => entry), 'at line 3: its id must be a text'],
    ['an entry without a time', change(3, ({ at: _, ...entry }) => entry), 'at line 3: its time (at) must be a number'],
    [
      'an entry that only names a blob',
      change(3, (entry) => ({ ...entry, type: 'spilled', blob: 'x' })),
      'at line 3: an export holds entries whole',
    ],
    [
      'a turn without an id',
      change(3, (entry) => ({ ...entry, type: 'turn', turn: {} })),
      'at line 3: the entry of type "turn" has no right turn.id',
    ],
    [
      'a header of something else',
      (lines) => void (lines[0] = '{"libero":"cassette"}'),
      'at line 1: an export begins with',
    ],
    [
      'no end of the first section',
      (lines) => void lines.splice(lines.findIndex((line) => line.includes('"child"')) - 1, 1),
      'should have',
    ],
    [
      'an end that counts wrong',
      (lines) => void (lines[lines.length - 1] = '{"libero":"end","sessions":9}'),
      'it says there are 9 sessions',
    ],
  ])('refuses %s, and writes nothing', async (_, damage, why) => {
    const lines = await linesOf()
    damage(lines)
    const store = createMemoryStore()
    const error = await importSession(store, lines.join('\n')).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(StoreError)
    expect((error as StoreError).code).toBe('corrupt')
    expect((error as StoreError).message).toContain(why)
    expect(await store.list()).toEqual({ sessions: [] })
  })

  test('refuses what a newer version wrote', async () => {
    const text = (await exported).replace('"version":1', '"version":2')
    await expect(importSession(createMemoryStore(), text)).rejects.toMatchObject({ code: 'newer' })
  })

  test('refuses an empty text', async () => {
    await expect(importSession(createMemoryStore(), '')).rejects.toThrow('there is no header')
  })
})
