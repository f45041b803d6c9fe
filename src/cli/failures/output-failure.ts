import type { Writable } from 'node:stream'
import { codeOf } from '../../core/errors.ts'
import { CliError, exitCodes } from '../cli-error.ts'

/** The exit code for an error of stdout, and a message unless its reader just closed it. */
export function outputFailure(error: unknown): { readonly exitCode: number; readonly error?: CliError } {
  const code = codeOf(error)
  if (code === undefined || gone.test(code)) return { exitCode: exitCodes.closed }
  const next =
    code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG' ? 'free some space on its disk' : 'check its destination'
  return {
    exitCode: exitCodes.error,
    error: new CliError(`the output could not be written (${code}): ${next}, then try again`),
  }
}

const gone = /^(?:EPIPE|ECONNRESET|EBADF|EIO|ERR_STREAM_\w+)$/

/** Throws if frames could not be written for a reason other than a reader that closed the stream. */
export function checkWritten({ errored }: Writable): void {
  const { error } = outputFailure(errored)
  if (error) throw error
}
