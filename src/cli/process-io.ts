import { fstatSync } from 'node:fs'
import { homedir, userInfo } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { isatty } from 'node:tty'
import { CliError, exitCodes } from './cli-error.ts'
import type { Io, Output, StopSignal } from './io.ts'

interface ProcessIo extends Io {
  /** The first error of stdout, which the stream itself does not keep. */
  readonly outputError: unknown
}

/** The `Io` of this process. */
export function processIo(): ProcessIo {
  const { stdout, stderr, env } = process
  // A reader that closed stderr must not crash the process.
  stderr.on('error', () => {})
  let outputError: unknown
  stdout.on('error', (error) => {
    outputError ??= error
  })
  return {
    get outputError() {
      return outputError
    },
    // Opening stdin takes a while, so only a command that reads it does so.
    get stdin() {
      return process.stdin
    },
    get isStdinEmpty() {
      return isNullDevice(0)
    },
    stdout,
    stderr,
    env,
    get cwd() {
      return currentFolder()
    },
    get home() {
      const named = env.LIBERO_HOME || join(homeFolder(), '.libero')
      return isAbsolute(named) ? named : join(currentFolder(), named)
    },
    get userHome() {
      return homeFolder()
    },
    fetch: globalThis.fetch,
    onSignal,
    onCrash,
    quit: (exitCode) => process.exit(exitCode),
    out: (line) => void stdout.write(`${line}\n`),
    err: (line) => void stderr.write(`${line}\n`),
  }
}

/** Whether a descriptor is a device but not a terminal, as `/dev/null` is. */
function isNullDevice(fd: number): boolean {
  try {
    return fstatSync(fd).isCharacterDevice() && !isatty(fd)
  } catch {
    return false
  }
}

/** Called only when needed: the help works in any folder. */
function currentFolder(): string {
  try {
    return process.cwd()
  } catch (cause) {
    throw new CliError('this folder was deleted or cannot be read: change to another one with cd', exitCodes.error, {
      cause,
    })
  }
}

/** An empty HOME is ignored: files of the current folder would be taken for the user's own. */
function homeFolder(): string {
  try {
    const named = homedir()
    return isAbsolute(named) ? named : userInfo().homedir
  } catch (cause) {
    throw new CliError('this user has no home folder: set HOME to one of your folders', exitCodes.error, { cause })
  }
}

const stopSignals: readonly StopSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP']

function onSignal(listener: (signal: StopSignal) => void): () => void {
  for (const signal of stopSignals) process.on(signal, listener)
  return () => {
    for (const signal of stopSignals) process.off(signal, listener)
  }
}

function onCrash(listener: (error: unknown) => void): () => void {
  process.on('uncaughtException', listener)
  process.on('unhandledRejection', listener)
  return () => {
    process.off('uncaughtException', listener)
    process.off('unhandledRejection', listener)
  }
}

/** Ends the process when all output was read, or its reader is gone. */
export async function endWith(exitCode: number, io: Pick<ProcessIo, 'outputError'>): Promise<never> {
  await Promise.all([drained(process.stdout), drained(process.stderr)])
  await new Promise(setImmediate) // an error of the last write is emitted a tick later
  process.exit(
    io.outputError !== undefined && exitCode === exitCodes.done ? await reportOutputError(io.outputError) : exitCode,
  )
}

/** The command succeeded, but its output was lost. */
async function reportOutputError(outputError: unknown): Promise<number> {
  const { exitCode, error } = (await import('./failures/output-failure.ts')).outputFailure(outputError)
  if (error) process.stderr.write(`libero: ${error.message}\n`)
  await drained(process.stderr)
  return exitCode
}

function drained(stream: Output): Promise<void> {
  if (stream.writableLength === 0 || stream.destroyed) return Promise.resolve()
  return new Promise((resolve) => {
    stream.once('error', () => resolve())
    stream.once('close', resolve)
    stream.write('', () => resolve())
  })
}
