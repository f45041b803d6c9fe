import { AgentAbortedError, messageOf, SessionBusyError } from '../core/errors.ts'
import type { LogEntry } from '../core/log.ts'
import type { RunOptions } from '../core/run.ts'
import { type AgentEvent, followEvents } from '../events/events.ts'
import { emptyView, foldEntries, foldOnwards, type SessionView } from '../view/session-view.ts'
import type { ChatAgent, ChatSettings, QueuedDraft } from './chat.ts'
import { readEnd } from './session-end.ts'
import { isShellLine } from './shell-line-meta.ts'

/** How a run ended, as far as the messages that wait for its end depend on it. */
export interface RunEnd {
  readonly how: 'done' | 'stopped' | 'waiting' | 'failed'
  /** Why it failed, if its log does not say so. */
  readonly problem?: string
}

/** A session that this process runs. */
export interface LiveSession {
  readonly agent: ChatAgent
  readonly id: string | undefined
  /** As of its opening; `follow` tells of changes. */
  readonly view: SessionView
  /** Absent if the view goes on from another one. */
  readonly earlierTurns?: number
  /** `stored` rejects if the message did not get into the log. `ended` never rejects. */
  run(settings: ChatSettings, message?: QueuedDraft): { stored: Promise<void>; ended: Promise<RunEnd> }
  /** Resolves once the message is stored. */
  steer(message: QueuedDraft): Promise<void>
  /** Whether the session has messages, or calls without a result, that a run without a message would deal with. */
  hasWork(): boolean
  /** Whether the log has this message. */
  has(message: QueuedDraft): Promise<boolean>
  /** The ids of messages that are stored and that no run has delivered. */
  undelivered(): readonly string[]
  /** Whether a run has delivered this message. */
  hasDelivered(message: QueuedDraft): boolean
  follow(onView: (view: SessionView) => void): void
  readAll(): Promise<SessionView>
  /** Leaves a run under way and frees what belongs to the agent. */
  close(): Promise<void>
}

/** Follows the agent of a session. `from` is a view of the same session that goes on. */
export async function createLiveSession(agent: ChatAgent, from?: SessionView): Promise<LiveSession> {
  const { log, session } = agent.agent
  const early: AgentEvent[] = []
  let listener = (event: AgentEvent): void => void early.push(event)
  let endedRuns = 0
  const unfollow = followEvents(agent.agent, (event) => listener(event))
  const unsubscribe = log.subscribe(({ type }) => {
    if (type === 'run_ended') endedRuns++
  })
  const start = await startOf(agent, from)
  // Background jobs end with the agent that began them.
  let view: SessionView = { ...start.view, jobs: [] }

  return {
    agent,
    id: session?.id,
    view,
    ...(start.earlierTurns !== undefined && { earlierTurns: start.earlierTurns }),
    run(settings, message) {
      const before = endedRuns
      const running = agent.agent.run(runOptions(settings, message)).catch(forPeople)
      const ended = running.then(
        ({ status }): RunEnd => ({ how: endings[status] }),
        (error): RunEnd => {
          if (error instanceof AgentAbortedError) return { how: 'stopped' }
          return { how: 'failed', ...(endedRuns === before && { problem: messageOf(error) }) }
        },
      )
      return { stored: message ? untilStored(message, running) : Promise.resolve(), ended }
    },
    steer: (message) => agent.agent.steer(promptOf(message), { clientKey: message.id }),
    hasWork() {
      const { inbox, openCalls, isRunActive, turns } = log.transcript
      const last = turns.at(-1)
      const isUnanswered = last?.role === 'user' && !isShellLine(last)
      return inbox.length > 0 || openCalls.length > 0 || isRunActive || isUnanswered
    },
    has: async ({ id }) => log.hasAccepted(id),
    undelivered: () => log.transcript.inbox.map(({ clientKey }) => clientKey),
    hasDelivered({ id }) {
      const { clientKeys, inbox } = log.transcript
      return clientKeys.has(id) && !inbox.some(({ clientKey }) => clientKey === id)
    },
    follow(onView) {
      listener = (event) => {
        view = foldOnwards(view, event)
        onView(view)
      }
      for (const event of early.splice(0)) listener(event)
    },
    async readAll() {
      if (!session) return view
      const entries: LogEntry[] = []
      for await (const entry of session.entries()) entries.push(entry)
      return foldEntries(emptyView, entries)
    },
    async close() {
      await agent.agent.leave()
      unfollow()
      unsubscribe()
      await agent.close()
    },
  }

  /** Resolves with the entry that holds the message. A run that ends without it has not got it. */
  function untilStored(message: QueuedDraft, running: Promise<unknown>): Promise<void> {
    return new Promise((resolve, reject) => {
      const stop = log.subscribe((entry) => {
        if (entry.type === 'turn' && entry.clientKey === message.id) done()
      })
      const done = (): void => {
        stop()
        resolve()
      }
      const fail = (error: unknown): void => {
        stop()
        reject(error)
      }
      const settle = async (error: unknown): Promise<void> =>
        (await log.hasAccepted(message.id)) ? done() : fail(error)
      running
        .then(() => settle(new Error('The run ended before the message was stored; send it again')), settle)
        .catch(fail)
    })
  }
}

/** Sets the mode of the session's authority, as the person chose it. */
export async function setModeOf(
  live: Pick<LiveSession, 'agent' | 'id'> | undefined,
  mode: NonNullable<ChatSettings['mode']>,
): Promise<void> {
  const { authority } = live?.agent ?? {}
  if (!authority) throw new Error('This agent has no authority, so it has no mode')
  const about = { by: 'user', ...(live?.id !== undefined && { sessionId: live.id }) }
  await authority.setMode(mode, mode === 'yolo' ? { ...about, allowYolo: true } : about)
}

const endings = {
  completed: 'done',
  aborted: 'stopped',
  left: 'stopped',
  suspended: 'waiting',
  error: 'failed',
} as const

async function startOf(
  { agent: { log, session } }: ChatAgent,
  from: SessionView | undefined,
): Promise<Pick<LiveSession, 'view' | 'earlierTurns'>> {
  if (!session?.store || log.head === 0) return { view: from ?? emptyView, earlierTurns: 0 }
  if (from) {
    const entries = await session.store.read(session.id, { after: from.head, before: log.head + 1 })
    return { view: foldEntries(from, entries) }
  }
  return readEnd(session.store, session.id, log.head)
}

function runOptions({ model, thinking }: ChatSettings, message: QueuedDraft | undefined): RunOptions {
  return {
    ...(model.model !== '' && { model: model.model }),
    ...(thinking !== undefined && { thinking }),
    ...(message && { prompt: promptOf(message), clientKey: message.id }),
  }
}

const promptOf = ({ text, parts }: QueuedDraft) => parts ?? text

/** What a program would do about a session that another one writes is nothing that a person can do. */
function forPeople(error: unknown): never {
  if (!(error instanceof SessionBusyError)) throw error
  const text = 'Another program works on this session: wait until it is done, or continue in a copy with /fork'
  throw new Error(text, { cause: error })
}
