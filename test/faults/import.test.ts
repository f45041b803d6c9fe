import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished } from 'vitest'
import { openStore } from '../../src/cli/sessions/open-store.ts'
import type { SessionStore } from '../../src/core/store.ts'
import { importSession } from '../../src/sessions/export.ts'
import { fakeIo, runLibero } from '../cli/fake-io.ts'
import { mayChangeMachine } from '../processes.ts'
import { sampleOf, testInTurns } from '../soak.ts'
import { temporary } from '../temporary.ts'

const test = testInTurns(2)

/** A session of 1,200 entries with a child of as many and a blob: more than one batch of anything. */
const text = exportedText(1200)
/** Its entries are written in three appends, those of its child in three more. */
const longText = exportedText(12_000)
const child = fileURLToPath(new URL('import-child.ts', import.meta.url))

const kinds = [
  ['sqlite', 'sessions.db', 'sqlite.append.beforeCommit', 'sqlite.append.begin'],
  ['jsonl', 'sessions/', 'jsonl.append.afterWrite', 'jsonl.append.beforeWrite'],
] as const

describe.each(kinds)('R01 an import into %s', (kind, name, inAppend, beforeAppend) => {
  test.each([
    ['when it has written the child', beforeAppend, 2],
    ['in the middle of the last append', inAppend, 2],
  ])('R01 that is killed %s leaves nothing in the list, and can be repeated', async (_, place, n) => {
    const folder = await temporary('import-')
    const file = join(folder, 'export.jsonl')
    writeFileSync(file, text)
    const args = ['--conditions=libero-source', child, kind, join(folder, name), file, place, String(n)]
    const { signal, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    expect([signal, stderr]).toEqual(['SIGKILL', ''])
    if (place === 'jsonl.append.afterWrite') halve(join(folder, name, 's/log.jsonl'))
    const store = await openStore(join(folder, name))
    onTestFinished(() => store.close?.())
    expect(await shownIn(store)).toEqual([])
    await importSession(store, text)
    expect(await shownIn(store)).toEqual(['s'])
    expect((await store.list()).sessions.map(({ id, head }) => `${id} ${head}`).sort()).toEqual(['s 1200', 's/c 1200'])
  })
})

const places = [
  ['when it has written a part of the session', 2],
  ['when it has written a part of the child', 4],
  ['when it has written all but the end', 6],
] as const

describe.each(kinds)('R01 ST11 an import of a long session into %s', (kind, name, _, beforeAppend) => {
  test.each(sampleOf(places, 1))('that is killed %s leaves nothing in the list, and can be repeated', async (_, n) => {
    const folder = await temporary('import-')
    const file = join(folder, 'export.jsonl')
    writeFileSync(file, longText)
    const args = ['--conditions=libero-source', child, kind, join(folder, name), file, beforeAppend, String(n)]
    const { signal, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    expect([signal, stderr]).toEqual(['SIGKILL', ''])
    const store = await openStore(join(folder, name))
    onTestFinished(() => store.close?.())
    expect(await shownIn(store)).toEqual([])
    await importSession(store, longText)
    const { sessions } = await store.list({ order: 'id' })
    expect(sessions.map(({ id, head }) => `${id} ${head}`)).toEqual(['s 12000', 's/c 12000'])
    expect((await store.read('s', { after: 4998, limit: 5 })).map(({ seq }) => seq)).toEqual([
      4999, 5000, 5001, 5002, 5003,
    ])
    expect(await store.blobs('s').names()).toHaveLength(1)
  })
})

if (!mayChangeMachine) console.warn('skipped: imports onto a full disk are tried only on Linux as root with CI set')

describe.skipIf(!mayChangeMachine).each(kinds)('R01 an import into %s on a full disk', (_, name) => {
  test('R01 says so, imports nothing, and works when there is room', async () => {
    const home = join(await temporary('import-full-'), 'home')
    mkdirSync(home)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=400k,mode=700', 'tmpfs', home])
    onTestFinished(() => void execFileSync('umount', ['--lazy', home]))
    writeFileSync(join(home, 'config.json'), JSON.stringify({ sessions: name }), { mode: 0o600 })
    const run = (...words: string[]) => runLibero(['sessions', ...words], fakeIo({ home, stdin: text }))
    const failed = await run('import', '-')
    expect(failed.code).toBe(1)
    expect(failed.err).toMatch(/cannot be imported: .*(?:free some space|make room on the disk)/)
    expect((await run('list', '--all')).out).toBe('')
    execFileSync('mount', ['-o', 'remount,size=16m', home])
    expect((await run('import', '-')).out).toBe('s\n')
    expect((await run('list', '--all')).out).toMatch(/^s /)
  })
})

/** The kernel had written only a part of it when the process died. */
function halve(path: string): void {
  truncateSync(path, Math.floor(statSync(path).size / 2))
}

async function shownIn(store: SessionStore): Promise<string[]> {
  return (await store.list({ parent: null })).sessions.map(({ id }) => id)
}

function exportedText(entries: number): string {
  const turn = (i: number) => {
    const content = [{ type: 'text', text: `words ${i} ${'x'.repeat(200)}` }]
    return { seq: i, id: `e${i}`, at: i, type: 'turn', turn: { id: `t${i}`, runId: '', role: 'user', content } }
  }
  const log = Array.from({ length: entries }, (_, i) => turn(i + 1))
  const blob = { libero: 'blob', name: 'b', data: Buffer.from('blob').toString('base64') }
  const lines = [
    { libero: 'session', version: 1, id: 's', entries },
    blob,
    ...log,
    { libero: 'child', id: 's/c', parent: 's', entries },
    ...log,
    { libero: 'end', sessions: 2 },
  ]
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('')
}
