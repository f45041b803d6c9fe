import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { WorldOptions } from './world-options.ts'

/** How a process ended. */
export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stderr: string
  /** Ended by us, because it did not end. */
  readonly isHung: boolean
}

/** A world under way. */
export interface World {
  readonly writer: string
  readonly pid: number
  readonly ended: Promise<Exit>
  readonly isOver: () => boolean
  /** Resolves when it has said so many things (or is over); what they were, in order. */
  heard(count: number): Promise<readonly string[]>
  kill(signal: NodeJS.Signals): void
}

/** No world has so much to do. */
const longestMs = 120_000
const running = new Set<ChildProcess>()
const worldFile = fileURLToPath(new URL('world.ts', import.meta.url))
const mutateFile = new URL('mutate.ts', import.meta.url).href

// At the end of this process all children are ended, also stopped ones.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** Starts a world, as a process of its own. `mutant` names a seeded bug it is to have. */
export function startWorld(options: WorldOptions, { cache, mutant }: { cache: string; mutant?: string }): World {
  const hooks = mutant === undefined ? [] : ['--import', mutateFile]
  const child = spawn(process.execPath, ['--no-warnings', ...hooks, worldFile, JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      NODE_COMPILE_CACHE: cache,
      NODE_OPTIONS: '',
      ...(mutant && { LIBERO_CRASH_MUTANT: mutant }),
    },
  })
  running.add(child)
  const said: string[] = []
  const waiting = new Set<() => void>()
  const wake = (): void => {
    for (const check of [...waiting]) check()
  }
  let stderr = ''
  let isOver = false
  let isHung = false
  child.stdout?.on('data', (chunk: Buffer) => {
    said.push(...chunk.toString().split('\n').filter(Boolean))
    wake()
  })
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString()
  })
  const ended = new Promise<Exit>((resolve, reject) => {
    child.on('error', reject)
    const watchdog = setTimeout(() => {
      isHung = true
      stderr += `it came to no end within ${longestMs / 1000} s`
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
    heard: (count) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (!isOver && said.length < count) return
          waiting.delete(check)
          resolve(said)
        }
        waiting.add(check)
        check()
      }),
    kill: (signal) => void child.kill(signal),
  }
}
