import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import type { SessionStore } from '../../src/core/store.ts'
import { entry, lease } from '../../src/testing/store-contract-kit.ts'

/** A folder for the databases of one test file, gone when it is through. */
export function databaseFolder(): (name: string) => string {
  const folder = mkdtempSync(join(tmpdir(), 'libero-faults-sqlite-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  return (name) => join(folder, name)
}

const imports = `
  import { createSqliteStore } from ${JSON.stringify(new URL('../../src/sessions/sqlite-store.ts', import.meta.url))}
  import { onFailpoint } from ${JSON.stringify(new URL('../../src/core/log.ts', import.meta.url))}
  import { entry, item, lease, write } from ${JSON.stringify(new URL('../../src/testing/store-contract-kit.ts', import.meta.url))}
  import { DatabaseSync } from 'node:sqlite'
  import fs from 'node:fs'
  const [path, ...rest] = process.argv.slice(1)
  const say = (text) => fs.writeSync(1, text + '\\n')
  const toldToGoOn = () => new Promise((resolve) => process.stdin.once('data', resolve))
`

/** Another process that uses a store. */
export interface Child {
  readonly process: ChildProcess
  readonly ended: Promise<{ code: number | null; signal: string | null; out: string; err: string }>
  /** Resolves when it has said that. */
  said(text: string): Promise<void>
  goOn(): void
}

/** Runs code in another process. It is given `path`, the parts of the store's kit, and `say`. */
export function runChild(code: string, ...args: string[]): Child {
  const node = ['--conditions=libero-source', '--input-type=module', '-e', imports + code, ...args]
  const child = spawn(process.execPath, node, { stdio: ['pipe', 'pipe', 'pipe'] })
  let [out, err] = ['', '']
  const listeners = new Set<() => void>()
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
    for (const listener of listeners) listener()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text
  })
  child.stdin.on('error', () => {}) // it may be gone
  const ended: Child['ended'] = new Promise((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal, out, err }))
  })
  return {
    process: child,
    ended,
    goOn: () => child.stdin.end('go on\n'),
    said: (text) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (out.split('\n').includes(text)) resolve()
        }
        listeners.add(look)
        look()
        void ended.then(() => reject(new Error(`it ended without saying ${text}: ${out}${err}`)))
      }),
  }
}

/** Appends so many transactions of so many entries each to session `s`, and returns the epoch. */
export async function writeMany(store: SessionStore, transactions: number, each: number, id = 's'): Promise<number> {
  const { epoch, head } = await lease(store, id)
  for (let i = 0; i < transactions; i++) {
    const first = head + i * each
    const entries = Array.from({ length: each }, (_, j) =>
      entry(first + j + 1, `${id} ${first + j} ${'x'.repeat(500)}`),
    )
    await store.append(id, entries, { epoch, head: first })
  }
  return epoch
}

/** Numbers that look random and are the same each time. */
export function seeded(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}
