import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { checkOlderSessions, olderStore } from '../../../test/faults/older-stores-kit.ts'
import { entry, lease } from '../../testing/store-contract-kit.ts'
import { createFileMapStore } from '../file-map-store.ts'

/** The texts of the version before, and stores over them whose adapter fails after some changes. */
function olderTexts() {
  const fixture = JSON.parse(readFileSync(olderStore('file-map-format-1.json'), 'utf8')) as Record<string, string>
  const texts = new Map(Object.entries(fixture))
  let left = Number.POSITIVE_INFINITY
  const change = (work: () => void): void => {
    if (left-- <= 0) throw new Error('gone')
    work()
  }
  const open = () =>
    createFileMapStore({
      get: (path) => texts.get(path),
      save: (path, text) => change(() => texts.set(path, text)),
      delete: (path) => change(() => texts.delete(path)),
    })
  const failAfter = (changes: number): void => {
    left = changes
  }
  return { texts, open, failAfter }
}

describe('ST22 a file map of the version before', () => {
  test('has all its sessions, with their summaries, messages and keys', async () => {
    const store = olderTexts().open()
    await checkOlderSessions(store)
    expect(await store.find('folder')).toMatchObject({ folder: '/projects/shop' })
    const { inbox } = await lease(store, 'mail')
    await store.send('mail', { ...inbox[0]!, clientKey: 'delivered-1' })
    expect((await lease(store, 'mail')).inbox).toHaveLength(2)
    await expect(store.send('only-leased', inbox[0]!)).rejects.toThrow('There is no session "only-leased"')
  })

  test('is of the new format after its first list, which the version before does not write to', async () => {
    const { texts, open } = olderTexts()
    const isMeta = (path: string): boolean => path.endsWith('/meta.json')
    const before = [...texts.keys()].filter(isMeta).length
    await open().list()
    const metas = [...texts].filter(([path]) => isMeta(path))
    expect(metas.length).toBe(before - 1) // without the session that was only leased
    for (const [, text] of metas) expect(JSON.parse(text)).toMatchObject({ format: 2 })
    expect(JSON.parse(texts.get('index.json')!)).toMatchObject({ format: 2 })
    await checkOlderSessions(open())
  })

  test('can be written on', async () => {
    const { open } = olderTexts()
    const store = open()
    const { epoch, head } = await lease(store, 'plain', 'bob')
    await store.append('plain', [entry(head + 1)], { epoch, head })
    await store.delete('parent')
    const after = open()
    expect((await after.read('plain')).length).toBe(head + 1)
    expect(await after.find('plain')).toMatchObject({ head: head + 1, title: 'Look at the sky' })
    expect((await after.list({ parent: 'parent' })).sessions).toEqual([])
  })

  test('is upgraded by the next process if the first one died on the way, and can be read meanwhile', async () => {
    const { size } = olderTexts().texts
    for (let changes = 0; changes < size; changes += 9) {
      const { open, failAfter } = olderTexts()
      failAfter(changes)
      const first = open()
      const { sessions } = await first.list({ limit: 1000 }) // what cannot be saved is known all the same
      failAfter(Number.POSITIVE_INFINITY)
      const second = open()
      expect(await second.list({ limit: 1000 })).toEqual({ sessions })
      await checkOlderSessions(second)
    }
  })
})
