import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { atExit } from '../../platform/at-exit.ts'
import { atMost } from '../../platform/at-most.ts'
import { keepWatch } from '../../platform/keep-watch.ts'
import { endLeftovers, killLeftovers } from '../../platform/leftover-processes.ts'
import type { McpServerConfig } from '../config.ts'
import { type StartedServer, startServer } from './start-server.ts'

/** The process of a server, with all that it started. */
export interface ServerProcess {
  readonly child: StartedServer
  /** How the process itself ended, in words. */
  readonly exited: Promise<string>
  /** Closes its input, waits as long as `patienceMs`, then ends it with all it started. Resolves when all is gone; never rejects. */
  end(patienceMs: number): Promise<void>
}

export interface ServerProcessOptions {
  /** Absolute. */
  readonly cwd: string
  /** Between SIGTERM and SIGKILL. */
  readonly graceMs: number
}

/** Not even SIGKILL ends a process that the kernel holds on to. */
const unkillableMs = 2000

/** Starts a server so that nothing of it is left, however this process ends. */
export async function startServerProcess(
  config: McpServerConfig,
  { cwd, graceMs }: ServerProcessOptions,
): Promise<ServerProcess> {
  const mark: string = crypto.randomUUID()
  const watch = keepWatch()
  const child = await startServer(config, { cwd, mark }).catch((error: unknown) => {
    watch.end()
    throw error
  })
  watch.add(child.pid)
  const brand = { mark, group: child.pid }
  const callOff = atExit(() => {
    killLeftovers(brand)
    if (process.platform === 'win32') child.kill()
    watch.end()
  })
  const { promise: exited, resolve: say } = Promise.withResolvers<string>()
  child.once('exit', (code, signal) => say(signal ? `it was ended by ${signal}` : `it exited with code ${code}`))
  let ending: Promise<void> | undefined

  async function endAll(patienceMs: number): Promise<void> {
    child.stdin.end()
    await atMost(patienceMs, exited)
    if (process.platform === 'win32') await endTree(child.pid)
    await endLeftovers(brand, { graceMs }).catch(() => [])
    await atMost(unkillableMs, exited)
    say('it could not be ended')
    child.stdin.destroy() // what it did not read must not be waited for
    watch.end()
    callOff()
  }

  return { child, exited, end: (patienceMs) => (ending ??= endAll(patienceMs)) }
}

/** Windows knows no groups, but its own tool follows parents to their children. */
function endTree(pid: number): Promise<void> {
  const tool = join(process.env.SystemRoot ?? 'C:\\Windows', 'System32', 'taskkill.exe')
  return new Promise((resolve) => execFile(tool, ['/pid', String(pid), '/T', '/F'], () => resolve()))
}
