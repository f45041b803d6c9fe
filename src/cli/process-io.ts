import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Io, Output, StopSignal } from './io.ts'

/** The process itself, as commands see it. */
export function processIo(): Io {
  const { stdin, stdout, stderr, env } = process
  // A reader that went away is no reason to die of an error nobody can see; who writes an answer listens for it.
  for (const stream of [stdout, stderr]) stream.on('error', () => {})
  const userHome = homedir()
  return {
    stdin,
    stdout,
    stderr,
    env,
    cwd: process.cwd(),
    home: env.LIBERO_HOME || join(userHome, '.libero'),
    userHome,
    fetch: globalThis.fetch,
    onSignal,
    onCrash,
    quit: (exitCode) => process.exit(exitCode),
    out: (line) => void stdout.write(`${line}\n`),
    err: (line) => void stderr.write(`${line}\n`),
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

/** Ends the process once everything that was written has been read, or cannot be any more. */
export async function endWith(exitCode: number): Promise<never> {
  await Promise.all([drained(process.stdout), drained(process.stderr)])
  process.exit(exitCode)
}

function drained(stream: Output): Promise<void> {
  if (stream.writableLength === 0 || stream.destroyed) return Promise.resolve()
  return new Promise((resolve) => {
    stream.once('error', () => resolve())
    stream.once('close', resolve)
    stream.write('', () => resolve())
  })
}
