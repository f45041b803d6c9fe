import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createProcessContext } from '../../src/execution/process.ts'
import { createAgent } from '../../src/index.ts'
import type { ServerOptions } from '../../src/server/index.ts'
import { createSnapshots } from '../../src/snapshots/index.ts'
import { call, scripted } from '../../src/testing/index.ts'
import { shell, writeFile } from '../../src/tools/index.ts'
import { temporary } from '../temporary.ts'
import { startServer, until } from './server-kit.ts'

const replies: Parameters<typeof scripted> = [
  [call('1', 'write_file', { path: 'a.txt', content: 'one\nTWO\nthree\n' })],
  'First.',
  [call('2', 'shell', { command: 'rm old.txt; printf "\\000\\001" > bin; echo new > "näw file.txt"' })],
  'Second.',
]

/** A server whose agent works in a folder with two files, and has answered two messages. */
async function worked({ isKept = true } = {}) {
  const folder = await temporary('files-')
  writeFileSync(join(folder, 'a.txt'), 'one\ntwo\nthree\n')
  writeFileSync(join(folder, 'old.txt'), 'old\n')
  const execution = createProcessContext({ cwd: folder })
  const kept = { execution, store: await temporary('snapshots-') }
  const provider = scripted(...replies)
  const workspaceFor: ServerOptions['workspaceFor'] = async () => {
    const snapshots = createSnapshots(kept)
    return { execution, snapshots, close: () => snapshots.close() }
  }
  const server = await startServer({
    async agentFor({ session }) {
      const tools = { write_file: { ...writeFile, gated: false }, shell: { ...shell, gated: false } }
      const extensions = isKept ? [createSnapshots(kept).extension] : []
      const agent = createAgent({ provider, session, execution, tools, extensions })
      return { agent, close: () => agent.destroy() }
    },
    ...(isKept && { workspaceFor }),
  })
  await server.send('POST', '/v1/sessions', { id: 'a' })
  const heads: number[] = []
  for (const content of ['Write.', 'Remove.']) {
    heads.push((await server.store.find('a'))!.head)
    await server.send('POST', '/v1/sessions/a/messages', { content }, { prefer: 'wait=20' })
  }
  await until(async () => !(await server.store.find('a'))?.isHeld)
  const get = async (path: string) => (await server.send('GET', `/v1/sessions/a/${path}`)).body
  return { ...server, folder, heads, get }
}

test('WB03 the files that a session changed, with their lines and diffs, from its snapshots', async () => {
  const { get, heads, send } = await worked()
  expect(await get('files')).toEqual({
    from: 'snapshots',
    files: [
      { path: 'a.txt', kind: 'changed', added: 1, removed: 1 },
      { path: 'bin', kind: 'added' },
      { path: 'näw file.txt', kind: 'added', added: 1, removed: 0 },
      { path: 'old.txt', kind: 'deleted', added: 0, removed: 1 },
    ],
  })
  const paths = (await get(`files?after=${heads[1]}`)).files.map(({ path }: { path: string }) => path)
  expect(paths).toEqual(['bin', 'näw file.txt', 'old.txt'])
  const diff = await get('files/diff?path=a.txt')
  expect(diff).toMatchObject({ path: 'a.txt', isCut: false })
  expect(diff.diff).toMatch(/--- a\/a.txt\n\+\+\+ b\/a.txt\n@@ -1,3 \+1,3 @@\n one\n-two\n\+TWO\n three\n$/)
  expect((await get(`files/diff?path=${encodeURIComponent('näw file.txt')}`)).diff).toContain('+new')
  expect((await get('files/diff?path=../etc/passwd')).code).toBe('no_change')
  expect((await send('GET', '/v1/sessions/a/files/diff')).status).toBe(400)
})

test('WB03 without snapshots the files come from what tools logged', async () => {
  const { get } = await worked({ isKept: false })
  expect(await get('files')).toEqual({
    from: 'log',
    whyNoSnapshots: 'no snapshots are taken here',
    files: [{ path: 'a.txt', kind: 'changed', added: 1, removed: 1 }],
  })
  expect((await get('files/diff?path=a.txt')).diff).toContain('-two\n+TWO')
  expect((await get('rollback?to=1')).code).toBe('not_offered')
})

test('WB04 conversation and files go back to before a message, and an undo brings them back', async () => {
  const { get, heads, send, folder, store } = await worked()
  const to = heads[1]!
  expect(await get(`rollback?to=${to}`)).toEqual({
    turns: 4,
    files: { restore: ['old.txt'], delete: ['bin', 'näw file.txt'], conflicts: [] },
  })
  expect(await get(`rollback?to=${to}&what=conversation`)).toEqual({ turns: 4 })
  writeFileSync(join(folder, 'bin'), 'of a person')
  const { body } = await send('POST', '/v1/sessions/a/rollback', { to, what: 'both' })
  expect(body).toMatchObject({ turns: 4, files: { restored: ['old.txt'], deleted: ['näw file.txt'], failed: [] } })
  expect(body.files.conflicts).toMatchObject([{ path: 'bin' }])
  expect(readFileSync(join(folder, 'old.txt'), 'utf8')).toBe('old\n')
  expect(readFileSync(join(folder, 'bin'), 'utf8')).toBe('of a person')
  expect((await store.find('a'))?.isHeld).toBeUndefined()
  const undone = await send('POST', '/v1/sessions/a/rollback/undo', {})
  expect(undone.body).toMatchObject({ turns: 4, files: { restored: ['näw file.txt'], deleted: ['old.txt'] } })
  expect(existsSync(join(folder, 'old.txt'))).toBe(false)
  for (const [path, given, status] of [
    ['rollback', { to: 9999 }, 400],
    ['rollback', {}, 400],
    ['rollback', { to: 1, what: 'all' }, 400],
    ['rollback/undo', { to: 1 }, 400],
  ] as const)
    expect((await send('POST', `/v1/sessions/a/${path}`, given)).status).toBe(status)
})

test('WB04 a rollback is refused with its reason while a run is under way, and without one to undo', async () => {
  const { send, store } = await worked()
  expect((await send('POST', '/v1/sessions/a/rollback/undo', {})).body).toMatchObject({
    status: 409,
    code: 'nothing_to_undo',
  })
  const { epoch } = await store.lease('a', { owner: 'another', ttlMs: 60_000 })
  expect((await send('POST', '/v1/sessions/a/rollback', { to: 1, what: 'files' })).body.code).toBe('at_work')
  await store.lease('a', { owner: 'another', ttlMs: 0, epoch })
})
