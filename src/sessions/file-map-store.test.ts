import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { dying, gated, memoryAdapter, spied } from '../../test/file-map-adapters.ts'
import { LeaseLostError, SessionBusyError, SessionNotFoundError, StoreError } from '../core/errors.ts'
import { storeContract } from '../testing/store-contract.ts'
import { entry, input, item, lease, write } from '../testing/store-contract-kit.ts'
import { createFileMapStore } from './file-map-store.ts'

describe('the file-map store', () => {
  let adapter = memoryAdapter()
  const cases = storeContract(
    (clock) => {
      adapter = memoryAdapter()
      return createFileMapStore(adapter, { clock })
    },
    { again: (clock) => createFileMapStore(adapter, { clock }) },
  )
  for (const one of cases) test(one.name, one.run)
})

describe('the file-map store over an adapter that can list', () => {
  const cases = storeContract((clock) => {
    const { texts, ...verbs } = memoryAdapter()
    const list = (prefix: string) => [...texts.keys()].filter((path) => path.startsWith(prefix))
    return createFileMapStore({ ...verbs, list }, { clock })
  })
  for (const one of cases) test(one.name, one.run)
})

test('A196 the file-map store writes turns.jsonl and meta.json through get, save and delete', async () => {
  const { adapter, calls } = spied()
  const store = createFileMapStore(adapter)
  const epoch = await write(store, 'My chat', 2)
  await store.append('My chat/c', [entry(1)], { epoch, head: 0, holder: 'My chat', parent: 'My chat' })
  const folder = '%4dy%20chat'
  const saved = calls.filter(([verb]) => verb === 'save').map(([, path]) => path)
  expect(new Set(saved)).toEqual(
    new Set([
      'index.json',
      `${folder}/turns.jsonl`,
      `${folder}/meta.json`,
      `${folder}%2fc/turns.jsonl`,
      `${folder}%2fc/meta.json`,
    ]),
  )
  expect(adapter.get(`${folder}/turns.jsonl`)).toBe(`${JSON.stringify(entry(1))}\n${JSON.stringify(entry(2))}\n`)
  expect(JSON.parse(adapter.get(`${folder}/meta.json`) ?? '')).toMatchObject({ head: 2, owner: 'ann', epoch })
  await store.delete('My chat')
  expect(calls.filter(([verb]) => verb === 'delete').map(([, path]) => path)).toEqual([
    `${folder}%2fc/turns.jsonl`,
    `${folder}%2fc/meta.json`,
    `${folder}/turns.jsonl`,
    `${folder}/meta.json`,
  ])
  expect(new Set(calls.map(([verb]) => verb))).toEqual(new Set(['get', 'save', 'delete']))
})

test('what one process wrote the next one goes on with', async () => {
  const { texts, ...verbs } = memoryAdapter()
  const first = createFileMapStore({ ...verbs })
  const epoch = await write(first, 's', 2)
  await first.append('s', [input(3, 'k1', 'said')], { epoch, head: 2 })
  await first.send('s', item('k2', 'waiting'))
  const name = await first.blobs('s').put(Uint8Array.of(1, 2, 3))
  const second = createFileMapStore({ ...verbs })
  expect(await second.read('s', { after: 1 })).toEqual([entry(2), input(3, 'k1', 'said')])
  expect(await second.blobs('s').get(name)).toEqual(Uint8Array.of(1, 2, 3))
  await second.send('s', item('k1', 'said'))
  const taken = await lease(second, 's', 'bob')
  expect(taken).toMatchObject({ head: 3, inbox: [item('k2', 'waiting')] })
  expect(taken.epoch).toBeGreaterThan(epoch)
  await expect(second.append('s', [entry(4)], { epoch, head: 3 })).rejects.toThrow(LeaseLostError)
})

test('two stores over one adapter keep each other out', async () => {
  const adapter = memoryAdapter()
  const [one, other] = [createFileMapStore(adapter), createFileMapStore(adapter)]
  const { epoch } = await lease(one, 's', 'ann')
  await expect(lease(other, 's', 'bob')).rejects.toThrow(SessionBusyError)
  await other.lease('s', { owner: 'bob', ttlMs: 1000, takeOver: true, create: true })
  await expect(one.append('s', [entry(1)], { epoch, head: 0 })).rejects.toThrow(LeaseLostError)
})

test('a crash before any save of an append leaves all of it or nothing, and the inbox and the summary with it', async () => {
  const outcomes = new Set<boolean>()
  for (let survives = 0; survives < 8; survives++) {
    const { texts, ...verbs } = memoryAdapter()
    const store = createFileMapStore({ ...verbs })
    const epoch = await write(store, 's', 1)
    await store.send('s', item('k1', 'said'))
    await store.lease('s', { owner: 'ann', ttlMs: 0, epoch })
    const { adapter, dies } = dying(verbs)
    const crashed = createFileMapStore(adapter)
    const { epoch: theirs } = await lease(crashed, 's', 'bob')
    expect(theirs).toBeGreaterThan(epoch)
    dies(survives)
    const batch = [input(2, 'k1', 'said'), entry(3)]
    const isAcknowledged = await crashed.append('s', batch, { epoch: theirs, head: 1 }).then(
      () => true,
      () => false,
    )
    if (isAcknowledged) await crashed.lease('s', { owner: 'bob', ttlMs: 0, epoch: theirs }).catch(() => {})
    outcomes.add(isAcknowledged)
    const after = createFileMapStore({ ...verbs })
    const read = await after.read('s')
    expect(read).toEqual(isAcknowledged ? [entry(1), ...batch] : [entry(1)])
    expect(await after.find('s')).toMatchObject({ head: read.length, updatedAt: read.at(-1)!.at, attention: 'mail' })
    expect((await lease(after, 's')).inbox).toEqual(isAcknowledged ? [] : [item('k1', 'said')])
  }
  expect(outcomes.size).toBe(2)
})

test('a tail that was never acknowledged is dropped, wherever it was cut, and overwritten by the next append', async () => {
  const line = JSON.stringify(entry(2))
  for (const tail of [line.slice(0, 1), line.slice(0, -1), line, `${line}\n`, `${line}\n{`]) {
    const { texts, ...verbs } = memoryAdapter()
    await write(createFileMapStore({ ...verbs }), 's', 1)
    texts.set('s/turns.jsonl', texts.get('s/turns.jsonl') + tail)
    const store = createFileMapStore({ ...verbs })
    expect(await store.read('s')).toEqual([entry(1)])
    const { epoch } = await lease(store)
    await store.append('s', [entry(2, 'other')], { epoch, head: 1 })
    expect(await createFileMapStore({ ...verbs }).read('s')).toEqual([entry(1), entry(2, 'other')])
  }
})

test('entries that are missing or damaged inside are an error that names the file, and other sessions stay usable', async () => {
  const { texts, ...verbs } = memoryAdapter()
  const store = createFileMapStore({ ...verbs })
  for (const id of ['s', 't', 'u']) await write(store, id, 3)
  texts.set('s/turns.jsonl', texts.get('s/turns.jsonl')?.replace('"entry 2"', '"entry 2') ?? '')
  texts.set('t/turns.jsonl', texts.get('t/turns.jsonl')?.slice(0, -1) ?? '')
  const again = createFileMapStore({ ...verbs })
  await expect(again.read('s')).rejects.toMatchObject({ code: 'corrupt', message: /s\/turns\.jsonl, line 2/ })
  await expect(again.read('t')).rejects.toMatchObject({ code: 'corrupt', message: /t\/turns\.jsonl/ })
  expect(await again.read('u')).toHaveLength(3)
})

test('an operation of the adapter that fails is named with its path, and the same append may be tried again', async () => {
  const { texts, ...verbs } = memoryAdapter()
  let failing = ''
  const save = (path: string, text: string): void => {
    if (path === failing) throw new Error('no connection')
    texts.set(path, text)
  }
  const store = createFileMapStore({ ...verbs, save })
  const epoch = await write(store, 's', 1)
  await store.send('s', item('k1', 'said'))
  for (failing of ['s/turns.jsonl', 's/meta.json']) {
    const failed = store.append('s', [input(2, 'k1', 'said')], { epoch, head: 1 })
    await expect(failed).rejects.toBeInstanceOf(StoreError)
    await expect(failed).rejects.toMatchObject({ code: 'unavailable', message: new RegExp(failing) })
    expect(await store.read('s')).toEqual([entry(1)])
    expect((await store.lease('s', { owner: 'ann', ttlMs: 1000, epoch })).inbox).toEqual([item('k1', 'said')])
  }
  failing = ''
  await store.append('s', [input(2, 'k1', 'said')], { epoch, head: 1 })
  expect(await createFileMapStore({ ...verbs }).read('s')).toEqual([entry(1), input(2, 'k1', 'said')])
})

test('an append does not write old entries anew: their text stays as it is', async () => {
  const { texts, ...verbs } = memoryAdapter()
  await write(createFileMapStore({ ...verbs }), 's', 1)
  const spaced = texts.get('s/turns.jsonl')?.replaceAll('":', '" : ') ?? ''
  texts.set('s/turns.jsonl', spaced)
  const store = createFileMapStore({ ...verbs })
  const { epoch } = await lease(store)
  await store.append('s', [entry(2)], { epoch, head: 1 })
  expect(texts.get('s/turns.jsonl')).toBe(`${spaced}${JSON.stringify(entry(2))}\n`)
})

test('a deletion that was cut off anywhere is finished by the next process, or never began', async () => {
  const outcomes = new Set<string>()
  for (let survives = 0; survives < 14; survives++) {
    const { texts, ...verbs } = memoryAdapter()
    const store = createFileMapStore({ ...verbs })
    const epoch = await write(store, 'p', 1)
    await store.append('p/c', [entry(1)], { epoch, head: 0, holder: 'p', parent: 'p' })
    await store.blobs('p').put(Uint8Array.of(1))
    await write(store, 'q', 1)
    const { adapter, dies } = dying(verbs)
    const crashed = createFileMapStore(adapter)
    await crashed.list()
    dies(survives)
    await crashed.delete('p').catch(() => {})
    const { sessions } = await createFileMapStore({ ...verbs }).list({ order: 'id' })
    const listed = sessions.map(({ id }) => id).join()
    outcomes.add(listed)
    if (listed === 'q') expect([...texts.keys()].sort()).toEqual(['index.json', 'q/meta.json', 'q/turns.jsonl'])
  }
  expect([...outcomes]).toEqual(['p,p/c,q', 'q'])
})

test('a slow read does not undo what was written meanwhile', async () => {
  const { texts, ...verbs } = memoryAdapter()
  await write(createFileMapStore({ ...verbs }), 's', 1)
  let letGo: (() => void) | undefined
  let isFirst = true
  const get = async (path: string): Promise<string | undefined> => {
    const text = texts.get(path)
    if (path !== 's/turns.jsonl' || !isFirst) return text
    isFirst = false
    await new Promise<void>((resolve) => {
      letGo = resolve
    })
    return text
  }
  const store = createFileMapStore({ ...verbs, get })
  const { epoch } = await lease(store)
  const slow = store.read('s')
  await store.append('s', [entry(2)], { epoch, head: 1 })
  letGo?.()
  await slow
  await store.append('s', [entry(3)], { epoch, head: 2 })
  expect(await createFileMapStore(verbs).read('s')).toEqual([entry(1), entry(2), entry(3)])
})

test('FD-22 a session of a newer version can be read, is not written, and keeps fields that are not known', async () => {
  const { texts, ...verbs } = memoryAdapter()
  await write(createFileMapStore({ ...verbs }), 's', 1)
  const meta = JSON.parse(texts.get('s/meta.json') ?? '') as object
  texts.set('s/meta.json', JSON.stringify({ ...meta, invented: ['later'] }))
  const { epoch } = await lease(createFileMapStore({ ...verbs }))
  await createFileMapStore({ ...verbs }).list()
  const again = createFileMapStore({ ...verbs })
  const next = await lease(again)
  expect(next.epoch).toBe(epoch) // a lease alone saves nothing
  await again.append('s', [entry(2)], { epoch: next.epoch, head: 1 })
  expect(JSON.parse(texts.get('s/meta.json') ?? '')).toMatchObject({ invented: ['later'], head: 2 })
  texts.set('s/meta.json', JSON.stringify({ ...meta, format: 3 }))
  const store = createFileMapStore({ ...verbs })
  expect(await store.read('s')).toEqual([entry(1)])
  expect(await store.find('s')).toMatchObject({ head: 1 })
  await expect(lease(store)).rejects.toMatchObject({ code: 'newer' })
  await expect(store.send('s', item('k', 'hello'))).rejects.toMatchObject({ code: 'newer' })
  await expect(store.delete('s')).rejects.toMatchObject({ code: 'newer' })
})

test('FD-22 an index of a newer version is not overwritten', async () => {
  const { texts, ...verbs } = memoryAdapter()
  await write(createFileMapStore({ ...verbs }), 's', 1)
  const newer = JSON.stringify({ ...(JSON.parse(texts.get('index.json') ?? '') as object), format: 3 })
  texts.set('index.json', newer)
  const store = createFileMapStore({ ...verbs })
  expect(await store.read('s')).toEqual([entry(1)])
  await expect(write(store, 't', 1)).rejects.toMatchObject({
    code: 'newer',
    message: expect.stringContaining('index.json'),
  })
  expect(texts.get('index.json')).toBe(newer)
})

test('a blob that was damaged is an error that names the file', async () => {
  const adapter = memoryAdapter()
  const store = createFileMapStore(adapter)
  await lease(store)
  const name = await store.blobs('s').put(Uint8Array.of(1, 2, 3))
  for (const text of ['AQID!', 'AQIE']) {
    await adapter.save(`s/blobs/${name}`, text)
    const corrupt = { name: 'StoreError', code: 'corrupt', message: expect.stringContaining(name) }
    await expect(store.blobs('s').get(name)).rejects.toMatchObject(corrupt)
  }
})

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

/** After everything that waits for nothing else has happened. */
const settled = () => new Promise((resolve) => setTimeout(resolve, 1))

describe('a deletion and another call at the same time', () => {
  /** The root p, its child p/m and its grandchild p/m/g. */
  async function family() {
    const { texts, ...verbs } = memoryAdapter()
    const gate = gated(verbs)
    const store = createFileMapStore(gate.adapter)
    const epoch = await write(store, 'p', 1)
    await store.append('p/m', [entry(1)], { epoch, head: 0, holder: 'p', parent: 'p' })
    await store.append('p/m/g', [entry(1)], { epoch, head: 0, holder: 'p', parent: 'p/m' })
    return { texts, verbs, store, epoch, ...gate }
  }

  test('a message to a descendant is saved before its files are deleted, and leaves none', async () => {
    const { texts, store, hold } = await family()
    const { reached, release } = hold('save', 'p%2fm/meta.json')
    const sent = store.send('p/m', item('k', 'hello'))
    await reached
    const deleted = store.delete('p')
    await settled()
    release()
    await Promise.all([sent, deleted])
    expect([...texts.keys()]).toEqual(['index.json'])
  })

  test('a message to a descendant that is being deleted finds no session', async () => {
    const { texts, store, hold } = await family()
    const { reached, release } = hold('delete', 'p/meta.json')
    const deleted = store.delete('p')
    await reached
    const sent = store.send('p/m', item('k', 'hello'))
    release()
    await expect(sent).rejects.toThrow(SessionNotFoundError)
    await deleted
    expect([...texts.keys()]).toEqual(['index.json'])
  })

  test('an append to a grandchild is finished before its files are deleted with its parent', async () => {
    const { texts, store, epoch, hold } = await family()
    const { reached, release } = hold('save', 'p%2fm%2fg/meta.json')
    const appended = store.append('p/m/g', [entry(2)], { epoch, head: 1, holder: 'p' })
    await reached
    const deleted = store.delete('p/m')
    await settled()
    release()
    await Promise.all([appended, deleted])
    expect([...texts.keys()].sort()).toEqual(['index.json', 'p/meta.json', 'p/turns.jsonl'])
    expect((await store.list()).sessions).toMatchObject([{ id: 'p' }])
  })

  test('a descendant that was made anew meanwhile is listed', async () => {
    const { store, epoch, hold } = await family()
    const { reached, release } = hold('delete', 'p%2fm/meta.json')
    const deleted = store.delete('p/m')
    await reached
    const appended = store.append('p/m/g', [entry(1)], { epoch, head: 0, holder: 'p', parent: 'p' })
    await settled()
    release()
    await Promise.all([appended, deleted])
    expect((await store.list({ order: 'id' })).sessions).toMatchObject([{ id: 'p' }, { id: 'p/m/g' }])
  })

  for (const id of ['p', 'p/m'])
    test(`a read of ${id} during its deletion is not told that its entries are corrupt`, async () => {
      const { verbs } = await family()
      const { adapter, hold } = gated(verbs)
      const store = createFileMapStore(adapter)
      const { reached, release } = hold('delete', `${id.replace('/', '%2f')}/meta.json`)
      const deleted = store.delete('p')
      await reached
      const { signal } = new AbortController()
      const read = Promise.all([store.read(id), all(store.watch(id, { signal, once: true }))])
      await settled()
      release()
      expect(await read).toEqual([[], []])
      await deleted
    })

  test('a read of a session whose deletion was cut off finishes that, and finds nothing', async () => {
    const { texts, verbs } = await family()
    const { adapter, dies } = dying(verbs)
    const crashed = createFileMapStore(adapter)
    await crashed.list()
    dies(7) // after index.json, the mark, two files of each descendant, and turns.jsonl
    await crashed.delete('p').catch(() => {})
    expect([...texts.keys()].sort()).toEqual(['index.json', 'p/meta.json'])
    expect(await createFileMapStore({ ...verbs }).read('p')).toEqual([])
  })
})

test('a watcher that ends leaves no listener behind', async () => {
  const store = createFileMapStore(memoryAdapter())
  await write(store, 's', 2)
  const { signal } = new AbortController()
  await all(store.watch('s', { signal, once: true }))
  for await (const _ of store.watch('s', { signal })) break
  await expect(all(store.watch('s', { signal, after: 3 }))).rejects.toThrow(SessionNotFoundError)
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

test('FD-22 nothing of a session of a newer version is deleted, be it a blob or a descendant', async () => {
  const { texts, ...verbs } = memoryAdapter()
  const store = createFileMapStore({ ...verbs })
  const epoch = await write(store, 'p', 1)
  await store.append('p/c', [entry(1)], { epoch, head: 0, holder: 'p', parent: 'p' })
  const name = await store.blobs('p/c').put(Uint8Array.of(1))
  const path = 'p%2fc/meta.json'
  texts.set(path, JSON.stringify({ ...(JSON.parse(texts.get(path)!) as object), format: 3 }))
  const again = createFileMapStore({ ...verbs })
  await again.list()
  const before = new Map(texts)
  await expect(again.blobs('p/c').delete(name)).rejects.toMatchObject({ code: 'newer' })
  await expect(again.delete('p')).rejects.toMatchObject({ code: 'newer' })
  expect(texts).toEqual(before)
})

test('an adapter that fails to save may have saved, and the error says so', async () => {
  const { texts, ...verbs } = memoryAdapter()
  const fail = (): never => {
    throw new Error('no connection')
  }
  const saving = write(createFileMapStore({ ...verbs, save: fail }), 's', 1)
  await expect(saving).rejects.toThrow('no connection; the change may have been made all the same, try again')
  await expect(createFileMapStore({ ...verbs, get: fail }).read('s')).rejects.toThrow(/no connection; try again$/)
})
