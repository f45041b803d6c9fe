import { show } from '../../core/behavior.ts'
import type { Clock } from '../../core/clock.ts'
import type { EntryBody } from '../../core/log.ts'
import { didYouMean } from '../../core/nearest.ts'
import {
  type AgentInstanceLatestStatus,
  type AgentInstanceMessage,
  type AgentState,
  agentStates,
  isAgentState,
} from '../../plugins/message.ts'
import { agentView } from '../../plugins/plugin-hooks.ts'
import { type HandlerMessage, yieldEntry } from '../../plugins/yield-note.ts'
import type { AgentDefinition, AgentInstance } from '../definitions/definition.ts'
import type { AgentHandler, HandlerContext } from '../workflow-contract.ts'
import { type AgentInput, userTurnEntry } from './engine-runs.ts'
import type { LiveAgent } from './live-agent.ts'
import { errorDetailOf } from './unsaved-messages.ts'

interface HandlerRunOptions {
  readonly handler: AgentHandler
  readonly input: AgentInput
  readonly signal: AbortSignal
}

/** Runs a handler on a message, and logs what it leaves beside the runs of the engine. Never rejects because of the handler. */
export async function runHandler(agent: LiveAgent, { handler, input, signal }: HandlerRunOptions): Promise<void> {
  const { id, runs, dependencies } = agent
  const { clock, onError } = dependencies
  const run = new HandlerRun({ agentId: id, clock, signal })
  await run.complete(() => handler(contextFor(agent, input, run)))
  if (run.isAbandoned)
    onError(new Error(`the handler of agent ${id} did not end when it was cancelled; it is left to itself`))
  if (run.failure && !run.isCancelled)
    onError(new Error(`the handler of agent ${id} failed`, { cause: run.failure.error }))
  if (runs.isUnsaved) return // another process logs the outcome, or the log cannot be written
  const { entries, unlogged } = closingEntries(agent, input, run)
  if (entries.length > 0) await runs.write(entries, unlogged)
}

function contextFor(agent: LiveAgent, { prompt, clientKey, meta }: AgentInput, run: HandlerRun): HandlerContext {
  const { instance, dependencies, log, session, runs } = agent
  return {
    agent: agentView(instance, log.views.messages, session.log),
    agentDef: { ...dependencies.definition(instance.definitionId) },
    isCancelled: () => run.isCancelled,
    ...(prompt && { prompt }),
    execute: ({ prompt: given } = {}) => {
      const key = given === prompt ? clientKey : undefined // the key belongs to the message, not to a handler's prompt
      return run.during(runs.execute(given, { clientKey: key, meta, signal: run.signal }), {
        hasPrompt: given !== undefined,
      })
    },
  }
}

/** How long a handler that was cancelled may take to end, not counting the time of the engine. */
const handlerGraceMs = 5_000

/** One handler at work. A handler that ignores its cancellation is abandoned after a while. */
class HandlerRun {
  readonly signal: AbortSignal
  readonly #agentId: string
  readonly #clock: Clock
  /** The last status that the handler yielded. */
  last: AgentInstanceLatestStatus | undefined
  failure: { readonly error: unknown } | undefined
  isAbandoned = false
  /** The handler passed a prompt to the engine, which logs it in place of the message. */
  hasPrompted = false
  /** How many steps of the engine the handler is waiting for. */
  #executing = 0
  /** The last message of the engine, which is in the log. */
  #engineMessage: AgentInstanceMessage | undefined

  constructor(options: { readonly agentId: string; readonly clock: Clock; readonly signal: AbortSignal }) {
    this.#agentId = options.agentId
    this.#clock = options.clock
    this.signal = options.signal
  }

  get isCancelled(): boolean {
    return this.signal.aborted
  }

  /** Follows the handler to its end, and keeps its last status or its failure. */
  async complete(start: () => AsyncIterable<AgentInstanceLatestStatus>): Promise<void> {
    try {
      this.last = await this.#follow(start())
    } catch (error) {
      this.failure = { error }
    }
  }

  async #follow(statuses: AsyncIterable<AgentInstanceLatestStatus>): Promise<AgentInstanceLatestStatus | undefined> {
    if (!isIterable(statuses)) {
      Promise.resolve(statuses).catch(() => {}) // a rejection that nothing else handles
      throw new TypeError(notAGenerator(this.#agentId, statuses))
    }
    let cancelTimer = (): void => {}
    let abandon = (): void => {}
    const abandoned = new Promise<undefined>((resolve) => {
      abandon = () => {
        this.isAbandoned = true
        resolve(undefined)
      }
    })
    const wait = (): void => {
      cancelTimer = this.#clock.timer(handlerGraceMs, () => (this.#executing > 0 ? wait() : abandon()))
    }
    if (this.signal.aborted) wait()
    else this.signal.addEventListener('abort', wait, { once: true })
    try {
      const last = this.#lastOf(statuses)
      last.catch(() => {}) // it may reject long after it was abandoned
      return await Promise.race([last, abandoned])
    } finally {
      this.signal.removeEventListener('abort', wait)
      cancelTimer()
    }
  }

  async #lastOf(statuses: AsyncIterable<AgentInstanceLatestStatus>): Promise<AgentInstanceLatestStatus | undefined> {
    let last: AgentInstanceLatestStatus | undefined
    for await (const status of statuses) {
      if (!isAgentState(status?.state)) throw new TypeError(wrongState(this.#agentId, status?.state))
      last = status
      if (this.isAbandoned) break
    }
    return last
  }

  /** Passes on the states of the engine, and keeps the handler from being abandoned while it waits for them. */
  async *during(
    statuses: AsyncIterable<AgentInstanceLatestStatus>,
    { hasPrompt }: { readonly hasPrompt: boolean },
  ): AsyncGenerator<AgentInstanceLatestStatus> {
    if (this.isAbandoned)
      throw new Error(`agent ${this.#agentId} was cancelled, and its handler did not end; it cannot go on now`)
    const steps = statuses[Symbol.asyncIterator]()
    try {
      for (let step = await this.#count(steps.next()); !step.done; step = await this.#count(steps.next())) {
        this.#engineMessage = step.value.message
        this.hasPrompted ||= hasPrompt
        yield step.value
      }
    } finally {
      await this.#count(Promise.resolve(steps.return?.()))
    }
  }

  /** Whether a message is the handler's own, and not one that it passes on from the engine. */
  isOwn({ id, content }: AgentInstanceMessage): boolean {
    return this.#engineMessage?.id !== id || this.#engineMessage.content !== content
  }

  /** Counts only while the handler waits for the engine: it may ask for a status and then do something else for ever. */
  async #count<Step>(step: Promise<Step>): Promise<Step> {
    this.#executing++
    try {
      return await step
    } finally {
      this.#executing--
    }
  }
}

/** Handlers in plain JavaScript may return anything. */
function isIterable(given: unknown): boolean {
  if (typeof given !== 'object' || given === null) return false
  return Symbol.asyncIterator in given || Symbol.iterator in given
}

const notAGenerator = (agentId: string, given: unknown): string =>
  `the handler of agent ${agentId} gave ${given instanceof Promise ? 'a promise' : show(given)}; a handler is an async function* that yields { state, modified, message? }, or returns what execute() gives`

const wrongState = (agentId: string, state: unknown): string =>
  `the handler of agent ${agentId} yielded the state ${show(state)}; yield { state, modified, message? } with one of ${agentStates.join(', ')}`

/**
 * The entries that the log lacks when a handler has ended: the message if no run received it, the handler's own message,
 * and its state if that differs from the engine's.
 */
function closingEntries(
  { session, log, dependencies }: LiveAgent,
  input: AgentInput,
  run: HandlerRun,
): { readonly entries: readonly EntryBody[]; readonly unlogged: AgentInput } {
  const { messages } = log.views
  const { transcript } = session.log
  const unlogged = run.hasPrompted || transcript.hasClientKey(input.clientKey ?? '') ? {} : input
  const turns = unlogged.prompt ? [userTurnEntry(unlogged.prompt, dependencies, unlogged)] : []

  const logged = messages.status.state
  const reached = stateOf(run, logged, { isUnlogged: turns.length > 0 }) ?? logged
  const state = reached === 'canceled' && log.isShuttingDown ? 'interrupted' : reached
  const message = reached === 'canceled' ? undefined : messageOf(run, messages.get.bind(messages), dependencies.newId)
  // An answer to the message is part of the conversation, unless calls are open, which a turn would leave behind.
  if (message?.role === 'assistant' && turns.length > 0 && transcript.openCalls.length === 0)
    return { entries: [...turns, answerEntry(message, dependencies.clock), yieldEntry(state)], unlogged }
  const note = message || state !== logged ? [yieldEntry(state, message)] : []
  return { entries: [...turns, ...note], unlogged }
}

/** The state that the handler reached; undefined if the log has it. */
function stateOf(
  { last, failure, isCancelled, isAbandoned }: HandlerRun,
  logged: AgentState,
  { isUnlogged }: { readonly isUnlogged: boolean },
): AgentState | undefined {
  if (isCancelled && (isAbandoned || failure || logged === 'canceled')) return 'canceled'
  if (failure) return 'failed'
  if (last && last.state !== 'working') return last.state
  if (!isUnlogged) return undefined
  return isCancelled ? 'canceled' : 'completed'
}

/** The handler's own message: its error, or the message of its last status if the log does not have that. */
function messageOf(
  run: HandlerRun,
  find: (id: string) => AgentInstanceMessage | undefined,
  newId: () => string,
): HandlerMessage | undefined {
  const { last, failure } = run
  if (failure) {
    const errorDetail = errorDetailOf(failure.error)
    return { id: newId(), role: 'error', content: errorDetail.message, errorDetail }
  }
  const { message } = last ?? {}
  const known = message && find(message.id)
  if (!message || last?.state === 'working' || message === known || (known && !run.isOwn(message))) return undefined
  const { role, content, metadata } = message
  const id = known || typeof message.id !== 'string' ? newId() : message.id // handlers reuse ids, or give none
  if (role !== 'error') return { id, content, role: role === 'assistant' ? role : 'agent' }
  return { id, content, role, errorDetail: metadata?.errorDetail ?? { name: 'Error', message: content } }
}

function answerEntry({ id, content: text }: HandlerMessage, clock: Clock): EntryBody {
  const turn = { id, runId: '', createdAt: clock.now(), role: 'assistant', content: [{ type: 'text', text }] } as const
  return { type: 'turn', turn }
}

export const defaultHandlerId = 'basicPromptConcatHandler'

/** Builds the prompt, calls the model, runs tools, and repeats until a plugin or the model ends it. */
export const basicPromptConcatHandler: AgentHandler = ({ execute, prompt }) => execute({ ...(prompt && { prompt }) })

/** The handler of the instance, else of the definition, else the default. */
export function handlerOf(
  { id, handlerId: own }: Pick<AgentInstance, 'id' | 'handlerId'>,
  { handlerId = defaultHandlerId }: Pick<AgentDefinition, 'handlerId'>,
  registered: Readonly<Record<string, AgentHandler>>,
): AgentHandler {
  const wanted = own ?? handlerId
  const handler = find(wanted, registered)
  if (handler) return handler
  throw new Error(`agent ${id} wants ${unregistered(wanted, registered)}`)
}

/** Throws if a definition names a handler that is not registered. */
export function checkHandlers(
  definitions: Iterable<AgentDefinition>,
  registered: Readonly<Record<string, AgentHandler>>,
): void {
  for (const { id, handlerId = defaultHandlerId } of definitions)
    if (!find(handlerId, registered))
      throw new TypeError(`definition "${id}" wants ${unregistered(handlerId, registered)}`)
}

function find(id: string, registered: Readonly<Record<string, AgentHandler>>): AgentHandler | undefined {
  if (Object.hasOwn(registered, id)) return registered[id]
  return id === defaultHandlerId ? basicPromptConcatHandler : undefined
}

function unregistered(wanted: string, registered: object): string {
  const meant = didYouMean(wanted, [...Object.keys(registered), defaultHandlerId])
  return `the handler "${wanted}", which is not registered with createWorkflow({ handlers })${meant}`
}
