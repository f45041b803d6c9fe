import { SessionBusyError, SessionParkedError } from '../../core/errors.ts'
import type { Session, SessionStore, SessionSummary } from '../../core/store.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { createSession, loadSession } from '../../sessions/session.ts'
import { pageWhere } from '../../sessions/session-query.ts'
import { formatDate } from '../../tui/rows/format.ts'
import { CliError, exitCodes } from '../cli-error.ts'
import { findSession, latestInFolder } from './find-session.ts'
import { realFolder } from './session-folder.ts'
import { isAgentId, isOwnSession, newSessionId } from './session-id.ts'

interface SessionRequest {
  /** An id or its prefix; `true` lets the person pick, or takes the latest session of this folder. */
  readonly resume?: string | true | undefined
  /** The latest session of this folder. */
  readonly continue?: boolean | undefined
  /** Continue in a copy. */
  readonly fork?: boolean | undefined
  /** With `fork`: the last entry that the copy has. Default: all. */
  readonly at?: number
  /** The absolute path of the folder in which the agent works. */
  readonly cwd: string
  /** Lets a parked session run again. */
  readonly unpark?: boolean
}

export interface OpenSessionOptions {
  /** Lets the person pick a session; `undefined` means none. Absent without a terminal. */
  readonly pick?: (sessions: readonly SessionSummary[], store: SessionStore) => Promise<string | undefined>
}

export interface OpenedSession {
  readonly session: Session
  readonly isNew: boolean
  /** The folder in which it was begun, if it is another one, for display. */
  readonly begunIn?: string
}

/** A new session for a run, or an existing one that no other process writes. A new one is stored by its first run. */
export async function openSession(
  store: SessionStore,
  request: SessionRequest,
  { pick }: OpenSessionOptions = {},
): Promise<OpenedSession> {
  const folder = realFolder(request.cwd)
  const id = await requestedId(store, request, pick)
  if (id === undefined) return { session: await createSession({ store, id: newSessionId(), folder }), isNew: true }
  if (isAgentId(id) && !request.fork) throw agentSessionError(id)
  const found = await loadSession(store, id)
  const session = request.fork ? await forkSession(store, found, request) : found
  if (!request.fork) await checkFree(session, request)
  const { folder: begunIn } = (await store.find(session.id)) ?? {}
  const isElsewhere = begunIn !== undefined && begunIn !== folder
  return { session, isNew: false, ...(isElsewhere && { begunIn: fullyVisible(begunIn) }) }
}

/** A copy of a session with a readable id, recorded as begun in `cwd`. */
export async function forkSession(
  store: SessionStore,
  session: Session,
  { cwd, at }: { readonly cwd: string; readonly at?: number | undefined },
): Promise<Session> {
  const fork = await session.fork(at, { id: newSessionId() })
  const folder = realFolder(cwd)
  const isAgent = isAgentId(session.id)
  const isSame = !isAgent && (await store.find(fork.id))?.folder === folder
  // A copy of an agent is none: `libero agents` does not list it.
  if (!isSame) await fork.setDetails({ folder, ...(isAgent && { kind: 'copy of an agent' }) })
  return fork
}

/** The full id of the session that flags ask for; undefined if they ask for a new one. */
export async function requestedId(
  store: SessionStore,
  { resume, continue: isContinued, fork, cwd }: SessionRequest,
  pick: OpenSessionOptions['pick'],
): Promise<string | undefined> {
  if (typeof resume === 'string') return findSession(store, resume)
  if (resume && pick) return pickId(store, pick)
  if (resume || isContinued) return (await latestInFolder(store, realFolder(cwd))) ?? noneHere(cwd)
  if (fork) throw new CliError('--fork needs a session to copy: add --continue or --resume <id>', exitCodes.usage)
  return undefined
}

const mostToPick = 20

/** Whether a session is offered to a person who wants to go on with one. */
export const isResumable = (session: SessionSummary): boolean => isOwnSession(session) && session.turns > 0

async function pickId(store: SessionStore, pick: NonNullable<OpenSessionOptions['pick']>): Promise<string> {
  const query = { parent: null, limit: mostToPick }
  const { sessions } = await pageWhere(store, query, isResumable)
  if (sessions.length === 0) throw new CliError('There is no session to resume yet; begin one with libero "task"')
  const id = await pick(sessions, store)
  if (id === undefined) throw new CliError('No session was chosen', exitCodes.interrupted)
  return id
}

function noneHere(cwd: string): never {
  throw new CliError(
    `No session was begun in ${fullyVisible(cwd)}; libero sessions list --all shows those of other folders, libero "task" starts one`,
  )
}

/** `libero run` would continue it without the agent's own prompts, tools and rules. */
function agentSessionError(id: string): CliError {
  const name = fullyVisible(id)
  return new CliError(
    `${name} is an agent; talk to it with: libero agents send ${name} "…" (--fork continues in a copy that is no agent)`,
  )
}

/** Fails before a model is asked, so that no prompt is lost. */
async function checkFree(session: Session, { unpark }: SessionRequest): Promise<void> {
  try {
    if (unpark) await session.unpark()
    await session.open()
  } catch (error) {
    if (error instanceof SessionBusyError) throw busy(session.id, error)
    if (error instanceof SessionParkedError) throw parked(session, error)
    throw error
  }
  await session.release()
}

function busy(id: string, error: SessionBusyError): CliError {
  const by = error.owner === undefined ? 'another program' : `another program (${fullyVisible(error.owner)})`
  const since = error.since === undefined ? '' : ` since ${formatDate(error.since)}`
  const advice = `wait for it, or work in a copy with --resume ${fullyVisible(id)} --fork`
  return new CliError(`Session ${fullyVisible(id)} is being written by ${by}${since}; ${advice}`, exitCodes.error, {
    cause: error,
  })
}

function parked({ id, parked: why = 'it failed again and again' }: Session, error: SessionParkedError): CliError {
  const advice = `libero sessions resume ${fullyVisible(id)} --unpark tries it again`
  return new CliError(`Session ${fullyVisible(id)} is parked: ${fullyVisible(why)}; ${advice}`, exitCodes.error, {
    cause: error,
  })
}
