import { sleep } from '../core/waiting.ts'
import { type Connection, isLost, isTurnedAway, pauseAfter } from './connection.ts'
import { noConnection, RemoteProblem } from './remote-problem.ts'
import type { ServerSentEvent } from './sse-parser.ts'

export interface FollowOptions {
  /** Ends it. */
  readonly signal?: AbortSignal
  /** Called when a connection is open, and with the problem when it is lost; a new one is then tried. */
  readonly onConnection?: (problem: RemoteProblem | undefined) => void
}

export interface Following<T> extends FollowOptions {
  readonly path: string
  /** Of the next connection. */
  readonly query: () => object
  /** Called for each connection that is open, before its events. */
  readonly begin?: () => T | undefined
  /** What an event means; undefined for nothing. A RemoteProblem that it throws ends the connection. */
  readonly read: (event: ServerSentEvent) => T | undefined
}

/** What a stream of the server tells, over as many connections as it takes, until the signal aborts or the server refuses. */
export function follow<T>(connection: Connection, following: Following<T>): AsyncGenerator<T, void, undefined> {
  const stop = new AbortController()
  const told = followUntil(connection, following, stop)
  const { return: leave } = told
  // By itself a generator would end only after the event that a pending `next()` waits for.
  told.return = (value) => {
    stop.abort()
    return leave.call(told, value)
  }
  return told
}

async function* followUntil<T>(
  connection: Connection,
  { path, query, begin, read, signal, onConnection }: Following<T>,
  stop: AbortController,
): AsyncGenerator<T, void, undefined> {
  const end = (): void => stop.abort()
  signal?.addEventListener('abort', end)
  if (signal?.aborted) end()
  let failures = 0
  try {
    while (!stop.signal.aborted) {
      let problem = noConnection('The server ended the stream')
      try {
        for await (const event of connection.stream(path, query(), stop.signal)) {
          const isOpening = event.event === 'open'
          if (isOpening) onConnection?.(undefined)
          const told = isOpening ? begin?.() : read(event)
          if (!isOpening) failures = 0
          if (told !== undefined) yield told
        }
      } catch (error) {
        if (stop.signal.aborted) return
        if (!(error instanceof RemoteProblem) || !comesBack(error)) throw error
        problem = error
      }
      onConnection?.(problem)
      await sleep(pauseAfter(problem, failures++), { clock: connection.clock, signals: [stop.signal] })
    }
  } finally {
    signal?.removeEventListener('abort', end)
    end()
  }
}

const comesBack = (problem: RemoteProblem): boolean =>
  isLost(problem) || isTurnedAway(problem) || problem.status === 500
