import { beforeEach, describe, expect, test } from 'vitest'
import type { ToolOrigin } from '../../core/authority.ts'
import { type FakeClock, fakeClock } from '../../testing/fake-clock.ts'
import type { GrantedPlacement, Placement } from '../confinement.ts'
import { type Grant, isSameGrant } from './grant.ts'
import { createGrants, type GrantIdentity, type GrantStore, type Grants } from './grants.ts'

const inside = {
  ...{ profile: 'workspace-write', reads: [], writes: [], hosts: [], home: 'empty' },
} as const satisfies GrantedPlacement
const bundled: ToolOrigin = { layer: 'bundled' }
const call: GrantIdentity = {
  ...{ tool: 'shell', key: 'npm test', origin: bundled, sessionIds: ['s-1'], project: '/desk' },
  wanted: { ...inside, hidden: [] },
}
const ofSession = {
  tool: 'shell',
  key: 'npm test',
  origin: bundled,
  scope: 'session',
  sessionId: 's-1',
  project: '/desk',
  within: inside,
  covers: 'exactly `npm test` in this project',
  grantedBy: 'ada',
} as const
const { sessionId: _, ...unscoped } = ofSession
const ofProject = { ...unscoped, scope: 'project' } as const

let clock: FakeClock
let grants: Grants

beforeEach(() => {
  clock = fakeClock(1_000)
  grants = createGrants({ clock })
})

describe('what is found', () => {
  test('matches only this tool and key', async () => {
    expect(grants.find(call)).toBeUndefined()
    await grants.add(ofSession)
    expect(grants.find(call)).toEqual({ ...ofSession, grantedAt: 1_000 })
    expect(grants.find({ ...call, tool: 'exec' })).toBeUndefined()
    expect(grants.find({ ...call, key: 'npm' })).toBeUndefined()
    expect(grants.find({ ...call, key: 'npm test ' })).toBeUndefined()
  })

  test('does not match another tool and key with the same concatenation', async () => {
    await grants.add({ ...ofProject, tool: 'a\nb', key: 'c' })
    expect(grants.find({ ...call, tool: 'a', key: 'b\nc' })).toBeUndefined()
  })

  test('does not match after its expiry, even if the clock is set back', async () => {
    let now = 1_000
    const own = createGrants({ clock: { ...clock, now: () => now } })
    await own.add({ ...ofProject, expiresAt: 2_000 })
    expect(own.find(call)).toBeDefined()
    now = 2_000
    expect(own.find(call)).toBeUndefined()
    now = 1_000
    expect(own.find(call)).toBeUndefined()
  })

  test('B015 approvals end with the session, and when it is cleared', async () => {
    await grants.add(ofSession)
    await grants.add({ ...ofSession, key: 'ls' })
    await grants.add({ ...ofSession, sessionId: 's-2' })
    await grants.add({ ...ofProject, key: 'pwd' })
    expect(grants.find({ ...call, sessionIds: ['s-3'] })).toBeUndefined()
    await grants.clearSession('s-1')
    expect(grants.find(call)).toBeUndefined()
    expect(grants.list().map(({ key }) => key)).toEqual(['npm test', 'pwd'])
  })

  test('AG-03 an approval in a child does not count for its parent or its siblings', async () => {
    await grants.add({ ...ofSession, sessionId: 'child' })
    expect(grants.find({ ...call, sessionIds: ['child', 'root'] })).toBeDefined()
    expect(grants.find({ ...call, sessionIds: ['grandchild', 'child', 'root'] })).toBeDefined()
    expect(grants.find({ ...call, sessionIds: ['root'] })).toBeUndefined()
    expect(grants.find({ ...call, sessionIds: ['sibling', 'root'] })).toBeUndefined()
  })

  test.each<[string, ToolOrigin]>([
    ['of another layer', { layer: 'project' }],
    ['from a file', { layer: 'bundled', path: '/desk/.libero/tools/shell.ts' }],
    ['with other code', { layer: 'bundled', digest: 'abc' }],
  ])('B034 a tool of the same name %s does not inherit approvals', async (_, origin) => {
    for (const grant of [ofSession, ofProject]) await grants.add(grant)
    expect(grants.find({ ...call, origin })).toBeUndefined()
  })

  test('B034 an approval does not outlive a change of the code it was given to', async () => {
    const origin = { layer: 'project', path: '/desk/.libero/tools/deploy.ts', digest: 'one' } as const
    await grants.add({ ...ofProject, origin })
    expect(grants.find({ ...call, origin: { ...origin } })).toBeDefined()
    expect(grants.find({ ...call, origin: { ...origin, digest: 'two' } })).toBeUndefined()
    expect(grants.find({ ...call, origin: { layer: 'project', path: origin.path } })).toBeUndefined()
  })

  test('S09 counts only in its project, with every scope', async () => {
    for (const grant of [ofProject, ofSession]) {
      await grants.add(grant)
      expect(grants.find(call)).toMatchObject({ scope: grant.scope })
      for (const project of ['/desk/inner', '/des', '/', '/other'])
        expect(grants.find({ ...call, project })).toBeUndefined()
      await grants.revoke(() => true)
    }
  })

  test('S09 counts in other sessions of the project with the scope project alone', async () => {
    await grants.add(ofSession)
    expect(grants.find({ ...call, sessionIds: ['new'] })).toBeUndefined()
    await grants.add(ofProject)
    expect(grants.find({ ...call, sessionIds: ['new'] })).toMatchObject({ scope: 'project' })
  })

  const places = {
    reading: { ...inside, profile: 'read-only', hidden: ['/desk/.env'] },
    writing: { ...inside, hidden: [] },
    elsewhere: { ...inside, reads: ['/srv'], hidden: [] },
    online: { ...inside, hosts: ['a.test'], hidden: [] },
    outside: 'outside',
  } satisfies Record<string, Placement>
  test.each<[string, GrantedPlacement | undefined, readonly string[]]>([
    ['read-only', { ...inside, profile: 'read-only' }, ['reading']],
    ['workspace-write', inside, ['reading', 'writing']],
    ['another folder too', { ...inside, reads: ['/srv'] }, ['reading', 'writing', 'elsewhere']],
    ['outside', 'outside', Object.keys(places)],
    ['no commands', undefined, []],
  ])('S09 given for %s, covers no call that reaches more', async (_, within, covered) => {
    const { within: __, ...without } = ofSession
    await grants.add({ ...without, ...(within && { within }) })
    const found = Object.entries(places).filter(([, wanted]) => grants.find({ ...call, wanted }))
    expect(found.map(([name]) => name)).toEqual(covered)
  })

  test('what was allowed outside is found first, and bound grants last', async () => {
    await grants.add({ ...ofSession, bound: { file: 'abc' } })
    await grants.add(ofProject)
    expect(grants.find(call)).toMatchObject({ scope: 'project', within: inside })
    await grants.add({ ...ofSession, within: 'outside' })
    expect(grants.find(call)).toMatchObject({ scope: 'session', within: 'outside' })
  })

  test('does not count from its expiry on', async () => {
    await grants.add({ ...ofSession, expiresAt: 5_000 })
    await clock.advance(3_999)
    expect(grants.find(call)).toBeDefined()
    await clock.advance(1)
    expect(grants.find(call)).toBeUndefined()
    expect(grants.list()).toEqual([])
    await grants.add(ofSession)
    expect(grants.find(call)).toMatchObject({ grantedAt: 5_000 })
  })

  test('lists its bound files, and unbound grants come first', async () => {
    const bound = { '/desk/package.json': 'abc' }
    await grants.add({ ...ofSession, bound })
    expect(grants.find(call)).toMatchObject({ bound })
    await grants.add(ofProject)
    expect(grants.find(call)).toMatchObject({ scope: 'project' })
  })
})

test('nothing is kept for a project where that is switched off, and what others kept does not count', async () => {
  const store = fakeStore()
  const off = createGrants({ clock, store, projectScope: false })
  await expect(off.add(ofProject)).rejects.toThrow(expect.objectContaining({ code: 'ProjectScopeOff' }))
  expect(store.kept).toEqual([])
  await createGrants({ clock, store }).add(ofProject)
  await off.load()
  expect(off.find(call)).toBeUndefined()
})

test('granting the same twice keeps the first; by whom and when makes no difference', async () => {
  await grants.add({ ...ofSession, bound: { a: '1', b: '2' } })
  await clock.advance(50)
  await grants.add({ ...ofSession, bound: { b: '2', a: '1' }, grantedBy: 'bob' })
  expect(grants.list()).toMatchObject([{ grantedAt: 1_000, grantedBy: 'ada' }])
  await grants.add({ ...ofSession, bound: { a: '1', b: '3' } })
  expect(grants.list()).toHaveLength(2)
})

test('a grant whose file changed is revoked by content, and can be granted again', async () => {
  await grants.add({ ...ofSession, bound: { '/desk/package.json': 'before' } })
  const stale = { ...grants.find(call)! }
  expect(await grants.revoke((grant) => isSameGrant(grant, stale))).toBe(1)
  expect(await grants.revoke((grant) => isSameGrant(grant, stale))).toBe(0)
  expect(grants.find(call)).toBeUndefined()
  await grants.add({ ...ofSession, bound: { '/desk/package.json': 'after' } })
  expect(grants.find(call)?.bound).toEqual({ '/desk/package.json': 'after' })
})

test.each([
  ['once', { ...unscoped, scope: 'once' }, 'scope'],
  ['a denial', { ...ofSession, decision: 'deny' }, 'decision'],
  ['no session', { ...unscoped, scope: 'session' }, 'sessionId'],
  ['for all projects', { ...unscoped, scope: 'always' }, 'scope'],
  ['no project', { ...ofProject, project: undefined }, 'project'],
  ['a sandbox without a home', { ...ofSession, within: { ...inside, home: undefined } }, 'within'],
  ['a sandbox that says more', { ...ofSession, within: { ...inside, root: '/' } }, 'within'],
  ['no words', { ...ofSession, covers: '' }, 'covers'],
  ['outside for a project', { ...ofProject, within: 'outside' }, 'a session only'],
  ['a session for a project', { ...ofProject, sessionId: 's-1' }, 'sessionId'],
  ['no tool', { ...ofProject, tool: '' }, 'tool'],
  ['no key', { ...ofProject, key: '' }, 'key'],
  ['an unknown layer', { ...ofProject, origin: { layer: 'user' } }, 'origin'],
  ['an origin that says more', { ...ofProject, origin: { layer: 'host', version: '1' } }, 'origin'],
  ['a wrong time', { ...ofProject, expiresAt: Number.NaN }, 'expiresAt'],
  ['a wrong binding', { ...ofProject, bound: { file: 1 } }, 'bound'],
  ['granted by no one', { ...ofProject, grantedBy: undefined }, 'grantedBy'],
])('what is no approval to keep is refused: %s', async (_, grant, word) => {
  await expect(grants.add(grant as unknown as Grant)).rejects.toThrow(word)
  expect(grants.list()).toEqual([])
})

test('the caller cannot change a grant after adding it', async () => {
  const bound: Record<string, string> = { file: 'abc' }
  await grants.add({ ...ofSession, bound })
  bound.file = 'other'
  expect(grants.find(call)?.bound).toEqual({ file: 'abc' })
})

test('grants of sessions that are never cleared are bounded, and lasting grants stay', async () => {
  const store = fakeStore()
  grants = createGrants({ clock, store })
  store.kept = Array.from({ length: 3_000 }, (_, n) => ({ ...ofSession, sessionId: `old-${n}`, grantedAt: n }))
  store.kept = [{ ...ofProject, grantedAt: 0 }, ...store.kept]
  await grants.add({ ...ofSession, sessionId: 'new' })
  expect(store.kept).toHaveLength(2_001)
  expect(store.kept.at(0)?.scope).toBe('project')
  expect(store.kept.at(-1)?.sessionId).toBe('new')
})

describe('with a store', () => {
  test('grants and revocations of another process count after the next load', async () => {
    const store = fakeStore()
    const [here, there] = [createGrants({ clock, store }), createGrants({ clock, store })]
    await here.add(ofProject)
    expect(there.find(call)).toBeUndefined()
    await there.load()
    expect(there.find(call)).toBeDefined()
    await there.revoke(() => true)
    await here.load()
    expect(here.find(call)).toBeUndefined()
  })

  test('if the store cannot be trusted any more, no grant counts', async () => {
    const store = fakeStore()
    grants = createGrants({ clock, store })
    await grants.add(ofProject)
    store.read = () => Promise.reject(new Error('broken'))
    await expect(grants.load()).rejects.toThrow('broken')
    expect(grants.find(call)).toBeUndefined()
    expect(grants.list()).toEqual([])
  })

  test('a grant that could not be written is not kept', async () => {
    const store = fakeStore()
    grants = createGrants({ clock, store })
    store.change = () => Promise.reject(new Error('disk full'))
    await expect(grants.add(ofProject)).rejects.toThrow('disk full')
    expect(grants.find(call)).toBeUndefined()
  })

  test('a slow read never replaces a newer one', async () => {
    const store = fakeStore()
    grants = createGrants({ clock, store })
    const slow = Promise.withResolvers<readonly Grant[]>()
    store.read = () => slow.promise
    const looked = grants.load()
    const added = grants.add(ofProject)
    slow.resolve([])
    await Promise.all([looked, added])
    expect(grants.find(call)).toBeDefined()
  })
})

function fakeStore() {
  const store = {
    kept: [] as readonly Grant[],
    read: async () => store.kept,
    change: async (edit: Parameters<GrantStore['change']>[0]) => (store.kept = edit(store.kept)),
  }
  return store
}
