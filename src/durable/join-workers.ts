import { setTimeout } from 'node:timers/promises'
import type { JoinRun } from '../events/runs-elsewhere.ts'
import { eventIn, longestEvent } from '../rpc/join-local-runs.ts'
import { readLines } from '../rpc/read-lines.ts'
import type { Fleet } from './fleet.ts'
import { workerDirectory } from './worker-directory.ts'

/**
 * Joins runs of the workers of a fleet, straight at the worker that runs them: the option `join` of `createServer` and
 * `readEvents`. If a worker cannot be reached, nothing comes of its runs but their log entries.
 */
export function joinWorkers({ store }: Pick<Fleet, 'store'>): JoinRun {
  const addressOf = addressBook(store)
  return ({ runId, processId }, emit) => {
    const left = new AbortController()
    let reading = new AbortController()

    async function join(): Promise<void> {
      // The worker may be about to begin the run, or cannot be reached for a while.
      for (let delayMs = firstDelayMs; !left.signal.aborted; delayMs = Math.min(2 * delayMs, longestDelayMs)) {
        const address = await addressOf(processId)
        if (address !== undefined && (await readFrom(address).catch(() => false))) delayMs = firstDelayMs
        await setTimeout(delayMs, undefined, { signal: left.signal, ref: false })
      }
    }

    /** Resolves with whether the run was there, when the stream ends or breaks. */
    async function readFrom(address: string): Promise<boolean> {
      const { origin, password } = new URL(address)
      reading = new AbortController()
      const response = await fetch(`${origin}/runs/${encodeURIComponent(runId)}`, {
        headers: { authorization: `Bearer ${decodeURIComponent(password)}` },
        signal: AbortSignal.any([left.signal, reading.signal]),
        redirect: 'error',
      })
      if (!response.ok || !response.body) {
        await response.body?.cancel()
        return false
      }
      try {
        for await (const line of readLines(response.body, { maxBytes: longestEvent })) {
          const event = eventIn(line)
          if (event && !left.signal.aborted) emit(event)
        }
      } catch {} // the connection broke, or a new snapshot is wanted: the next stream begins with one
      return true
    }

    join().catch(() => {}) // left, or the worker is gone: its entries come from the store
    return {
      snapshot: () => reading.abort(),
      leave: () => left.abort(),
    }
  }
}

const firstDelayMs = 20
const longestDelayMs = 2000

/** Looks workers up by the process that a log names, at most once a second. */
function addressBook(store: Fleet['store']): (processId: string) => Promise<string | undefined> {
  const directory = workerDirectory(store)
  let found: Promise<ReadonlyMap<string, string>> | undefined
  let foundAt = 0
  return async (processId) => {
    if (!found || performance.now() - foundAt > 1000) {
      foundAt = performance.now()
      found = directory
        .list()
        .then((workers) => new Map(workers.flatMap((one) => (one.address ? [[one.processId, one.address]] : []))))
    }
    return (await found.catch(() => undefined))?.get(processId)
  }
}
