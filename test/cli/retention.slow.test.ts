import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { PassThrough, Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { createGrantFile } from '../../src/authority/grants/grant-file.ts'
import { createGrants } from '../../src/authority/grants/grants.ts'
import { openStore } from '../../src/cli/sessions/open-store.ts'
import { systemClock } from '../../src/core/clock.ts'
import type { SessionDetails, SessionStore } from '../../src/core/store.ts'
import { createSession, loadSession } from '../../src/sessions/session.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { type MockService, startMockService } from '../rpc/mock-service.ts'
import { testInTurns } from '../soak.ts'
import { openDesk } from './cli-kit.ts'
import { type FakeIo, fakeIo, runLibero } from './fake-io.ts'

const test = testInTurns(2)

const day = 86_400_000
const say = (text: string) => [{ role: 'user' as const, content: [{ type: 'text' as const, text }] }]

interface Home {
  readonly home: string
  readonly cwd: string
  libero(args: readonly string[], io?: Partial<FakeIo>): ReturnType<typeof runLibero>
  with<T>(work: (store: SessionStore) => Promise<T>): Promise<T>
  /** A session that was last used so many days ago. */
  put(id: string, daysAgo: number, details?: SessionDetails): Promise<void>
  ids(): Promise<string[]>
}

function openHome(config: object = {}): Home {
  const { home, cwd } = fakeIo()
  mkdirSync(home, { recursive: true })
  writeFileSync(join(home, 'config.json'), JSON.stringify(config), { mode: 0o600 })
  const self: Home = {
    home,
    cwd,
    libero: (args, io) => runLibero(args, { ...fakeIo({ home, cwd }), ...io }),
    async with(work) {
      const store = await openStore(join(home, 'sessions.db'))
      try {
        return await work(store)
      } finally {
        await store.close?.()
      }
    },
    put: (id, daysAgo, details = {}) =>
      self.with(async (store) => {
        const clock = fakeClock(Date.now() - daysAgo * day)
        const session = await createSession({ store, id, clock, folder: cwd, ...details })
        await session.addTurns(say(`This is ${id}`))
      }),
    ids: () => self.with(async (store) => (await store.list({ order: 'id' })).sessions.map(({ id }) => id)),
  }
  return self
}

/** A person at a terminal who types this. */
const typing = (text: string): Partial<FakeIo> => ({
  stdin: Object.assign(Readable.from([`${text}\n`]), { isTTY: true }),
  stderr: Object.assign(new PassThrough().resume(), { isTTY: true }),
})

const prune = ['sessions', 'prune']

describe('ST20 libero sessions prune', () => {
  test('shows what would go, asks, and deletes exactly that', async () => {
    const desk = openHome()
    for (const [id, days] of [
      ['old', 40],
      ['older', 50],
      ['new', 1],
    ] as const)
      await desk.put(id, days)
    const dry = await desk.libero([...prune, '--older-than', '30d', '--dry-run'])
    expect(dry.code).toBe(0)
    expect(dry.out).toMatch(/^old {2}\S+ {2}.*This is old\nolder {2}.*This is older\n$/)
    expect(dry.err).toMatch(/^2 sessions, /)
    const silent = await desk.libero([...prune, '--older-than', '30d'])
    expect([silent.code, silent.err.split('\n')[0]]).toEqual([
      2,
      'libero: sessions prune asks before it deletes, and there is no terminal to ask on; add --yes',
    ])
    expect((await desk.libero([...prune, '--older-than', '30d'], typing('n'))).err).toContain('Nothing was deleted')
    expect(await desk.ids()).toEqual(['new', 'old', 'older'])
    expect((await desk.libero([...prune, '--older-than', '30d'], typing('y'))).err).toContain('Deleted 2 sessions')
    expect(await desk.ids()).toEqual(['new'])
    expect((await desk.libero([...prune, '--older-than', '30d', '--yes'])).err).toBe('There is nothing to delete\n')
  })

  test('by number, by tag, and never what a tag keeps; flags take the place of the settings', async () => {
    const desk = openHome({ retention: { maxAgeDays: 1, keepTags: ['keep'] } })
    for (const [id, days] of [
      ['a', 4],
      ['b', 3],
      ['c', 2],
    ] as const)
      await desk.put(id, days)
    await desk.put('d', 9, { tags: ['keep'] })
    await desk.put('e', 9, { tags: ['draft'] })
    expect((await desk.libero([...prune, '--keep', '2', '--tag', 'draft', '--yes'])).err).toContain('nothing to delete')
    expect((await desk.libero([...prune, '--keep', '3', '--yes'])).err).toContain('Deleted 1 session')
    expect(await desk.ids()).toEqual(['a', 'b', 'c', 'd'])
    const json = JSON.parse((await desk.libero([...prune, '--dry-run', '--json'])).out)
    expect(json).toMatchObject({ sessions: [{ id: 'c' }, { id: 'b' }, { id: 'a' }], kept: 1, blobs: 0 })
    await desk.libero([...prune, '--yes'])
    expect(await desk.ids()).toEqual(['d'])
  })

  test('the file becomes smaller, unless another program uses it', async () => {
    const desk = openHome()
    const path = join(desk.home, 'sessions.db')
    const fill = (id: string) =>
      desk.with(async (store) => {
        const session = await createSession({ store, id, clock: fakeClock(Date.now() - 40 * day) })
        for (let i = 0; i < 20; i++) await session.addTurns(say(`${i} ${'x'.repeat(50_000)}`))
      })
    await fill('large')
    const before = statSync(path).size
    const { err } = await desk.libero([...prune, '--older-than', '30d', '--yes'])
    expect(err).toMatch(/sessions\.db has \d+ kB, before 1\.\d MB\n$/)
    expect(statSync(path).size).toBeLessThan(before / 4)
    await fill('again')
    const database = new DatabaseSync(path)
    database.exec('BEGIN; SELECT count(*) FROM sessions')
    try {
      expect((await desk.libero([...prune, '--older-than', '30d', '--yes'])).err).toMatch(
        /Deleted 1 session\n.*(keeps its size|before)/,
      )
    } finally {
      database.close()
    }
    expect(await desk.ids()).toEqual([])
  })

  test('blobs that no entry names are removed, also without a limit', async () => {
    const desk = openHome()
    await desk.put('a', 1)
    await desk.with((store) => store.blobs('a').put(new Uint8Array([1, 2, 3])))
    const { err } = await desk.libero([...prune, '--yes'])
    expect(err).toMatch(/^1 unused blob, .*no limit is set[\s\S]*Deleted 1 unused blob\n/)
    expect(await desk.with((store) => store.blobs('a').names())).toEqual([])
    expect((await desk.libero([...prune, '--yes'])).err).toContain('no limit is set, give --older-than')
  })

  test.each([
    [['--older-than', '30'], '--older-than takes an age such as 12h, 30d or 8w, got "30"'],
    [['--max-size', 'big'], '--max-size takes a size such as 500MB or 2GB, got "big"'],
    [['--keep', '-1'], '--keep needs a n'],
  ])('%j is refused', async (args, message) => {
    const { code, err } = await openHome().libero([...prune, ...args, '--dry-run'])
    expect([code, err]).toEqual([2, expect.stringContaining(message)])
  })

  test('settings are checked', async () => {
    const desk = openHome()
    const set = async (...words: string[]) => (await desk.libero(['config', 'set', ...words])).err
    expect(await set('retention.maxAgeDays', '30')).toBe('retention.maxAgeDays is now 30\n')
    expect(await set('retention.maxSize', '2GB')).toBe('retention.maxSize is now "2GB"\n')
    expect(await set('retention.maxAgeDays', '0')).toContain('a whole number of at least 1')
    expect(await set('retention.maxSize', 'much')).toContain('a size such as "2GB"')
    expect(await set('retention.maxAge', '30')).toContain('did you mean "maxAgeDays"')
  })
})

describe('ST20 after a run', () => {
  const hello = ['hello', '--provider', 'offline']

  test('what the settings say is deleted, at most once a day, and told in one line', async () => {
    const desk = openHome({ retention: { maxAgeDays: 30 } })
    await desk.put('old', 40)
    const { code, err } = await desk.libero(hello)
    expect([code, err.match(/Deleted.*/)?.[0]]).toEqual([0, 'Deleted 1 session, as the setting retention says'])
    expect(await desk.ids()).toHaveLength(1)
    await desk.put('another', 40)
    expect((await desk.libero(hello)).err).not.toContain('Deleted')
    writeFileSync(join(desk.home, 'last-prune'), String(Date.now() - 2 * day))
    expect((await desk.libero(hello)).err).toContain('Deleted 1 session')
  })

  test('without the setting nothing is deleted', async () => {
    const desk = openHome({ retention: { auditDays: 3 } })
    await desk.put('old', 4000)
    await desk.libero(hello)
    expect(await desk.ids()).toContain('old')
    expect(existsSync(join(desk.home, 'last-prune'))).toBe(false)
  })
})

describe('ST21 deleting a session deletes all of it', () => {
  const origin = { layer: 'bundled' } as const

  test('log, inbox, blobs, children, grants for the session, and what earlier versions cached', async () => {
    const desk = openHome()
    for (const id of ['one', 'two']) {
      await desk.put(id, 0)
      await desk.with(async (store) => {
        const session = await loadSession(store, id)
        await session.open()
        const child = await session.child('call')
        await child.log.append({ type: 'label', text: 'child' })
        await session.release()
        await store.blobs(id).put(new Uint8Array([1]))
        await store.send(id, { clientKey: 'k', mode: 'prompt', content: [] })
      })
    }
    const about = {
      ...{ tool: 'shell', key: 'ls', origin, grantedBy: 'ada', project: '/desk' },
      covers: 'every `ls` in this project that only reads',
    }
    const grants = createGrants({ clock: systemClock, store: createGrantFile(join(desk.home, 'grants.json')) })
    for (const sessionId of ['one', 'one/call', 'two', 'one-more'])
      await grants.add({ ...about, scope: 'session', sessionId })
    await grants.add({ ...about, scope: 'project' })
    writeFileSync(join(desk.home, 'session-list.json'), '{}')

    expect((await desk.libero(['sessions', 'delete', 'one', '--yes'])).err).toBe('Deleted one\n')
    expect(await desk.ids()).toEqual(['two', 'two/call'])
    await desk.with(async (store) => {
      expect([await store.read('one'), await store.blobs('one').names()]).toEqual([[], []])
      await expect(store.send('one', { clientKey: 'x', mode: 'prompt', content: [] })).rejects.toThrow('no session')
    })
    await grants.load()
    expect(grants.list().map(({ sessionId }) => sessionId)).toEqual(['two', 'one-more', undefined])
    expect(readdirSync(desk.home).sort()).not.toContain('session-list.json')
    expect(readFileSync(join(desk.home, 'sessions.db'), 'latin1')).not.toContain('This is one')
    expect(readFileSync(join(desk.home, 'sessions.db'), 'latin1')).toContain('This is two')
  })

  test('a broken file of grants is told and does not keep the session', async () => {
    const desk = openHome()
    await desk.put('one', 0)
    writeFileSync(join(desk.home, 'grants.json'), '{', { mode: 0o600 })
    const { code, err } = await desk.libero(['sessions', 'delete', 'one', '--yes'])
    expect([code, err]).toEqual([
      0,
      expect.stringMatching(/^Grants for these sessions could not be deleted: .*\nDeleted one\n$/),
    ])
  })

  test('an agent is deleted by libero agents', async () => {
    const desk = openHome()
    await desk.put('agent-x', 0)
    const { code, err } = await desk.libero(['sessions', 'delete', 'agent-x', '--yes'])
    expect([code, err]).toEqual([1, 'libero: agent-x is an agent; delete it with: libero agents delete agent-x\n'])
  })
})

describe('ST21 deleting an agent', () => {
  let service: MockService
  beforeAll(async () => {
    service = await startMockService()
  })
  afterAll(() => service.close())

  test.each(['delete', 'close and prune'])(
    '%s removes its snapshots of files, and those of others stay',
    async (how) => {
      const desk = openDesk(service.url, undefined, { snapshots: true })
      const git = (...args: string[]): string => execFileSync('git', args, { cwd: desk.cwd, encoding: 'utf8' })
      const snapshots = (): number =>
        readdirSync(join(desk.home, 'snapshots'), { recursive: true }).filter((name) =>
          /refs\/snapshots\/\w+\/\w+$/.test(String(name)),
        ).length
      git('init', '--quiet')
      desk.write('a.txt', 'mine')
      mkdirSync(join(desk.home, 'agents'))
      const plugins = [{ id: 'zx', toolId: 'zx-script' }]
      writeFileSync(join(desk.home, 'agents/scout.json'), JSON.stringify({ id: 'scout', config: { plugins } }))
      const counts: number[] = []
      for (const name of ['first', 'second']) {
        const script = `fs.writeFileSync("${name}.txt", "its")`
        service.play([{ call: 'zx-script', args: { script } }], [{ say: 'Written.' }])
        expect(await desk.libero(['agents', 'new', 'scout', 'write', '-n', name, '--yolo'])).toMatchObject({ code: 0 })
        counts.push(snapshots())
      }
      expect(counts[0]).toBeGreaterThan(0)
      if (how === 'delete') expect((await desk.libero(['agents', 'delete', 'first', '--yes'])).code).toBe(0)
      else {
        await desk.libero(['agents', 'close', 'first'])
        expect((await desk.libero([...prune, '--keep', '0', '--yes'])).err).toContain('Deleted 1 session')
      }
      expect(snapshots()).toBe(counts[1]! - counts[0]!)
      expect((await desk.libero(['agents', '--json', '--all'])).out).not.toContain('first')
      expect((await desk.libero(['agents', 'rollback', 'second', '--plan'])).out).toContain('delete   second.txt')
    },
    60_000,
  )
})
