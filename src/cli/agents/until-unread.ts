import { outputFailure } from '../failures/output-failure.ts'
import type { Io } from '../io.ts'
import { untilStopped } from '../mcp-serve/until-stopped.ts'

/** Does something until a signal comes or nobody reads any more what is printed, and says which exit code that is. */
export async function untilUnread(io: Io, work: (signal: AbortSignal) => Promise<void>): Promise<number> {
  const unread = new AbortController()
  let exitCode: number | undefined
  const onError = (error: unknown): void => {
    exitCode ??= outputFailure(error).exitCode
    unread.abort()
  }
  io.stdout.on('error', onError)
  try {
    const stopped = await untilStopped(io, (signal) => work(AbortSignal.any([signal, unread.signal])))
    return exitCode ?? stopped
  } finally {
    io.stdout.off('error', onError)
  }
}
