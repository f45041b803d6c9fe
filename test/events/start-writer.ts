import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { WriterTask } from './writer-child.ts'

export interface Writer {
  readonly child: ChildProcess
  /** Resolves with the signal that killed it. `onStep` is called when it waits for its reader. */
  ended(onStep: (step: string) => unknown): Promise<NodeJS.Signals | null>
}

/** A process that writes a session. */
export function startWriter(task: WriterTask): Writer {
  const file = fileURLToPath(new URL('writer-child.ts', import.meta.url))
  const child = fork(file, [JSON.stringify(task)], {
    execArgv: ['--conditions=libero-source'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return {
    child,
    ended(onStep) {
      child.on('message', (step) => onStep(String(step)))
      return new Promise((resolve) => child.once('exit', (_, signal) => resolve(signal)))
    },
  }
}
