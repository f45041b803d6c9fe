import { expect, test } from 'vitest'
import { writeLongSession } from '../../test/long-session.ts'
import type { SessionStore } from '../core/store.ts'
import { createAgent, createMemoryStore, createSession, loadSession } from '../index.ts'
import { scripted, texts } from '../testing/index.ts'
import { manifestOf, ResumeMismatchError, readManifest, resumeFromManifest, writeManifest } from './manifest.ts'

const named = (name: string): SessionStore => ({ ...createMemoryStore(), identity: async () => name })

async function spoken(store: SessionStore) {
  const session = await createSession({ store, id: 's' })
  await createAgent({ provider: scripted('Hello.'), session }).run({ prompt: 'The secret plan.' })
  const smState = { smExtId: 'plan', stateSlotRef: 'slot-1' }
  return { session, manifest: await manifestOf(session, { store, projectRoot: '/project', mode: 'ask', smState }) }
}

test('B051 a manifest with a foreign key is refused by its name, at the top and inside', async () => {
  const { manifest } = await spoken(named('a'))
  expect(readManifest(writeManifest(manifest))).toEqual(manifest)
  expect(() => readManifest({ ...manifest, apiKey: 'x' })).toThrow('has no key "apiKey"; it has sessionId, projectRoot')
  const inside = { ...manifest, smState: { ...manifest.smState, token: 'x' } }
  expect(() => readManifest(JSON.stringify(inside))).toThrow('has no key "smState.token"')
  expect(() => readManifest({ ...manifest, mode: 7 })).toThrow(`"mode" must be a text, got 7`)
  const { storeId: _, ...without } = manifest
  expect(() => readManifest(without)).toThrow('"storeId" must be a text')
  expect(() => readManifest('{')).toThrow('is not valid JSON')
})

test('ST09 a manifest names all turns of a session, also those that are not loaded', async () => {
  const store = named('a')
  await writeLongSession(store, 's', { turns: 3000 })
  const session = await loadSession(store, 's')
  expect(session.turnsBefore).toBeGreaterThan(2000)
  const { messages } = await manifestOf(session, { store, projectRoot: '/project', mode: 'ask' })
  expect([messages.length, messages[0]?.turnId, messages.at(-1)?.turnId]).toEqual([3000, 't0', 't2999'])
})

test('B051 a session is resumed from the store that wrote it, and from no other', async () => {
  const store = named('store-a')
  const { manifest } = await spoken(store)
  const session = await resumeFromManifest(manifest, store)
  expect(texts(session.turns)).toEqual(['user: The secret plan.', 'assistant: Hello.'])
  for (const other of [named('store-b'), createMemoryStore()]) {
    const resuming = resumeFromManifest(manifest, other)
    await expect(resuming).rejects.toBeInstanceOf(ResumeMismatchError)
    await expect(resuming).rejects.toMatchObject({ code: 'Session/ResumeMismatch' })
    await expect(resuming).rejects.toThrow('session "s" was written by store "store-a", this is')
  }
})

test('a manifest is written with sorted keys, and refers to what was said instead of saying it', async () => {
  const { session, manifest } = await spoken(named('a'))
  const written = writeManifest(manifest)
  const keys = Object.keys(JSON.parse(written))
  expect(keys).toEqual([...keys].sort())
  expect(written).not.toContain('secret plan')
  expect(manifest.messages.map(({ turnId }) => turnId)).toEqual(session.turns.map(({ id }) => id))
  const other = Object.fromEntries(Object.entries(manifest).reverse()) as typeof manifest
  expect(writeManifest(other)).toBe(written)
})

test('a manifest holds no secret, and says so without showing it', async () => {
  const store = named('a')
  const { session } = await spoken(store)
  const projectRoot = '/project?token=sk-ant-api03-0123456789abcdef'
  const making = manifestOf(session, { store, projectRoot, mode: 'ask' })
  await expect(making).rejects.toThrow('looks like a secret')
  await expect(making).rejects.not.toThrow('sk-ant')
})

test('a store without an identity gives no manifest', async () => {
  const store = createMemoryStore()
  const session = await createSession({ store })
  await session.save()
  await expect(manifestOf(session, { store, projectRoot: '/', mode: 'ask' })).rejects.toThrow('has no identity()')
})
