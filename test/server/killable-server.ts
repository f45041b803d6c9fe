import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { compileCache } from '../compile-cache.ts'
import { token } from './server-kit.ts'

const program = fileURLToPath(new URL('server-process.ts', import.meta.url))

export interface KillableServer {
  readonly url: string
  /** Starts it, at the same address as before. Resolves when it answers. */
  start(): Promise<void>
  kill(): Promise<void>
}

/** A server process over an SQLite file, which can be killed and started again at the same address. */
export function killableServer(path: string): KillableServer {
  let child: ChildProcess | undefined
  let port = 0
  const kill = async (): Promise<void> => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const gone = new Promise((resolve) => child!.once('exit', resolve))
    child.kill('SIGKILL')
    await gone
  }
  onTestFinished(kill)
  return {
    get url() {
      return `http://127.0.0.1:${port}`
    },
    kill,
    async start() {
      const args = ['--expose-gc', '--conditions=libero-source', program, path, String(port)]
      const env = { ...process.env, ...compileCache, LIBERO_SERVER_TOKEN: token }
      child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
      for await (const text of child.stdout!) {
        const [, found] = /listening (\d+)/.exec(String(text)) ?? []
        if (found === undefined) continue
        port = Number(found)
        return
      }
      throw new Error('the server ended')
    },
  }
}
