import { execFile } from 'node:child_process'
import { mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createAuthority } from '../../src/authority/authority.ts'
import { createJsonlStore, createSqliteStore, loadSession } from '../../src/index.ts'
import { sampleOf } from '../soak.ts'

const child = new URL('./authority-crash-child.ts', import.meta.url).pathname

/** What a process of its own said before it ended, or the signal that ended it. */
function inProcess(kind: string, folder: string, phase: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [child, kind, folder, phase], { timeout: 30_000 }, (error, stdout, stderr) => {
      if (error && !error.signal) reject(new Error(stderr))
      else resolve(error ? error.signal : JSON.parse(stdout))
    })
  })
}

const ran = (folder: string): Promise<string> => readFile(join(folder, 'ran.txt'), 'utf8').catch(() => '')

describe.each(sampleOf(['sqlite', 'jsonl'], 1))('a process that is killed, with %s', (kind) => {
  test('while a person is being asked: the question waits, and is answered from another process', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'crash-'))
    expect(await inProcess(kind, folder, 'asked')).toBe('SIGKILL')
    expect(await inProcess(kind, folder, 'resumed')).toEqual({ status: 'suspended', pending: ['1'] })
    expect(await ran(folder)).toBe('')

    const store =
      kind === 'sqlite'
        ? createSqliteStore({ path: join(folder, 's.db') })
        : createJsonlStore({ dir: join(folder, 's') })
    const authority = createAuthority({ home: join(folder, 'home') })
    await authority.answer(await loadSession(store, 's'), '1', { decision: 'allow', by: 'ann' })
    await authority.close()
    expect(await inProcess(kind, folder, 'resumed')).toEqual({ status: 'suspended', pending: ['2'] })
    expect(await ran(folder)).toBe('ann ')
  })

  test('after the answer and before the call: the person is not asked again, and the call runs once', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'crash-'))
    expect(await inProcess(kind, folder, 'allowed')).toBe('SIGKILL')
    expect(await ran(folder)).toBe('')
    expect(await inProcess(kind, folder, 'resumed')).toEqual({ status: 'suspended', pending: ['2'] })
    expect(await inProcess(kind, folder, 'resumed')).toEqual({ status: 'suspended', pending: ['2'] })
    expect(await ran(folder)).toBe('ann ')
  })
})
