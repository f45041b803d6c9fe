import type { Session } from '../../core/store.ts'
import type { AgentInstanceLatestStatus } from '../../plugins/message.ts'
import { EngineRuns } from '../engine/engine-runs.ts'
import { EngineSlot } from '../engine/engine-slot.ts'
import { type Engine, makeEngine } from '../engine/make-engine.ts'
import { RequestTokens } from '../engine/request-tokens.ts'
import type { Said } from '../engine/said.ts'
import type { WorkflowDependencies } from '../engine/workflow-dependencies.ts'
import { type AgentHandler, handlerOf } from '../handlers/handler.ts'
import { workByHandler } from '../handlers/work-by-handler.ts'
import type { TurnFiles } from '../rollback/turn-files.ts'
import type { Updates } from '../updates.ts'
import type { EventFollowers } from './event-followers.ts'
import type { FollowedLog } from './followed-log.ts'
import type { OneWriter } from './one-writer.ts'
import type { Unheard } from './unheard.ts'

export interface AgentWorkOptions {
  readonly session: Session
  readonly log: FollowedLog
  readonly makings: WorkflowDependencies
  readonly handlers: Readonly<Record<string, AgentHandler>>
  readonly updates: Updates
  readonly files: TurnFiles
  readonly writer: OneWriter
  readonly unheard: Unheard
  readonly followers: EventFollowers
}

/** What this process does with one agent: a handler at a time, and the engine while it is needed. */
export class AgentWork {
  readonly runs: EngineRuns
  readonly engine = new EngineSlot(() => this.#make())
  readonly tokens = new RequestTokens()
  /** What is under way. */
  running: Promise<AgentInstanceLatestStatus> | undefined
  readonly #options: AgentWorkOptions
  #stop = new AbortController()
  /** Somebody stopped a run through the log, and not through us. */
  #isStoppedByOthers = false
  /** What it works on. */
  #start: Said = {}

  constructor(options: AgentWorkOptions) {
    this.#options = options
    const { session, makings, writer, updates, log } = options
    const { views, instance } = log
    const agentId = instance.id
    const engine = (): Promise<Engine> => this.engine.load()
    this.runs = new EngineRuns({ agentId, session, views, makings, writer, updates, engine })
  }

  /** Begins; nothing must be under way. */
  begin(start: Said): Promise<AgentInstanceLatestStatus> {
    this.#stop = new AbortController()
    this.#isStoppedByOthers = false
    this.#start = start
    this.runs.forget()
    this.running = this.#workOn(start).finally(() => {
      this.running = undefined
    })
    return this.running
  }

  async #workOn(start: Said): Promise<AgentInstanceLatestStatus> {
    const { log, session, makings, handlers, files, writer, unheard } = this.#options
    const { instance, views } = log
    const { runs } = this
    const handler = handlerOf(instance, makings.definition(instance.definitionId), handlers)
    await writer.isDone
    await unheard.keepCancelled() // it was said before what is said now
    if (start.prompt) await files.look()
    const { signal: stop } = this.#stop
    const isLeaving = (): boolean => log.isLeaving
    await workByHandler({ instance, session, views, makings, runs, stop, isLeaving }, handler, start)
    if (!runs.isElsewhere) await files.keepAfter((entry) => writer.note(entry))
    if (this.#isStoppedByOthers && !unheard.isEmpty) await unheard.takeUpUnlessBusy()
    return runs.status
  }

  get isStopped(): boolean {
    return this.#stop.signal.aborted
  }

  /** Does not wait for the end. */
  abort(why: Error): void {
    this.#stop.abort(why)
  }

  /** Resolves when what was under way has ended. */
  async stop(why: Error): Promise<void> {
    this.abort(why)
    await this.running?.catch(() => {})
  }

  /** Whether another process cancelled what a run is for, before that got the right to write: no model is asked again. */
  #isCancelledBefore(runId: string): boolean {
    const { log, session } = this.#options
    const { transcript } = session.log
    const { prompt, clientKey = '' } = this.#start
    if (log.stoodBefore !== 'canceled' || transcript.inbox.length > 0) return false
    return transcript.turns.at(-1)?.runId !== runId && (!prompt || transcript.hasClientKey(clientKey))
  }

  async #make(): Promise<Engine> {
    const { makings, session, log, files, followers } = this.#options
    const engine = await makeEngine(makings, log.instance, session, log.views)
    this.runs.attach(engine)
    this.tokens.attach(engine)
    followers.attach(engine.agent)
    engine.agent.hooks.hook('session:start', ({ runId }) => {
      if (this.#isCancelledBefore(runId)) this.abort(new Error('what there was to do was cancelled'))
    })
    // A handler must not go on where somebody stopped its run from outside.
    engine.agent.hooks.hook('agent:abort', () => {
      this.#isStoppedByOthers = !this.isStopped
      this.abort(new Error('the agent was cancelled'))
    })
    engine.agent.hooks.hook('session:turns', ({ turns }) =>
      files.keepBefore(turns, (entry) => session.log.append(entry)),
    )
    return engine
  }
}
