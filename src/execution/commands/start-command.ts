import { type ChildProcess, spawn } from 'node:child_process'
import { stat } from 'node:fs/promises'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { codeOf, messageOf } from '../../core/errors.ts'
import { resourceShortage } from '../../platform/files.ts'

export interface StartOptions {
  readonly file: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** Whether it gets something to read; else it reads nothing at all. */
  readonly reads: boolean
  readonly signal?: AbortSignal | undefined
  /** What it finds open beside its three streams, from descriptor 3 on. */
  readonly further?: readonly (number | 'ipc')[] | undefined
}

/** A process that runs, in a group and session of its own. */
export interface StartedCommand extends ChildProcess {
  readonly pid: number
  readonly stdin: Writable & ChildProcess['stdin']
  readonly stdout: Readable
  readonly stderr: Readable
}

/** Starts a program; when this machine has no room for it at the moment, tries again for about a second. */
export async function startCommand(options: StartOptions): Promise<StartedCommand> {
  await checkFolder(options.cwd)
  for (const pause of [20, 50, 130, 300, 500, undefined]) {
    options.signal?.throwIfAborted()
    try {
      return await attempt(options)
    } catch (error) {
      if (pause === undefined || !passing.has(codeOf(error) ?? '')) return await failToStart(error, options)
      await sleep(pause)
    }
  }
  throw new Error('unreachable')
}

const passing = new Set(['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM'])

function attempt({ file, args, cwd, env, reads, further = [] }: StartOptions): StartedCommand | Promise<never> {
  const stdio = [reads ? 'pipe' : 'ignore', 'pipe', 'pipe', ...further] as const
  const child = spawn(file, args, { cwd, env, detached: true, stdio: [...stdio] })
  if (isStarted(child)) {
    child.on('error', () => {}) // of a signal that found nobody
    return child
  }
  return new Promise((_, reject) => {
    child.once('error', (error) => {
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy()
      reject(error)
    })
  })
}

function isStarted(child: ChildProcess): child is StartedCommand {
  return child.pid !== undefined
}

/** A failed start does not say that it was the folder. */
async function checkFolder(cwd: string): Promise<void> {
  let isFolder: boolean
  try {
    isFolder = (await stat(cwd)).isDirectory()
  } catch (error) {
    if (codeOf(error) !== 'ENOENT')
      throw problem(`The working folder ${cwd} cannot be used: ${messageOf(error)}`, error)
    throw problem(`The working folder ${cwd} does not exist (any more); create it, or use another one`, error)
  }
  if (!isFolder) throw problem(`The working folder ${cwd} is not a folder; use another one`, 'ENOTDIR')
}

async function failToStart(error: unknown, { file, cwd }: StartOptions): Promise<never> {
  const code = codeOf(error) ?? ''
  if (code === 'ENOENT') await checkFolder(cwd)
  throw problem(`Cannot start a command: ${explained(code, file) ?? messageOf(error)}`, error)
}

function explained(code: string, file: string): string | undefined {
  switch (code) {
    case 'E2BIG':
      return 'it is too long, together with its environment; write long text to a file and use that'
    case 'ENOENT':
      return `there is no ${file} on this machine`
    default:
      return resourceShortage(code)
  }
}

function problem(message: string, reason: unknown): Error {
  if (typeof reason === 'string') return Object.assign(new Error(message), { code: reason })
  return Object.assign(new Error(message, { cause: reason }), { code: codeOf(reason) })
}
