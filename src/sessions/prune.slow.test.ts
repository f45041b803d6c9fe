import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { SessionStore } from '../core/store.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { createFileMapStore } from './file-map-store.ts'
import { pruneSessions } from './prune.ts'
import { createSession, loadSession } from './session.ts'
import { createSqliteStore } from './sqlite-store.ts'

const day = 86_400_000
const say = (text: string) => [{ role: 'user' as const, content: [{ type: 'text' as const, text }] }]

const stores: Readonly<Record<string, (folder: string) => SessionStore>> = {
  SQLite: (folder) => createSqliteStore({ path: join(folder, 's.db') }),
  'a map of files': () => {
    const files = new Map<string, string>()
    return createFileMapStore({
      get: (path) => files.get(path),
      save: (path, text) => void files.set(path, text),
      delete: (path) => void files.delete(path),
    })
  },
}

test.each(Object.entries(stores))(
  'ST20 ST21 %s: old sessions go whole, unused blobs go, large entries stay',
  async (_, open) => {
    const folder = mkdtempSync(join(tmpdir(), 'libero-prune-'))
    const store = open(folder)
    onTestFinished(async () => {
      await store.close?.()
      rmSync(folder, { recursive: true, force: true })
    })
    const put = async (id: string, daysAgo: number): Promise<void> => {
      const session = await createSession({ store, id, clock: fakeClock(Date.now() - daysAgo * day) })
      await session.addTurns(say(`${id} ${'x'.repeat(300_000)}`)) // kept in a blob
      await session.open()
      const child = await session.child('call')
      await child.log.append({ type: 'label', text: 'child' })
      await session.release()
      await store.blobs(id).put(new Uint8Array([1, 2, 3]))
    }
    for (const [id, days] of [
      ['old', 40],
      ['mail', 40],
      ['held', 40],
      ['new', 1],
    ] as const)
      await put(id, days)
    await store.send('mail', { clientKey: 'k', mode: 'prompt', content: [] })
    const held = await loadSession(store, 'held')
    await held.open()

    const report = await pruneSessions(store, { maxAgeMs: 30 * day })
    expect(report.sessions.map(({ id }) => id)).toEqual(['old'])
    expect(report.bytes).toBeGreaterThan(300_000)
    expect([report.kept, report.blobs]).toEqual([2, 2])
    const ids = async () => (await store.list({ order: 'id' })).sessions.map(({ id }) => id)
    expect(await ids()).toEqual(['held', 'held/call', 'mail', 'mail/call', 'new', 'new/call'])
    expect((await loadSession(store, 'new')).turns[0]!.content).toMatchObject([
      { text: expect.stringMatching(/^new x{9}/) },
    ])
    expect(await store.blobs('new').names()).toEqual([])
    expect(await store.blobs('held').names()).toHaveLength(1)

    await held.release()
    expect(await pruneSessions(store, { maxAgeMs: 30 * day })).toMatchObject({ sessions: [{ id: 'held' }], kept: 1 })
  },
)
