import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, expect, test } from 'vitest'
import type { Session, SessionStore } from '../../core/store.ts'
import { createAgent } from '../../create-agent.ts'
import { createMemoryStore } from '../../sessions/memory-store.ts'
import { createSession } from '../../sessions/session.ts'
import { scripted } from '../../testing/index.ts'
import { CliError } from '../cli-error.ts'
import { openSession } from './open-session.ts'
import { openStore, sessionsPath } from './open-store.ts'
import { newSessionId } from './session-id.ts'
import { titlesFor } from './session-title.ts'

const folder = mkdtempSync(join(tmpdir(), 'libero-open-session-'))
afterAll(() => rmSync(folder, { recursive: true }))

const cwd = '/desk/project'
let store: SessionStore
beforeEach(() => {
  store = createMemoryStore()
})

async function begun(where: string, says = 'Hello.'): Promise<Session> {
  const { session } = await openSession(store, { cwd: where })
  await createAgent({ provider: scripted('Hi.'), session }).run({ prompt: says })
  return session
}

const failure = async (promise: Promise<unknown>): Promise<CliError> => {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(CliError)
  return error as CliError
}

test('a new session has an id that is easy to type, and records its folder', async () => {
  const { session, isNew } = await openSession(store, { cwd })
  expect(isNew).toBe(true)
  expect(session.id).toMatch(/^(?:[a-z][aeiou]){3}-(?:[a-z][aeiou]){3}$/)
  expect(await store.list()).toEqual({ sessions: [] }) // nothing was written yet
  await createAgent({ provider: scripted('Hi.'), session }).run({ prompt: 'Hello.' })
  expect(await store.find(session.id)).toMatchObject({ folder: cwd, turns: 2 })
})

test('ids do not repeat', () => {
  expect(new Set(Array.from({ length: 2000 }, newSessionId)).size).toBe(2000)
})

test('--continue opens the latest session of this folder', async () => {
  await begun(cwd)
  await new Promise((resolve) => setTimeout(resolve, 5)) // times are in milliseconds
  const latest = await begun(cwd)
  await begun('/desk/other')
  await openSession(store, { cwd }) // stays empty
  const { session, isNew, begunIn } = await openSession(store, { cwd, continue: true })
  expect([session.id, isNew, begunIn]).toEqual([latest.id, false, undefined])
  expect(session.turns).toHaveLength(2)
})

test('a folder is the same whichever link leads to it', async () => {
  const real = realpathSync(mkdtempSync(join(folder, 'project-')))
  const link = join(folder, 'link')
  symlinkSync(real, link)
  const one = await begun(link)
  expect((await openSession(store, { cwd: real, continue: true })).session.id).toBe(one.id)
  expect((await openSession(store, { cwd: link, continue: true })).begunIn).toBeUndefined()
})

test('--continue in a folder without sessions fails and names the next step', async () => {
  await begun('/desk/other')
  const { message, exitCode } = await failure(openSession(store, { cwd, continue: true }))
  expect(message).toBe(
    'No session was begun in /desk/project; libero sessions list --all shows those of other folders, libero "task" starts one',
  )
  expect(exitCode).toBe(1)
})

test('--continue never opens the session of a child', async () => {
  const parent = await begun(cwd)
  await parent.open()
  const child = await parent.child('call')
  await child.log.append({ type: 'details', folder: cwd })
  await child.addTurns([{ role: 'user', content: [{ type: 'text', text: 'Dig.' }] }])
  await parent.release()
  expect((await openSession(store, { cwd, continue: true })).session.id).toBe(parent.id)
})

test('--resume takes the prefix of an id, and names the folder of the session', async () => {
  const one = await begun('/desk/other')
  const { session, begunIn } = await openSession(store, { cwd, resume: one.id.slice(0, 6) })
  expect([session.id, begunIn]).toEqual([one.id, '/desk/other'])
})

test('an ambiguous prefix lists the matches, an unknown id suggests the nearest one', async () => {
  for (const id of ['essay-one', 'essay-two']) await (await createSession({ store, id })).save()
  const ambiguous = await failure(openSession(store, { cwd, resume: 'essay' }))
  expect(ambiguous.message).toMatch(/"essay" may be essay-(one|two), essay-(one|two); type more of the id/)
  const unknown = await failure(openSession(store, { cwd, resume: 'esay-one\x1b' }))
  expect(unknown.message).toBe(
    'There is no session "esay-one␛" (did you mean essay-one?); libero sessions list --all shows all of them',
  )
})

test('--resume without an id lets the person pick; without a person it opens the latest session of this folder', async () => {
  const here = await begun(cwd, 'Here.')
  const there = await begun('/desk/other', 'There.')
  const titles: string[] = []
  const pick = async (sessions: readonly { id: string; title?: string }[]): Promise<string | undefined> => {
    titles.push(...sessions.map(({ title = '' }) => title))
    return there.id
  }
  expect((await openSession(store, { cwd, resume: true }, { pick })).session.id).toBe(there.id)
  expect(titles.sort()).toEqual(['Here.', 'There.'])
  expect((await openSession(store, { cwd, resume: true })).session.id).toBe(here.id)
  const nothing = await failure(openSession(store, { cwd, resume: true }, { pick: async () => undefined }))
  expect(nothing.exitCode).toBe(130)
})

test('--fork opens a copy that belongs to this folder, and leaves the original unchanged', async () => {
  const one = await begun('/desk/other')
  const { session, begunIn } = await openSession(store, { cwd, resume: one.id, fork: true })
  expect(session.id).not.toBe(one.id)
  expect(begunIn).toBeUndefined()
  expect(session.turns).toHaveLength(2)
  expect((await openSession(store, { cwd, continue: true })).session.id).toBe(session.id)
  const { exitCode } = await failure(openSession(store, { cwd, fork: true }))
  expect(exitCode).toBe(2)
})

test('a session that another process writes is refused before a model is asked, and can be forked', async () => {
  const one = await begun(cwd)
  await one.open()
  const { message } = await failure(openSession(store, { cwd, resume: one.id }))
  expect(message).toContain(`Session ${one.id} is being written by another program (libero#`)
  expect(message).toContain(`work in a copy with --resume ${one.id} --fork`)
  expect((await openSession(store, { cwd, resume: one.id, fork: true })).session.turns).toHaveLength(2)
  await one.release()
})

test('a parked session is refused with the command that unparks it, which works', async () => {
  const one = await begun(cwd)
  await one.open()
  await one.log.append({ type: 'parked', reason: 'its process ended 3 times in a row' })
  await one.release()
  const { message } = await failure(openSession(store, { cwd, continue: true }))
  expect(message).toContain(`libero sessions resume ${one.id} --unpark tries it again`)
  expect((await openSession(store, { cwd, resume: one.id, unpark: true })).session.parked).toBeUndefined()
})

test('UI-01 a title is one visible line of at most 60 columns, and SE-03 has no secrets in it', async () => {
  const long = await begun(cwd, `Fix\n\tthe \x1b[2Jscreen ${'漢字'.repeat(40)}`)
  const titleOf = async (id: string) => titlesFor({ HOUSE_KEY: 'k'.repeat(300) })((await store.find(id))!)
  expect(await titleOf(long.id)).toMatch(/^Fix the \[2Jscreen 漢字.*…$/)
  const secret = await begun(cwd, `Use ${['sk', 'made', 'up', '1234567890abcdef'].join('-')} please`)
  expect(await titleOf(secret.id)).toBe('Use [REDACTED:1] please')
  const cut = await begun(cwd, `Open with ${'k'.repeat(300)}`)
  expect(await titleOf(cut.id)).toBe('Open with …')
  expect(titlesFor({})({})).toBe('')
})

test('sessions are stored in the folder of the user, or where the settings say', () => {
  const io = { home: '/home/ann/.libero', userHome: '/home/ann' }
  expect(sessionsPath({}, io)).toBe('/home/ann/.libero/sessions.db')
  expect(sessionsPath({ sessions: '~/notes/s.db' }, io)).toBe('/home/ann/notes/s.db')
  expect(sessionsPath({ sessions: 'logs/' }, io)).toBe('/home/ann/.libero/logs/')
  expect(sessionsPath({ sessions: '/var/s.db' }, io)).toBe('/var/s.db')
})

test('a store is an SQLite file in a folder of its own, or a folder of text files', async () => {
  const path = join(folder, 'home', 'sessions.db')
  const sqlite = await openStore(path)
  await (await createSession({ store: sqlite, id: 's' })).save()
  await sqlite.close?.()
  expect(statSync(join(folder, 'home')).mode & 0o777).toBe(0o700)
  expect(statSync(path).mode & 0o777).toBe(0o600)

  for (const dir of [join(folder, 'lines/'), join(folder, 'lines')]) {
    const lines = await openStore(dir)
    await (await createSession({ store: lines, id: dir.endsWith('/') ? 'a' : 'b' })).save()
    await lines.close?.()
  }
  expect(['a', 'b'].map((id) => existsSync(join(folder, 'lines', id, 'log.jsonl')))).toEqual([true, true])
})

test('the error for a store that cannot be opened names the next step', async () => {
  writeFileSync(join(folder, 'file'), 'x')
  const inFile = await failure(openStore(join(folder, 'file', 'sessions.db')))
  expect(inFile.message).toMatch(/there is a file in place of its folder; .* libero config set sessions <path>$/)
  writeFileSync(join(folder, 'broken.db'), 'no database at all, but long enough to be looked at\n'.repeat(100), {
    mode: 0o600,
  })
  const broken = await failure(openStore(join(folder, 'broken.db')))
  expect(broken.message).toMatch(
    /^the sessions cannot be read: move the file elsewhere.*\(\S*broken\.db is damaged[^.]*\)$/,
  )
  if (process.getuid?.() === 0) return // nothing is forbidden to root
  mkdirSync(join(folder, 'closed'))
  chmodSync(join(folder, 'closed'), 0o500)
  const closed = await failure(openStore(join(folder, 'closed', 'deep', 'sessions.db')))
  expect(closed.message).toContain('its folder may not be written')
})
