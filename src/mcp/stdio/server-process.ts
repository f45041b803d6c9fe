import { type ChildProcess, type ChildProcessByStdio, execFile, spawn } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { AgentError, codeOf, messageOf } from '../../core/errors.ts'
import { atMost } from '../../platform/at-most.ts'
import { baseEnv } from '../../platform/base-env.ts'
import { resourceShortage } from '../../platform/files.ts'
import { endLeftovers, killLeftovers } from '../../platform/leftover-processes.ts'
import { isSingleExecutable } from '../../platform/own-executable.ts'
import { keeperMark, onProcessExit, registerWithKeeper } from '../../platform/process-keeper.ts'
import { withProgramPath } from '../../platform/program-path.ts'
import { visibleName } from '../../platform/visible-text.ts'
import type { McpServerConfig } from '../config.ts'
import { findProgram, type Launch, windowsEndings, windowsLaunch } from './find-program.ts'

/** The process of a server, with all its descendants. */
export interface ServerProcess {
  readonly child: StartedServer
  /** How the process itself ended, as a text. */
  readonly exited: Promise<string>
  /** Closes its input, waits `waitMs`, then ends it with its descendants. Resolves when all have ended; never rejects. */
  end(waitMs: number): Promise<void>
}

interface ServerProcessOptions {
  /** Absolute. */
  readonly cwd: string
  /** Between SIGTERM and SIGKILL. */
  readonly graceMs: number
}

/** SIGKILL does not end a process that hangs in the kernel. */
const unkillableMs = 2000

/** Starts a server that leaves no processes behind, however this process ends. */
export async function startServerProcess(
  config: McpServerConfig,
  { cwd, graceMs }: ServerProcessOptions,
): Promise<ServerProcess> {
  const mark: string = crypto.randomUUID()
  const watch = registerWithKeeper()
  const child = await startServer(config, { cwd, mark }).catch((error: unknown) => {
    watch.end()
    throw error
  })
  watch.add(child.pid)
  const leftovers = { mark, group: child.pid }
  const removeExitHandler = onProcessExit(() => {
    killLeftovers(leftovers)
    if (process.platform === 'win32') child.kill()
    watch.end()
  })
  const { promise: exited, resolve: reportExit } = Promise.withResolvers<string>()
  child.once('exit', (code, signal) => reportExit(signal ? `it was ended by ${signal}` : `it exited with code ${code}`))
  let ending: Promise<void> | undefined

  async function endAll(waitMs: number): Promise<void> {
    child.stdin.end()
    await atMost(waitMs, exited)
    if (process.platform === 'win32') await endTree(child.pid)
    await endLeftovers(leftovers, { graceMs }).catch(() => [])
    await atMost(unkillableMs, exited)
    reportExit('it could not be ended')
    child.stdin.destroy() // unread input would keep this process alive
    watch.end()
    removeExitHandler()
  }

  return { child, exited, end: (waitMs) => (ending ??= endAll(waitMs)) }
}

/** Windows has no process groups; its own tool ends the children of a process. */
function endTree(pid: number): Promise<void> {
  const tool = join(process.env.SystemRoot ?? 'C:\\Windows', 'System32', 'taskkill.exe')
  return new Promise((resolve) => execFile(tool, ['/pid', String(pid), '/T', '/F'], () => resolve()))
}

/** A running process with its own group and session. */
type StartedServer = ChildProcessByStdio<Writable, Readable, Readable> & { readonly pid: number }

interface StartServerOptions {
  /** Absolute; the base of `config.cwd` and of a relative command. */
  readonly cwd: string
  /** A random text in its environment, by which its descendants are found. */
  readonly mark: string
}

/** Starts the program of a server without a shell. */
async function startServer(config: McpServerConfig, options: StartServerOptions): Promise<StartedServer> {
  try {
    const cwd = resolve(options.cwd, config.cwd ?? '')
    await checkFolder(cwd)
    const env = environmentOf(config, options)
    const launch = await launchOf(config, cwd, env.PATH)
    return await spawned(launch, cwd, env)
  } catch (cause) {
    throw new AgentError(`The MCP server "${config.name}" could not be started: ${messageOf(cause)}`, { cause })
  }
}

async function checkFolder(cwd: string): Promise<void> {
  const shown = visibleName(cwd)
  const found = await stat(cwd).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT')
      throw new Error(`its folder ${shown} does not exist; create it, or give another cwd`)
    throw new Error(`its folder ${shown} cannot be used (${codeOf(error)}); give another cwd`)
  })
  if (!found.isDirectory()) throw new Error(`its folder ${shown} is not a folder; give another cwd`)
}

/** A minimal base, the configured variables, and marks, also those of an outer Libero process. */
function environmentOf({ env }: McpServerConfig, { cwd, mark }: StartServerOptions): Record<string, string> {
  const { LIBERO_MCP, LIBERO_HANDLE, LIBERO_COMMAND, LIBERO_KEEPER, LIBERO_CALL } = process.env
  const outer = LIBERO_MCP && LIBERO_MCP.length < 1000 ? `${LIBERO_MCP} ` : ''
  return {
    ...baseEnv(withProgramPath(process.env, [cwd])),
    ...env,
    ...(LIBERO_HANDLE !== undefined && { LIBERO_HANDLE }),
    ...(LIBERO_COMMAND !== undefined && { LIBERO_COMMAND }),
    ...(LIBERO_KEEPER !== undefined && { LIBERO_KEEPER }),
    ...(LIBERO_CALL !== undefined && { LIBERO_CALL }),
    LIBERO_MCP: `${outer}${keeperMark} ${mark}`,
  }
}

async function launchOf({ command = '', args = [] }: McpServerConfig, cwd: string, path?: string): Promise<Launch> {
  if (process.platform !== 'win32') return { file: await findProgram(command, { cwd, path }), args }
  const find = (name: string): Promise<string> => findProgram(name, { cwd, path, endings: windowsEndings })
  // An executable with an application inside would run that again.
  const isOwnNode = !process.versions.electron && !isSingleExecutable()
  return windowsLaunch(await find(command), args, isOwnNode ? process.execPath : await find('node').catch(() => 'node'))
}

async function spawned({ file, args }: Launch, cwd: string, env: Record<string, string>): Promise<StartedServer> {
  const detached = process.platform !== 'win32' // on Windows it would open a window
  try {
    const child = spawn(file, args, { cwd, env, detached, shell: false, windowsHide: true, stdio: 'pipe' })
    if (!isStarted(child)) return await failed(child)
    child.on('error', () => {}) // of a signal after its exit
    // The exit event reports the end.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on('error', () => {})
    return child
  } catch (error) {
    throw new Error(explained(codeOf(error) ?? '', file) ?? messageOf(error), { cause: error })
  }
}

function failed(child: ChildProcess): Promise<never> {
  return new Promise((_, reject) => {
    child.once('error', (error) => {
      for (const stream of child.stdio) stream?.destroy()
      reject(error)
    })
  })
}

function isStarted(child: ChildProcessByStdio<Writable, Readable, Readable>): child is StartedServer {
  return child.pid !== undefined
}

function explained(code: string, file: string): string | undefined {
  const shown = visibleName(file)
  switch (code) {
    case 'ENOENT':
      return `${shown} names a program in its first line (#!) that is not there; install it, or give the program and the script as command and args`
    case 'EACCES':
    case 'EPERM':
      return `this system does not allow to run ${shown}; check its rights, and those of the program in its first line (#!)`
    case 'ENOEXEC':
      return `${shown} is no program for this system; a script needs a first line such as #!/usr/bin/env node`
    case 'E2BIG':
      return 'its args and env are too long for this system; write long text to a file and give its path'
    default:
      return resourceShortage(code)
  }
}
