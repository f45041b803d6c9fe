import { describe, expect, test } from 'vitest'
import { dying, gated, memoryAdapter, spied } from '../../../test/file-map-adapters.ts'
import { entry, input, item, lease, write } from '../../testing/store-contract-kit.ts'
import { createFileMapStore } from '../file-map-store.ts'

describe('the index of a file map', () => {
  test('ST02 a list in a new process reads it and nothing else', async () => {
    const { adapter, calls } = spied()
    const store = createFileMapStore({ ...adapter })
    for (const id of ['a', 'b', 'c']) {
      const epoch = await write(store, id, 2)
      await store.lease(id, { owner: 'ann', ttlMs: 0, epoch })
    }
    const expected = await store.list()
    calls.length = 0
    expect(await createFileMapStore({ ...adapter }).list()).toEqual(expected)
    expect(calls).toEqual([['get', 'index.json']])
  })

  test('ST01 it is saved when a session is opened and when it is released, not with each append', async () => {
    const { adapter, calls } = spied()
    const store = createFileMapStore(adapter)
    const { epoch } = await lease(store)
    for (let head = 0; head < 10; head++) await store.append('s', [entry(head + 1)], { epoch, head })
    const saves = (): number => calls.filter(([verb, path]) => verb === 'save' && path === 'index.json').length
    expect(saves()).toBe(1)
    await store.lease('s', { owner: 'ann', ttlMs: 0, epoch })
    expect(saves()).toBe(2)
  })

  test('ST01 sessions that change at once share its saves', async () => {
    const { adapter, calls } = spied()
    const save = async (path: string, text: string): Promise<void> => {
      await new Promise((resolve) => setTimeout(resolve, 1))
      adapter.save(path, text)
    }
    const store = createFileMapStore({ ...adapter, save })
    await Promise.all(Array.from({ length: 50 }, (_, i) => write(store, `s${i}`, 1)))
    expect(calls.filter(([verb, path]) => verb === 'save' && path === 'index.json').length).toBeLessThan(5)
    expect((await createFileMapStore({ ...adapter }).list()).sessions).toHaveLength(50)
  })

  test('a session that is written while others are closed is found again', async () => {
    const { texts, ...verbs } = memoryAdapter()
    const [reached, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let isSlow = false
    const save = async (path: string, text: string): Promise<void> => {
      if (isSlow && path === 'a/meta.json') {
        reached.resolve()
        await goOn.promise
      }
      texts.set(path, text)
    }
    const store = createFileMapStore({ ...verbs, save })
    const epochs = [await write(store, 'a', 1), await write(store, 'b', 1)]
    await store.lease('a', { owner: 'ann', ttlMs: 0, epoch: epochs[0]! })
    isSlow = true
    const sent = store.send('a', item('k', 'hello'))
    await reached.promise
    await store.lease('b', { owner: 'ann', ttlMs: 0, epoch: epochs[1]! })
    goOn.resolve()
    await sent
    expect((await createFileMapStore({ ...verbs }).list({ attention: true })).sessions).toMatchObject([{ id: 'a' }])
  })

  test('a damaged session is listed, and the others as before', async () => {
    const { texts, ...verbs } = memoryAdapter()
    const store = createFileMapStore({ ...verbs })
    for (const id of ['a', 'b']) await write(store, id, 1)
    texts.set('a/meta.json', '{')
    const { sessions } = await createFileMapStore({ ...verbs }).list({ order: 'id' })
    expect(sessions).toMatchObject([
      { id: 'a', status: 'failed', title: '(cannot be read)' },
      { id: 'b', head: 1 },
    ])
  })

  test('an index that was lost is made again, if the adapter can list', async () => {
    const { texts, ...verbs } = memoryAdapter()
    const list = (prefix: string) => [...texts.keys()].filter((path) => path.startsWith(prefix))
    await write(createFileMapStore({ ...verbs, list }), 's', 2)
    texts.delete('index.json')
    expect((await createFileMapStore({ ...verbs, list }).list()).sessions).toMatchObject([{ id: 's', head: 2 }])
  })
})

test('ST10 a fork has a file with its own entries only, until its base is deleted', async () => {
  const { texts, ...verbs } = memoryAdapter()
  const store = createFileMapStore(verbs)
  await write(store, 'o', 3)
  const { epoch } = await lease(store, 'f')
  await store.append('f', [entry(3, 'f')], { epoch, head: 2, base: 'o' })
  expect(texts.get('f/fork.jsonl')).toBe(`${JSON.stringify(entry(3, 'f'))}\n`)
  expect(texts.has('f/turns.jsonl')).toBe(false)
  await store.delete('o')
  expect(texts.has('f/fork.jsonl')).toBe(false)
  const after = createFileMapStore({ ...verbs })
  expect(await after.read('f')).toEqual([entry(1), entry(2), entry(3, 'f')])
})

test('ST10 a deletion that is cut off anywhere leaves every fork whole', async () => {
  for (let survives = 0; survives < 20; survives++) {
    const { texts, ...verbs } = memoryAdapter()
    const store = createFileMapStore({ ...verbs })
    await write(store, 'o', 2)
    const blob = await store.blobs('o').put(Uint8Array.of(1))
    for (const id of ['f', 'g']) {
      const { epoch } = await lease(store, id)
      await store.append(id, [entry(3, id)], { epoch, head: 2, base: 'o' })
    }
    const { adapter, dies } = dying(verbs)
    const crashed = createFileMapStore(adapter)
    await crashed.list()
    dies(survives)
    await crashed.delete('o').catch(() => {})
    const after = createFileMapStore({ ...verbs })
    await after.list()
    for (const id of ['f', 'g']) {
      expect(await after.read(id)).toEqual([entry(1), entry(2), entry(3, id)])
      expect(await after.blobs(id).get(blob)).toEqual(Uint8Array.of(1))
    }
    for (const id of ['o', 'f', 'g']) await after.delete(id)
    expect([...texts.keys()]).toEqual(['index.json'])
  }
})

/** The session o with three entries and a blob, its fork f with a fourth, and its fork g with a fifth. */
async function forks() {
  const { texts, ...verbs } = memoryAdapter()
  const store = createFileMapStore({ ...verbs })
  await write(store, 'o', 3)
  const blob = await store.blobs('o').put(Uint8Array.of(1))
  const [fourth, fifth] = [input(4, 'k4', 'hello'), input(5, 'k5', 'hello')]
  await store.append('f', [fourth], { epoch: (await lease(store, 'f')).epoch, head: 3, base: 'o' })
  await store.append('g', [fifth], { epoch: (await lease(store, 'g')).epoch, head: 4, base: 'f' })
  return { texts, verbs, blob, entries: [entry(1), entry(2), entry(3), fourth, fifth] }
}

describe('ST10 a fork that is read while the session that it shares entries with is deleted', () => {
  for (const [id, path] of [
    ['f', 'f/fork.jsonl'],
    ['f', 'o/turns.jsonl'],
    ['g', 'f/fork.jsonl'],
    ['g', 'o/turns.jsonl'],
    ['g', 'g/fork.jsonl'],
  ] as const)
    test(`is whole: ${id}, whose reader waits for ${path}`, async () => {
      const { verbs, entries } = await forks()
      const { adapter, hold } = gated(verbs)
      const store = createFileMapStore(adapter)
      await store.list()
      const { reached, release } = hold('get', path)
      const read = store.read(id)
      await reached
      await store.delete(path === 'g/fork.jsonl' ? 'f' : 'o')
      release()
      expect(await read).toEqual(entries.slice(0, id === 'f' ? 4 : 5))
    })

  test('has its blobs', async () => {
    const { verbs, blob } = await forks()
    const { adapter, hold } = gated(verbs)
    const store = createFileMapStore(adapter)
    await store.list()
    const { reached, release } = hold('get', `o/blobs/${blob}`)
    const got = store.blobs('g').get(blob)
    await reached
    await store.delete('o')
    release()
    expect(await got).toEqual(Uint8Array.of(1))
  })
})

describe('an error about damaged entries of a fork', () => {
  const damage = (texts: Map<string, string>, path: string, line: number): void => {
    const lines = texts.get(path)!.split('\n')
    texts.set(path, lines.with(line - 1, lines[line - 1]!.replace(/"seq":\d+/, '"seq":99')).join('\n'))
  }

  test('names the file that has the line, and the number of the line there', async () => {
    for (const [path, line, seq] of [
      ['o/turns.jsonl', 2, 2],
      ['f/fork.jsonl', 1, 4],
      ['g/fork.jsonl', 1, 5],
    ] as const) {
      const { texts, verbs } = await forks()
      damage(texts, path, line)
      const message = expect.stringContaining(`${path}, line ${line} is not entry ${seq};`)
      await expect(createFileMapStore({ ...verbs }).read('g')).rejects.toMatchObject({ code: 'corrupt', message })
      if (path === 'o/turns.jsonl') continue
      const sent = createFileMapStore({ ...verbs }).send('g', item('k', 'hello'))
      await expect(sent).rejects.toMatchObject({ code: 'corrupt', message })
    }
  })

  test('says how many lines the file should have', async () => {
    const { texts, verbs } = await forks()
    texts.set('f/fork.jsonl', '')
    const message = expect.stringMatching(/^f\/fork\.jsonl has fewer .* \(1\);/)
    await expect(createFileMapStore({ ...verbs }).read('g')).rejects.toMatchObject({ code: 'corrupt', message })
  })
})
