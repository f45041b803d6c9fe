import type { Session, SessionStore } from '../../core/store.ts'
import type { AgentInstance } from '../definitions/definition.ts'
import type { WorkflowDependencies } from '../engine/workflow-dependencies.ts'
import type { AgentHandler } from '../handlers/handler.ts'
import type { FileHistory } from '../rollback/file-history.ts'
import { TurnFiles } from '../rollback/turn-files.ts'
import type { Updates } from '../updates.ts'
import { AgentWork } from './agent-work.ts'
import { Cancelling } from './cancelling.ts'
import { EventFollowers } from './event-followers.ts'
import { FollowedLog } from './followed-log.ts'
import { GoingBack } from './going-back.ts'
import { OneWriter } from './one-writer.ts'
import { Unheard } from './unheard.ts'
import { WaitingCalls } from './waiting-calls.ts'

export interface LiveOptions {
  readonly instance: AgentInstance
  readonly session: Session
  /** Where its session is. */
  readonly store: SessionStore
  readonly makings: WorkflowDependencies
  readonly handlers: Readonly<Record<string, AgentHandler>>
  readonly updates: Updates
  /** Absent where nobody wants to go back. */
  readonly files: FileHistory | undefined
}

/** How an agent keeps up with what other processes write. */
export interface KeepingUp {
  /** Reads it, unless a run of ours is under way, which has it all. */
  refresh(): Promise<void>
  /** Reads it in any case. */
  catchUp(): Promise<void>
  /** The session with all of it. */
  current(): Promise<Session>
}

export interface LiveParts {
  readonly log: FollowedLog
  readonly writer: OneWriter
  readonly unheard: Unheard
  readonly work: AgentWork
  readonly waiting: WaitingCalls
  readonly back: GoingBack
  readonly cancelling: Cancelling
  readonly followers: EventFollowers
}

/** What one agent in this process is made of, each part knowing those that it needs. */
export function liveParts(options: LiveOptions, { refresh, catchUp, current }: KeepingUp): LiveParts {
  const { instance, session, makings, handlers, updates, store } = options
  const { clock, onError } = makings
  const { id: agentId } = instance
  const writer = new OneWriter(session, clock)
  const log = new FollowedLog({
    ...{ instance, makings, updates },
    onEntry(entry) {
      unheard.apply(entry)
      work.runs.takeBackUnsaved(entry)
      followers.entry(entry)
    },
    show: (message) => work.runs.show(message),
    onClosed: (why) => work.abort(new Error(why)), // another process was faster than a run of ours
  })
  const { messages } = log.views
  const followers = new EventFollowers(onError)
  const isCancelled = (): boolean => messages.status.state === 'canceled'
  const files = new TurnFiles({ files: options.files, noted: messages.files, onError })
  const unheard = new Unheard({ session, writer, makings })
  const work = new AgentWork({ session, log, makings, handlers, updates, files, writer, unheard, followers })
  const engine = (): ReturnType<typeof work.engine.load> => work.engine.load()
  const definitionId = (): string => log.instance.definitionId
  const waiting = new WaitingCalls({ agentId, store, clock, isCancelled, session: current, engine, definitionId })
  const isRunning = (): boolean => work.running !== undefined
  const back = new GoingBack({ agentId, session, writer, messages, files, isRunning, catchUp })
  const cancelling = new Cancelling({ agentId, session, store, makings, log, writer, unheard, waiting, work, refresh })
  return { log, writer, unheard, work, waiting, back, cancelling, followers }
}
