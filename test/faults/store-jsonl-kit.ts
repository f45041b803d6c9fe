import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, onTestFinished } from 'vitest'

/** A folder for the stores of one test file, gone when it is through. Each call names a new one in it. */
export function storeFolders(): () => string {
  const folder = mkdtempSync(join(tmpdir(), 'libero-faults-jsonl-'))
  let n = 0
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  return () => join(folder, String(++n))
}

/** Another process at a store. */
export interface Child {
  readonly process: ChildProcess
  /** What it said, when it has ended. */
  readonly said: Promise<unknown[]>
  /** Resolves when it has said that. */
  says(value: unknown): Promise<void>
}

const script = fileURLToPath(new URL('./store-jsonl-child.ts', import.meta.url))

/** Has another process do something; `limit` bounds its files, in blocks, and so Node must not write compiled code there. */
export function runChild(args: readonly string[], { limit }: { limit?: number } = {}): Child {
  const command = [process.execPath, '--conditions=libero-source', script, ...args]
  const [program = '', ...rest] = limit
    ? ['/bin/sh', '-c', `ulimit -f ${limit}; export NODE_DISABLE_COMPILE_CACHE=1; exec "$@"`, 'sh', ...command]
    : command
  const child = spawn(program, rest, { stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
  })
  let [out, err] = ['', '']
  const listeners = new Set<() => void>()
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
    for (const listener of listeners) listener()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text
  })
  const lines = (): string[] => out.split('\n').slice(0, -1)
  const said = new Promise<unknown[]>((resolve, reject) => {
    child.once('close', (code, signal) => {
      if (code === 0 || signal === 'SIGKILL') resolve(lines().map((line) => JSON.parse(line) as unknown))
      else reject(new Error(`the other process ended with ${code ?? signal}: ${out}${err}`))
    })
  })
  said.catch(() => {}) // it is awaited later
  return {
    process: child,
    said,
    says: (value) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (lines().includes(JSON.stringify(value))) resolve()
        }
        listeners.add(look)
        look()
        said.then(() => reject(new Error(`it ended without saying ${String(value)}: ${out}${err}`)), reject)
      }),
  }
}

/** Resolves when the process is stopped, as far as the system tells. */
export async function isStopped({ process: { pid } }: Child): Promise<void> {
  if (process.platform !== 'linux') return
  for (let tries = 0; tries < 1000; tries++) {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    if (stat.slice(stat.lastIndexOf(')') + 2).startsWith('T')) return
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  throw new Error(`process ${pid} does not stop`)
}
