import type { Writable } from 'node:stream'
import { codeOf } from '../../core/errors.ts'
import { CliError, exitCodes } from '../cli-error.ts'

/** What it means that stdout cannot be written. A reader that went away needs no words; a full disk does. */
export function outputFailure(error: unknown): { readonly exitCode: number; readonly error?: CliError } {
  const code = codeOf(error)
  if (code === undefined || gone.test(code)) return { exitCode: exitCodes.closed }
  const next =
    code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG'
      ? 'free some space where it goes to'
      : 'check where it goes to'
  return {
    exitCode: exitCodes.error,
    error: new CliError(`the output could not be written (${code}): ${next}, then try again`),
  }
}

const gone = /^(?:EPIPE|ECONNRESET|EBADF|EIO|ERR_STREAM_\w+)$/

/** Throws where frames could not be written for a reason that somebody can mend, as a full disk; a reader may just go. */
export function checkWritten({ errored }: Writable): void {
  const { error } = outputFailure(errored)
  if (error) throw error
}
