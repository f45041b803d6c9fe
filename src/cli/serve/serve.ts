import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmod } from 'node:fs/promises'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { readTextIfThere, writeFileAtomic } from '../../platform/files.ts'
import { withLock } from '../../platform/lock.ts'
import { fullyVisible, visibleName } from '../../platform/visible-text.ts'
import type { LiberoServer } from '../../server/create-server.ts'
import { CliError, exitCodes } from '../cli-error.ts'
import type { ServeValues } from '../commands/serve.ts'
import type { Io } from '../io.ts'
import { resolveCwd } from '../run/flag-files.ts'
import { untilStopped } from '../until-stopped.ts'
import { addressOf, listen, loadNodeServer, onSecondSignal } from './node-server.ts'
import { type OpenedServer, openServer } from './open-server.ts'

/** `libero serve`: sessions and agents over HTTP, until a signal arrives. */
export function serve(values: ServeValues, io: Io): Promise<number> {
  return serveUntilStopped(values, io, {
    fetchOf: (server) => server.fetch,
    async announce({ address, notice }) {
      io.err(`libero: ${notice}`)
      io.out(`listening on ${address}`)
    },
  })
}

/** What a command makes of a server. */
interface Serving {
  /** The file with the port of the last time, which is tried first if none is asked for: open pages come back to it. */
  readonly portFile?: string
  /** Answers the requests. */
  readonly fetchOf: (server: LiberoServer) => LiberoServer['fetch']
  /** Tells the person where it is, once it answers. `notice` says where the token is. */
  readonly announce: (served: {
    readonly address: string
    readonly token: string
    readonly notice: string
  }) => Promise<void>
}

/** Serves the sessions and agents of this user until a signal arrives. */
export async function serveUntilStopped(values: ServeValues, io: Io, serving: Serving): Promise<number> {
  const makeServer = await loadNodeServer()
  const cwd = await resolveCwd(values.cwd, io)
  const { token, notice } = await serverToken(io)
  const notify = oncePerMinute((text) => io.err(`libero: ${text}`))
  const opened = await open(values, { io, cwd, token, notify })
  const quitAtSecond = onSecondSignal(io)
  try {
    const exitCode = await untilStopped(io, async (signal) => {
      const { host = '127.0.0.1', port } = values
      const http = makeServer(serving.fetchOf(opened.server))
      try {
        if (port === undefined && serving.portFile !== undefined) await listenAgain(http, serving.portFile, host)
        else await listen(http, Number(port ?? 0), host)
        await serving.announce({ address: addressOf(http), token, notice })
        await opened.start()
        if (!signal.aborted) await once(signal, 'abort')
        io.err('libero: stopping; runs under way are continued at the next start. Ctrl-C again quits at once.')
      } finally {
        await endAll(http, opened)
      }
    })
    return exitCode === exitCodes.interrupted ? exitCodes.done : exitCode
  } finally {
    quitAtSecond()
  }
}

async function open(values: ServeValues, options: Parameters<typeof openServer>[1]): Promise<OpenedServer> {
  const { fleet } = values
  if (fleet === undefined) return openServer(values, options)
  return (await import('./open-fleet-server.ts')).openFleetServer({ ...values, fleet }, options)
}

/** A server of this user's sessions beside other work of this process, at any free port of this machine. */
export interface ServedBeside {
  readonly address: string
  readonly token: string
  /** Leaves all runs, which can be continued. */
  close(): Promise<void>
}

export interface ServeBesideOptions {
  /** The flags of agents as they are now. */
  readonly values: () => ServeValues
  readonly io: Io
  readonly cwd: string
  readonly notify: (text: string) => void
}

export async function serveBeside(
  fetchOf: Serving['fetchOf'],
  { values, io, cwd, notify }: ServeBesideOptions,
): Promise<ServedBeside> {
  const makeServer = await loadNodeServer()
  const { token } = await serverToken(io)
  const opened = await openServer(values(), { io, cwd, token, notify: oncePerMinute(notify), valuesNow: values })
  try {
    const http = makeServer(fetchOf(opened.server))
    await listen(http, 0, '127.0.0.1')
    return { address: addressOf(http), token, close: () => endAll(http, opened) }
  } catch (error) {
    await opened.close()
    throw error
  }
}

async function endAll(http: Server, opened: OpenedServer): Promise<void> {
  http.close() // no further connections
  await opened.close()
  http.closeAllConnections()
}

/** Shows a text at most once a minute, so that a faulty client cannot fill a log. */
function oncePerMinute(show: (text: string) => void): (text: string) => void {
  const shownAt = new Map<string, number>()
  return (text) => {
    const now = Date.now()
    if (now - (shownAt.get(text) ?? 0) < 60_000) return
    if (shownAt.size > 1000) shownAt.clear()
    shownAt.set(text, now)
    show(fullyVisible(text.slice(0, 2000)))
  }
}

async function listenAgain(server: Server, portFile: string, host: string): Promise<void> {
  const kept = Number((await readTextIfThere(portFile))?.trim())
  const last = Number.isInteger(kept) && kept > 0 && kept < 65_536 ? kept : 0
  await listen(server, last, host).catch(() => listen(server, 0, host)) // another program may have it now
  const { port } = server.address() as AddressInfo
  if (port !== last) await writeFileAtomic(portFile, `${port}\n`)
}

interface ServerToken {
  readonly token: string
  /** The words about it for a person. */
  readonly notice: string
}

const shortest = 32

/** The token that clients need: that of the environment, else the one in the user's folder, which is made at the first start. */
async function serverToken(io: Pick<Io, 'env' | 'home' | 'stderr'>): Promise<ServerToken> {
  const given = io.env.LIBERO_SERVER_TOKEN
  if (given === undefined || given === '') return keptToken(io)
  if (given.length < shortest)
    throw new CliError(`LIBERO_SERVER_TOKEN is too short: use at least ${shortest} characters, or unset it`)
  if (!/^[\x21-\x7e]+$/.test(given))
    throw new CliError('LIBERO_SERVER_TOKEN may have visible ASCII characters only: a client could not send it')
  // Commands of agents get the environment of this process: with the token they could answer their own approvals.
  delete (io.env as Record<string, string | undefined>).LIBERO_SERVER_TOKEN
  return { token: given, notice: 'clients need the token of LIBERO_SERVER_TOKEN' }
}

async function keptToken({ home, stderr }: Pick<Io, 'home' | 'stderr'>): Promise<ServerToken> {
  const path = join(home, 'server-token')
  // Two servers that start at once must not make one each.
  const token = await withLock(`${path}.lock`, async () => {
    const kept = (await readTextIfThere(path))?.trim() ?? ''
    if (kept.length >= shortest) {
      await chmod(path, 0o600) // it may have been copied, with rights for others
      return kept
    }
    if (kept !== '')
      throw new CliError(`${visibleName(path)} holds no token of this program; delete it, and a new one is made`)
    const made = randomBytes(32).toString('base64url')
    await writeFileAtomic(path, `${made}\n`)
    return made
  })
  const shown = stderr.isTTY ? `: ${token}` : ''
  return { token, notice: `clients need the token in ${visibleName(path)}${shown}` }
}
