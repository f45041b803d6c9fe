import type { Agent } from '../core/agent.ts'
import type { Clock } from '../core/clock.ts'
import type { Meta } from '../core/meta.ts'
import type { Provider } from '../core/provider.ts'
import type { PendingAnswer, Session, SessionStatus, SessionStore, SessionSummary } from '../core/store.ts'
import type { PromptPart } from '../core/turn.ts'
import type { AuthorityFor } from '../server/session-work.ts'
import type { WebhookOptions } from '../server/webhooks/webhook.ts'
import type { OpenCall } from '../sessions/open-calls.ts'
import type { Workflow, WorkflowOptions } from '../workflow/workflow-contract.ts'
import type { Dispatcher, DispatcherStats, TenantLimits } from './dispatcher.ts'
import type { FleetWork } from './fleet-work.ts'
import type { KeyState } from './limit-book.ts'

/** The options of `createFleet`. */
export interface FleetOptions {
  /** Holds the sessions. One in Postgres may be used by any number of machines. */
  readonly store: SessionStore
  /** Tells workers which sessions to look at: `inProcessDispatcher()` for one process, `pgBossDispatcher({ url })` for many. */
  readonly dispatcher: Dispatcher
  /** The kinds of agents that the workers of this process can run, by name. A session has one kind. */
  readonly kinds: Readonly<Record<string, AgentKind>>
  readonly limits?: FleetLimits
  /** Makes the workflow whose agents the fleet works on, as in `(given) => createWorkflow({ ...given, provider, definitions })`. */
  readonly workflow?: FleetWorkflow
  /** How workers deliver to the webhooks of the store, which a server in front makes. */
  readonly webhooks?: Omit<WebhookOptions, 'deliver'>
  /** Other work that is no run of a plain session. */
  readonly works?: readonly FleetWork[]
  /** The authority that signs answers. Without it `answer` cannot allow a call that an authority asked about. */
  readonly authorityFor?: AuthorityFor
  /** Shown by `status()`, to tell old workers from new ones. */
  readonly version?: string
  readonly clock?: Clock
  /** Called with errors of workers that no caller gets. Default: the console. */
  readonly onError?: (error: Error) => void
}

/** Called once for `fleet.workflow`, and once by each worker. */
export type FleetWorkflow = (
  given: Required<Pick<WorkflowOptions, 'store' | 'clock' | 'work' | 'onWork' | 'onError'>>,
  request: Pick<KindRequest, 'limited'>,
) => Workflow

export interface FleetLimits {
  /** How many sessions of a tenant run at once, over all workers. */
  readonly tenants?: TenantLimits
  /** Requests to each model, over all workers, by the key `name:model` of the provider. */
  readonly providers?: Readonly<Record<string, { readonly requestsPerMinute: number }>>
}

/** Opens the agent that works on a session. It is destroyed when the session has nothing left to do. */
export type AgentKind = (request: KindRequest) => Agent | FleetAgent | Promise<Agent | FleetAgent>

/** The session that an agent is wanted for. */
export interface KindRequest {
  readonly session: Session
  readonly summary: SessionSummary
  readonly tenant: string | undefined
  /** The provider, kept to `limits.providers`. The default key is `name:model` of the provider. */
  readonly limited: <P extends Provider>(provider: P, key?: string) => P
}

/** An agent with what belongs to it. */
export interface FleetAgent {
  readonly agent: Pick<Agent, 'run' | 'leave'>
  /** Called instead of `agent.destroy()`. */
  close(): Promise<void>
}

/** A message to a session. */
export interface FleetMessage {
  /** The kind of a session that does not exist yet. */
  readonly kind?: string
  /** The tenant of a session that does not exist yet. */
  readonly tenant?: string
  readonly prompt: string | readonly PromptPart[]
  /** A second message with the same key is ignored. Default: a new one. */
  readonly clientKey?: string
  /** `followUp` (the default): answered after a run that is under way. `steer`: delivered to it before its next turn. */
  readonly mode?: 'followUp' | 'steer'
  /** Stored with the message, never sent to a model. At most 8 KiB of JSON. */
  readonly meta?: Meta
  /** Not before this time, in milliseconds since 1970. */
  readonly at?: number
}

/** A call that waits for a person. `sessionId` is the session to answer: `root`, or a sub-agent of it. */
export type FleetPending = OpenCall & Pick<SessionSummary, 'title' | 'tenant' | 'kind'> & { readonly root: string }

/** Sessions, and the workers that run them. */
export interface Fleet {
  readonly store: SessionStore
  readonly dispatcher: Dispatcher
  /** The names of the kinds of agents. A server in front makes sessions of the first one unless a client names another. */
  readonly kinds: readonly string[]
  readonly authorityFor?: AuthorityFor
  /** Records messages and answers for agents, and leaves the work to workers. Absent without the option `workflow`. */
  readonly workflow?: Workflow
  /** Stores a message and wakes a worker; makes the session if there is none. Resolves with the key of the message. */
  send(sessionId: string, message: FleetMessage): Promise<string>
  /** Records the answer to a call that waits, and leaves it to a worker to continue. The first answer counts. */
  answer(sessionId: string, callId: string, answer: PendingAnswer): Promise<void>
  /** Asks a worker to look at a session, after something was written to it without the fleet. */
  wake(sessionId: string): Promise<void>
  /** Stops the run of a session, wherever it runs. The log says when it has stopped. */
  stop(sessionId: string): Promise<void>
  /** The calls that wait for a person, those of the session that changed last first. */
  pending(query?: { readonly tenant?: string }): AsyncIterable<FleetPending>
  /** Starts a worker in this process. */
  work(options?: WorkOptions): Worker
  /** What workers, sessions and jobs do now, for people. */
  status(): Promise<FleetStatus>
  /** Closes its workers, its dispatcher and its store. */
  close(): Promise<void>
}

export interface WorkOptions {
  /** The maximum number of sessions that the worker runs at once. Default 20. */
  readonly concurrency?: number
  /** Where servers reach this worker, for the deltas of its runs: `http://host:port`. */
  readonly address?: string
  /** Only these kinds of agents. Default: all of the fleet. */
  readonly kinds?: readonly string[]
  /** Called with how long a job waited for this worker, in milliseconds: for measurements. */
  readonly onWait?: (waitMs: number) => unknown
}

/** Runs the sessions that have something to do. */
export interface Worker {
  readonly id: string
  status(): WorkerStatus
  /** The session as the run here has it open; undefined if none runs here. */
  session(sessionId: string): Session | undefined
  /** Claims nothing more, waits at most `graceMs` for its runs, and leaves the others to other workers. Default 30 s. */
  drain(options?: { readonly graceMs?: number }): Promise<void>
  /** `drain` without waiting for runs. */
  close(): Promise<void>
}

/** The numbers of a worker since it began. */
export interface WorkerStatus {
  readonly state: 'working' | 'draining' | 'closed'
  readonly running: number
  readonly concurrency: number
  /** Jobs that it has claimed, and those that are settled. */
  readonly claimed: number
  readonly done: number
  /** Runs that it began. */
  readonly runs: number
  /** Sessions whose worker had died. */
  readonly takeovers: number
  /** Jobs that failed with an error that the log does not have. */
  readonly failures: number
  /** Runs that it left to others. */
  readonly left: number
  /** The session that runs alone, because processes died that held it. */
  readonly alone?: string
  /** How long jobs waited for this worker. */
  readonly waits: WaitHistogram
}

export interface WaitHistogram {
  /** How many waits took at most `upToMs` and more than the bucket before; that of the last one is infinite. */
  readonly buckets: readonly { readonly upToMs: number; readonly count: number }[]
  readonly count: number
  readonly sumMs: number
}

/** A worker, as it last announced itself. */
export interface WorkerInfo {
  readonly id: string
  /** Identifies its process in logs: `processId` of `run_started` entries. */
  readonly processId: string
  readonly version: string
  readonly address?: string
  readonly kinds: readonly string[]
  readonly slots: number
  readonly running: number
  readonly takeovers: number
  readonly state: WorkerStatus['state']
  readonly startedAt: number
  readonly beatAt: number
}

export interface FleetStatus {
  /** Workers that announced themselves in the last 15 seconds. */
  readonly workers: readonly WorkerInfo[]
  /** Sessions of each status but `idle`, counted up to 1000. */
  readonly sessions: Readonly<Record<Exclude<SessionStatus, 'idle'>, number>>
  /** Absent if the dispatcher does not count. */
  readonly jobs?: DispatcherStats
  readonly limits: FleetLimits
  /** The keys of providers that had requests, and those that a service closed for a while. */
  readonly providers: readonly KeyState[]
}
