import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import type { SessionStore } from '../../src/core/store.ts'
import { allSessions } from '../../src/sessions/session-query.ts'

/** A file or folder of test/fixtures/stores. */
export const olderStore = (name: string): string =>
  fileURLToPath(new URL(`../fixtures/stores/${name}`, import.meta.url))

interface ExpectedSession {
  readonly id: string
  readonly parent?: string
  readonly entries: number
  readonly status?: string
  readonly attention?: string
  readonly waiting: readonly string[]
  readonly digest: string
}

/** Checks that a store has everything that the version before wrote. It takes and gives back the lease of every session. */
export async function checkOlderSessions(store: SessionStore): Promise<void> {
  const { sessions } = JSON.parse(readFileSync(olderStore('expected.json'), 'utf8')) as { sessions: ExpectedSession[] }
  const shown = sessions.filter(({ entries }) => entries > 0)
  const listed = await allSessions(store)
  expect(listed.map(({ id }) => id).sort()).toEqual(shown.map(({ id }) => id).sort())
  for (const { id, parent, entries, status, attention, digest } of sessions) {
    const read = await store.read(id)
    expect([id, read.length, digestOf(read)]).toEqual([id, entries, digest])
    const summary = await store.find(id)
    expect(listed.find((one) => one.id === id)).toEqual(summary)
    if (entries === 0) expect(summary).toBeUndefined()
    else {
      const { head, createdAt, updatedAt } = summary!
      expect([id, summary?.parent, head, summary?.status, summary?.attention]).toEqual([
        id,
        parent,
        entries,
        status,
        attention,
      ])
      expect([createdAt, updatedAt]).toEqual([read[0]?.at, read.at(-1)?.at])
    }
  }
  for (const { id, entries, waiting } of sessions) {
    const { epoch, head, inbox } = await store.lease(id, { owner: 'test', ttlMs: 1000, create: true })
    expect([id, head, inbox.map(({ clientKey }) => clientKey)]).toEqual([id, entries, waiting])
    await store.lease(id, { owner: 'test', ttlMs: 0, epoch })
  }
}

const digestOf = (entries: unknown): string => createHash('sha256').update(JSON.stringify(entries)).digest('hex')
