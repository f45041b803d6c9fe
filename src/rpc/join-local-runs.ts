import { connect, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import type { StreamedEvent } from '../events/event-queue.ts'
import type { JoinRun } from '../events/runs-elsewhere.ts'
import { isOwnSocket, socketPath } from './local-socket.ts'
import { type InputLine, readLines } from './read-lines.ts'

/**
 * Joins runs of other processes that offer their events in `folder`: the option `join` of `readEvents`. If a run cannot be
 * joined, nothing comes of it but its log entries.
 */
export function joinLocalRuns({ folder }: { readonly folder: string }): JoinRun {
  return ({ runId, processId }, emit) => {
    const left = new AbortController()
    let socket: Socket | undefined

    async function join(): Promise<void> {
      const path = socketPath(folder, processId)
      // Its process may be about to open the socket, or to begin the run. If it never does, it is gone or offers nothing.
      for (let delayMs = firstDelayMs; delayMs <= longestDelayMs; delayMs *= 2) {
        if (await isOwnSocket(path)) await readFrom(path).catch(() => {})
        await setTimeout(delayMs, undefined, { signal: left.signal, ref: false })
      }
    }

    async function readFrom(path: string): Promise<void> {
      if (left.signal.aborted) return
      socket = connect(path).on('error', () => {}) // the loop below ends with it
      socket.write(`${JSON.stringify({ run: runId })}\n`)
      for await (const line of readLines(socket, { maxBytes: longestEvent })) {
        const event = eventIn(line)
        if (event && !left.signal.aborted) emit(event)
      }
    }

    join().catch(() => {}) // left, or no path for a socket
    return {
      snapshot: () => void socket?.write('{"snapshot":true}\n'),
      leave() {
        left.abort()
        socket?.destroy()
      },
    }
  }
}

const firstDelayMs = 20
const longestDelayMs = 2000
/** A snapshot holds a whole reply. */
export const longestEvent = 256 * 1024 * 1024

/** What another process streams. Undefined for what is no event: the process may run another version. */
export function eventIn(line: InputLine): StreamedEvent | undefined {
  try {
    const event = JSON.parse('text' in line ? line.text : '')
    const isEvent = event?.durable === false && typeof event.type === 'string' && Number.isInteger(event.after)
    return isEvent ? event : undefined
  } catch {
    return undefined
  }
}
