import type { Writable } from 'node:stream'
import { messageOf } from '../../core/errors.ts'
import { visibleText } from '../../platform/visible-text.ts'
import type { RpcHost } from '../../rpc/host.ts'
import { type ServeEnd, serveZot } from '../../rpc/zot-server.ts'
import { exitCodes, stopCodes } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { checkWritten } from './check-written.ts'

interface ServeParts {
  readonly host: RpcHost
  readonly frames: Writable
  readonly io: Io
}

/** Serves until stdin ends, nobody reads any more, or a signal comes; all that was said is written by then. */
export async function serve({ host, frames, io }: ServeParts): Promise<number> {
  const stopping = new AbortController()
  let stopped: number | undefined
  let grace: NodeJS.Timeout | undefined
  const stop = (exitCode: number): void => {
    stopped ??= exitCode
    grace ??= setTimeout(() => io.quit(exitCode), graceMs).unref()
    stopping.abort()
  }
  const report = (problem: string): void => io.err(`libero: ${visibleText(problem)}`)
  const offs = [
    io.onSignal((signal) => stop(stopCodes[signal])),
    io.onCrash((error) => {
      report(`something failed that nobody was waiting for: ${messageOf(error)}`)
      stop(exitCodes.error)
    }),
  ]
  try {
    const end = await serveZot({
      host,
      input: io.stdin,
      output: frames,
      token: io.env.ZOTCORE_RPC_TOKEN,
      signal: stopping.signal,
      report,
    })
    checkWritten(frames)
    if (end.error !== undefined && end.reason !== 'output_closed') report(end.error)
    return stopped ?? codeOf(end)
  } finally {
    clearTimeout(grace)
    for (const off of offs) off()
  }
}

/** How long a reader may take for what is left, and a tool to end, after a signal. */
const graceMs = 5000

function codeOf({ reason }: ServeEnd): number {
  if (reason === 'output_closed') return exitCodes.closed
  return reason === 'input_ended' || reason === 'stopped' ? exitCodes.done : exitCodes.error
}
