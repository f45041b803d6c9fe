import { SessionBusyError, SessionParkedError } from '../../core/errors.ts'
import type { Session, SessionStore } from '../../core/store.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { createSession, loadSession } from '../../sessions/session.ts'
import { CliError, exitCodes } from '../cli-error.ts'
import { formatDate } from '../screen/format.ts'
import { findSession, latestInFolder, newestFirst } from './find-session.ts'
import { folderEntry, realFolder } from './session-folder.ts'
import { isAgentId, newSessionId } from './session-id.ts'
import { cliStateOwner, recordedFolder, type SessionSummary, summarize } from './summary.ts'

interface SessionWish {
  /** An id or the beginning of one; `true` is one that the person picks, or the latest that was begun here. */
  readonly resume?: string | true
  /** The latest that was begun here. */
  readonly continue?: boolean
  /** Go on in a copy. */
  readonly fork?: boolean
  /** Absolute: where the agent works. */
  readonly cwd: string
  /** Lets a session be tried again that ended its process again and again. */
  readonly unpark?: boolean
}

export interface OpenSessionOptions {
  /** Asks the person; `undefined` is a person who does not want any of them. Only where there is a terminal. */
  readonly pick?: (sessions: readonly SessionSummary[]) => Promise<string | undefined>
}

export interface OpenedSession {
  readonly session: Session
  readonly isNew: boolean
  /** Where it was begun, when it was elsewhere: its files are not those of here. For people: nothing in it is hidden. */
  readonly begunIn?: string
}

/** The session that a run works in: a new one, which is in the store from its first run on, or one that was begun before. Nobody else writes it, as far as one can know. */
export async function openSession(
  store: SessionStore,
  wish: SessionWish,
  { pick }: OpenSessionOptions = {},
): Promise<OpenedSession> {
  const id = await wantedId(store, wish, pick)
  if (id === undefined) return { session: await createSession({ store, id: newSessionId() }), isNew: true }
  if (isAgentId(id) && !wish.fork) throw ofAgent(id)
  const found = await loadSession(store, id)
  const session = wish.fork ? await forkSession(found, wish.cwd) : found
  if (!wish.fork) await checkFree(session, wish)
  const begunIn = recordedFolder(session.log.transcript.states.get(cliStateOwner))
  const isElsewhere = begunIn !== undefined && begunIn !== realFolder(wish.cwd)
  return { session, isNew: false, ...(isElsewhere && { begunIn: fullyVisible(begunIn) }) }
}

/** A copy of a session under a readable id, at home in `cwd`. */
export async function forkSession(session: Session, cwd: string, atSeq?: number): Promise<Session> {
  const fork = await session.fork(atSeq, { id: newSessionId() })
  await noteCwd(fork, cwd)
  return fork
}

async function noteCwd(session: Session, where: string): Promise<void> {
  if (recordedFolder(session.log.transcript.states.get(cliStateOwner)) === realFolder(where)) return
  await session.open()
  try {
    await session.log.append(folderEntry(where))
  } finally {
    await session.release()
  }
}

async function wantedId(
  store: SessionStore,
  { resume, continue: goesOn, fork, cwd }: SessionWish,
  pick: OpenSessionOptions['pick'],
): Promise<string | undefined> {
  if (typeof resume === 'string') return findSession(store, resume)
  if (resume && pick) return picked(store, pick)
  if (resume || goesOn) return (await latestInFolder(store, realFolder(cwd))) ?? noneHere(cwd)
  if (fork) throw new CliError('--fork needs to know of what: add --continue or --resume <id>', exitCodes.usage)
  return undefined
}

const mostToPick = 20

async function picked(store: SessionStore, pick: NonNullable<OpenSessionOptions['pick']>): Promise<string> {
  const sessions: SessionSummary[] = []
  for (const info of newestFirst(await store.list())) {
    if (sessions.length === mostToPick) break
    const summary = await summarize(store, info).catch(() => undefined) // one that is damaged is not offered
    if (summary && summary.state !== 'empty') sessions.push(summary)
  }
  if (sessions.length === 0) throw new CliError('There is no session to resume yet; begin one with libero "task"')
  const id = await pick(sessions)
  if (id === undefined) throw new CliError('No session was chosen', exitCodes.interrupted)
  return id
}

function noneHere(cwd: string): never {
  throw new CliError(
    `No session was begun in ${fullyVisible(cwd)}; libero sessions list --all names those of other folders, libero "task" begins one`,
  )
}

/** A run would go on without the agent's own prompts, tools and rules. */
function ofAgent(id: string): CliError {
  const name = fullyVisible(id)
  return new CliError(
    `${name} is an agent, which is spoken to with: libero agents send ${name} "…" (--fork goes on in a copy that is none)`,
  )
}

/** Said before a model is asked and a prompt is lost. */
async function checkFree(session: Session, { unpark }: SessionWish): Promise<void> {
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
