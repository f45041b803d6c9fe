import type { Worker } from 'node:worker_threads'

/**
 * Where the code of a thread is. From source: its file, written as `() => new URL('./…-thread.ts', import.meta.url)`.
 * `scripts/build.ts` turns that expression into an import of the thread's whole code as one text, because the URL of a
 * module names the application's own program once the application is bundled.
 */
export type ThreadCode = () => URL | Promise<string>

export interface ThreadOptions {
  readonly workerData?: unknown
  /** Of the heap. */
  readonly maxMemoryMb: number
}

/** Starts a thread that runs the given code and nothing of the program around it: no preloaded modules, no environment. */
export async function startThread(code: ThreadCode, { workerData, maxMemoryMb }: ThreadOptions): Promise<Worker> {
  const [{ Worker }, script] = await Promise.all([import('node:worker_threads'), code()])
  return new Worker(script, {
    eval: typeof script === 'string',
    workerData,
    resourceLimits: { maxOldGenerationSizeMb: maxMemoryMb },
    env: typeof script === 'string' ? {} : compileCache(),
    // Else `--import`, `--require` and `--input-type`, given for the program, would count for the thread too.
    execArgv: [],
    stdin: false,
  })
}

/** From source, each thread would have to compile its files anew. */
function compileCache(): Record<string, string> {
  const { NODE_COMPILE_CACHE } = process.env
  return NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }
}
