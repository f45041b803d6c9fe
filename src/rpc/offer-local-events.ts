import { chmod, readdir, unlink } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import type { StreamedEvent } from '../events/event-queue.ts'
import { joinRun, type LiveFeed } from '../events/live-feed.ts'
import { liveRun, onRun } from '../events/live-runs.ts'
import { makeOwnFolder, socketPath } from './local-socket.ts'
import { type InputLine, readLines } from './read-lines.ts'

/** The sockets of this process by their folder, each with the number of callers that offer it. */
const offers = new Map<string, { callers: number; readonly close: () => Promise<void> }>()

/**
 * Offers what the runs of this process stream to other processes of this user, on a socket in `folder` that only this user
 * can open. It is made soon after the first run begins, and does not keep the process alive. If it cannot be made, `onProblem` gets the
 * reason, and readers get log entries only. Returns a function that closes it.
 */
export function offerLocalEvents({
  folder,
  onProblem = () => {},
}: {
  readonly folder: string
  readonly onProblem?: (error: unknown) => void
}): () => Promise<void> {
  const offer = offers.get(folder) ?? { callers: 0, close: openWithFirstRun(folder, onProblem) }
  offers.set(folder, offer)
  offer.callers++
  let isClosed = false
  return async () => {
    if (isClosed) return
    isClosed = true
    if (--offer.callers > 0) return
    offers.delete(folder)
    await offer.close()
  }
}

function openWithFirstRun(folder: string, onProblem: (error: unknown) => void): () => Promise<void> {
  let opening: Promise<(() => Promise<void>) | undefined> | undefined
  let timer: NodeJS.Timeout | undefined
  const stop = onRun((processId) => {
    timer ??= setTimeout(() => {
      opening = open(folder, processId).catch((error) => void onProblem(error))
    }, openAfterMs).unref()
  })
  return async () => {
    stop()
    clearTimeout(timer)
    await (await opening)?.()
  }
}

/** The request to the model goes out first. Readers try for some seconds; a run that is shorter has nothing to follow. */
const openAfterMs = 100

async function open(folder: string, processId: string): Promise<() => Promise<void>> {
  const path = socketPath(folder, processId)
  await makeOwnFolder(folder)
  await removeUnused(folder)
  const readers = new Set<Socket>()
  const server = createServer((socket) => {
    readers.add(socket.unref())
    socket.on('error', () => {}) // a reader that is gone
    socket.on('close', () => readers.delete(socket))
    serve(socket)
  }).unref()
  await listen(server, path)
  await chmod(path, 0o600)
  return async () => {
    server.close()
    for (const reader of readers) reader.destroy()
    await unlink(path).catch(() => {})
  }
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, resolve)
  })
}

/** Sockets of processes that were killed. */
async function removeUnused(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sock'))
  await Promise.all(
    names.slice(0, mostRemoved).map(async (name) => {
      const path = join(folder, name)
      if (!(await isAlive(path))) await unlink(path).catch(() => {})
    }),
  )
}

const mostRemoved = 100

function isAlive(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code !== 'ECONNREFUSED'))
  })
}

/** A reader that leaves more than this unread gets nothing until it has read all; then it learns how much it lost. */
const mostUnread = 1024 * 1024
/** A request is a few words. */
const longestRequest = 4096

/** Streams one run to one reader. Never waits for the reader. */
function serve(socket: Socket): void {
  let feed: LiveFeed | undefined
  /** The reader gets nothing until it has read what was written. */
  let isBehind = false
  let lost = 0
  const write = (event: StreamedEvent): void => void socket.write(`${JSON.stringify(event)}\n`)
  const emit = (event: StreamedEvent): void => {
    isBehind ||= socket.writableLength > mostUnread
    if (!isBehind) write(event)
    else if (event.type !== 'snapshot') lost++
  }
  const follow = async (): Promise<void> => {
    for await (const line of readLines(socket, { maxBytes: longestRequest })) {
      const { run: runId, snapshot } = requestIn(line)
      if (snapshot === true) feed?.snapshot()
      if (feed || typeof runId !== 'string') continue
      const run = liveRun(runId)
      if (!run) return // it is not ready yet, or over: the reader asks again, or learns its end from the log
      feed = joinRun(run, emit)
      socket.on('drain', () => {
        if (!isBehind) return
        isBehind = false
        if (lost > 0) write({ durable: false, type: 'gap', after: run.log.head, lost })
        lost = 0
        feed?.snapshot()
      })
    }
  }
  socket.on('close', () => feed?.leave())
  follow()
    .catch(() => {}) // it is gone, or says too much
    .finally(() => socket.destroy())
}

function requestIn(line: InputLine): { readonly run?: unknown; readonly snapshot?: unknown } {
  try {
    return JSON.parse('text' in line ? line.text : '') ?? {}
  } catch {
    return {}
  }
}
