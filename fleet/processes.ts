import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { WorkerOptions } from './worker-options.ts'

/** A worker in a process of its own. */
export interface WorkerProcess {
  readonly name: string
  /** The name of the process in logs, once it has begun a run. */
  readonly processId: string | undefined
  readonly pid: number
  /** The sessions of dead workers that it was about to continue. */
  readonly taken: readonly { readonly session: string; readonly at: number }[]
  readonly isOver: boolean
  /** What it wrote to stderr. */
  readonly stderr: string
  /** Resolves when it works, or has ended. */
  readonly ready: Promise<void>
  readonly ended: Promise<void>
  kill(signal: NodeJS.Signals): void
}

const running = new Set<ChildProcess>()
const fileOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
const mutateFile = new URL('mutate.ts', import.meta.url).href

// At the end of this process all children are ended, also stopped ones.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** Starts a worker. `mutant` names a bug to add to it. */
export function startWorker(
  options: WorkerOptions,
  { cache, mutant }: { cache: string; mutant?: string },
): WorkerProcess {
  const hooks = mutant === undefined ? [] : ['--import', mutateFile]
  const file = fileOf(options.sources === undefined ? 'worker.ts' : 'plain-worker.ts')
  const args = ['--no-warnings', '--conditions=libero-source', ...hooks, file, JSON.stringify(options)]
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      NODE_COMPILE_CACHE: cache,
      NODE_OPTIONS: '',
      ...(mutant && { LIBERO_FLEET_MUTANT: mutant }),
    },
  })
  running.add(child)
  const { promise: ready, resolve: setReady } = Promise.withResolvers<void>()
  const state = { processId: undefined as string | undefined, isOver: false, stderr: '', stdout: '' }
  child.stdout?.on('data', (chunk: Buffer) => {
    state.stdout += chunk.toString()
    if (state.stdout.includes('ready\n')) setReady()
    state.processId ??= /^process (\S+)$/m.exec(state.stdout)?.[1]
  })
  child.stderr?.on('data', (chunk: Buffer) => {
    state.stderr = (state.stderr + chunk.toString()).slice(-20_000)
  })
  const ended = new Promise<void>((resolve) => {
    child.on('close', () => {
      running.delete(child)
      state.isOver = true
      setReady()
      resolve()
    })
  })
  return {
    name: options.name,
    pid: child.pid ?? 0,
    get processId() {
      return state.processId
    },
    get isOver() {
      return state.isOver
    },
    get taken() {
      return [...state.stdout.matchAll(/^takes (\d+) (\S+)$/gm)].map(([, at, session]) => ({
        ...{ at: Number(at), session: session! },
      }))
    },
    get stderr() {
      return state.stderr
    },
    ready,
    ended,
    kill: (signal) => void child.kill(signal),
  }
}
