import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { WorkerOptions } from './worker-options.ts'

/** How a process ended. */
export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stderr: string
  /** Killed by the watchdog. */
  readonly isHung: boolean
}

/** A running worker process. */
export interface Worker {
  readonly writer: string
  readonly pid: number
  readonly ended: Promise<Exit>
  readonly isOver: () => boolean
  /** Resolves with its output lines when there are `count` of them, or it has ended. */
  linesUntil(count: number): Promise<readonly string[]>
  kill(signal: NodeJS.Signals): void
}

/** No worker takes this long. */
const longestMs = 120_000
const running = new Set<ChildProcess>()
const workerFile = fileURLToPath(new URL('worker.ts', import.meta.url))
const mutateFile = new URL('mutate.ts', import.meta.url).href

// At the end of this process all children are ended, also stopped ones.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** Starts a worker process. `mutant` names a bug to add to it. */
export function startWorker(options: WorkerOptions, { cache, mutant }: { cache: string; mutant?: string }): Worker {
  const hooks = mutant === undefined ? [] : ['--import', mutateFile]
  const child = spawn(process.execPath, ['--no-warnings', ...hooks, workerFile, JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      NODE_COMPILE_CACHE: cache,
      NODE_OPTIONS: '',
      ...(mutant && { LIBERO_CRASH_MUTANT: mutant }),
    },
  })
  running.add(child)
  const lines: string[] = []
  const waiting = new Set<() => void>()
  const wake = (): void => {
    for (const check of [...waiting]) check()
  }
  let stderr = ''
  let isOver = false
  let isHung = false
  child.stdout?.on('data', (chunk: Buffer) => {
    lines.push(...chunk.toString().split('\n').filter(Boolean))
    wake()
  })
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString()
  })
  const ended = new Promise<Exit>((resolve, reject) => {
    child.on('error', reject)
    const watchdog = setTimeout(() => {
      isHung = true
      stderr += `it did not end within ${longestMs / 1000} s`
      child.kill('SIGKILL')
    }, longestMs)
    child.on('close', (code, signal) => {
      clearTimeout(watchdog)
      running.delete(child)
      isOver = true
      wake()
      resolve({ code, signal, stderr, isHung })
    })
  })
  return {
    writer: options.writer,
    pid: child.pid ?? 0,
    ended,
    isOver: () => isOver,
    linesUntil: (count) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (!isOver && lines.length < count) return
          waiting.delete(check)
          resolve(lines)
        }
        waiting.add(check)
        check()
      }),
    kill: (signal) => void child.kill(signal),
  }
}
