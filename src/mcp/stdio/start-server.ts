import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { AgentError, codeOf, messageOf } from '../../core/errors.ts'
import { baseEnv } from '../../platform/base-env.ts'
import { keeperMark } from '../../platform/keep-watch.ts'
import { shortageOf } from '../../platform/shortage-of.ts'
import { visibleName } from '../../platform/visible-text.ts'
import type { McpServerConfig } from '../config.ts'
import { findProgram } from './find-program.ts'
import { type Launch, windowsEndings, windowsLaunch } from './windows-launch.ts'

/** A process that runs, in a group and session of its own. */
export type StartedServer = ChildProcessByStdio<Writable, Readable, Readable> & { readonly pid: number }

export interface StartServerOptions {
  /** Absolute; where `config.cwd` and a relative command begin. */
  readonly cwd: string
  /** A random text for its environment, by which we find what it started. */
  readonly mark: string
}

/** Starts the program of a server, without a shell. Throws a sentence with what to do. */
export async function startServer(config: McpServerConfig, options: StartServerOptions): Promise<StartedServer> {
  try {
    const cwd = resolve(options.cwd, config.cwd ?? '')
    await checkFolder(cwd)
    const env = environmentOf(config, options.mark)
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

/** A minimal base, what the entry says, and marks: also those of a Libero that we are a part of. */
function environmentOf({ env }: McpServerConfig, mark: string): Record<string, string> {
  const { LIBERO_MCP, LIBERO_HANDLE, LIBERO_COMMAND, LIBERO_KEEPER, LIBERO_CALL } = process.env
  const outer = LIBERO_MCP && LIBERO_MCP.length < 1000 ? `${LIBERO_MCP} ` : ''
  return {
    ...baseEnv(process.env),
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
  return windowsLaunch(await findProgram(command, { cwd, path, endings: windowsEndings }), args, process.execPath)
}

async function spawned({ file, args }: Launch, cwd: string, env: Record<string, string>): Promise<StartedServer> {
  const detached = process.platform !== 'win32' // there it would open a window
  try {
    const child = spawn(file, args, { cwd, env, detached, shell: false, windowsHide: true, stdio: 'pipe' })
    if (!isStarted(child)) return await failed(child)
    child.on('error', () => {}) // of a signal that found nobody
    // It is gone, and its end says so.
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
      return shortageOf(code)
  }
}
