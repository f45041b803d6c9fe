import type { AuthorityOptions } from '../authority/authority.ts'
import { show } from '../core/behavior.ts'
import { type Clock, createIds, systemClock } from '../core/clock.ts'
import type { ExecutionContext } from '../core/execution.ts'
import { didYouMean } from '../core/nearest.ts'
import type { Provider } from '../core/provider.ts'
import type { SessionStore } from '../core/store.ts'
import { createProcessContext } from '../execution/process.ts'
import { contentOf } from '../plugins/attachments.ts'
import { builtInPlugins } from '../plugins/built-in-plugins.ts'
import type { AgentInstanceLatestStatus, AgentInstanceMessage, UserContent } from '../plugins/message.ts'
import { definePlugin, type PluginDefinition } from '../plugins/plugin.ts'
import type { ScheduleBook } from '../plugins/schedule.ts'
import type { TokenBreakdown } from '../plugins/tokens/token-breakdown.ts'
import type { KnowledgeStore } from '../plugins/wiki/knowledge-store.ts'
import { attachedPages } from '../plugins/wiki/tools/attach-tiddlers.ts'
import { createVectorIndexes, type Embed } from '../plugins/wiki/vector-search.ts'
import { createMemoryStore } from '../sessions/memory-store.ts'
import { createSession, loadSession } from '../sessions/session.ts'
import { type AgentMakings, checkParts, type WorkflowSettings } from './agent-parts.ts'
import { checkConfig, checkDefinition } from './check-definition.ts'
import type { AgentConfig, AgentDefinition, AgentInstance } from './definition.ts'
import { agentPrefix, Directory } from './directory.ts'
import { FileHistory } from './file-history.ts'
import type { AgentHandler } from './handler.ts'
import { instanceEntry, noteOf } from './instance-note.ts'
import { LiveAgent, type Waiting } from './live-agent.ts'
import type { RollbackPlan, RollbackResult } from './rollback/file-snapshots.ts'
import type { Wake } from './schedules/owner-shift.ts'
import { createScheduleBook } from './schedules/schedule-book.ts'
import { createScheduler, type Scheduler } from './schedules/scheduler.ts'
import { type UpdateListener, Updates } from './updates.ts'

export interface WorkflowOptions {
  /** The model of all agents, or of each by its definition. */
  readonly provider: Provider | ((definition: AgentDefinition) => Provider)
  readonly definitions: readonly AgentDefinition[]
  /** Where agents and schedules are kept. Default: in memory, and gone with the process. */
  readonly store?: SessionStore
  /** Beside the built-in ones; one with the id of a built-in takes its place. */
  readonly plugins?: readonly PluginDefinition[]
  readonly handlers?: Readonly<Record<string, AgentHandler>>
  /** The wikis that agents work in. */
  readonly knowledge?: KnowledgeStore
  /** Turns texts into vectors, for `wiki-search` by meaning. */
  readonly embed?: Embed
  readonly execution?: ExecutionContext
  /** Who may do what, beside the rules of definitions and settings. Default mode: `yolo`. */
  readonly authority?: AuthorityOptions
  readonly settings?: WorkflowSettings
  /** Keeps what files were before each message, for `rollback`: those of a folder, by default where tools run. */
  readonly snapshots?: { readonly folder?: string }
  /** How long the calls of one answer may work together. Default 120,000; 0 means no limit. */
  readonly batchTimeoutMs?: number
  readonly clock?: Clock
  readonly newId?: () => string
  /** Plugins, listeners and schedules that failed. Default: the console. */
  readonly onError?: (error: Error) => void
}

export interface NewAgent {
  /** Must begin with `agent-`. Default: a new one. */
  readonly id?: string
  readonly name?: string
  readonly handlerId?: string
  /** Changes the definition's. */
  readonly config?: AgentConfig
  /** Ends with the process, and is never woken. */
  readonly volatile?: boolean
}

/** Agents made of plugins: made, spoken to, woken, cancelled, closed. All that they are is in the store. */
export interface Workflow {
  createAgent(definitionId: string, options?: NewAgent): Promise<AgentInstance>
  /** Resolves when the agent has come to an end: done, waiting for a person, cancelled or failed. */
  sendMsgToAgent(
    agentId: string,
    content: string | UserContent,
    options?: { clientKey?: string },
  ): Promise<AgentInstanceLatestStatus>
  getAgent(agentId: string): Promise<AgentInstance | undefined>
  /** Open ones that people made; sub-agents and closed ones only if asked for. */
  listAgents(options?: { readonly subAgents?: boolean; readonly closed?: boolean }): Promise<readonly AgentInstance[]>
  getStatus(agentId: string): Promise<AgentInstanceLatestStatus>
  getMessages(agentId: string): Promise<readonly AgentInstanceMessage[]>
  /** What the tokens of its last request went to; `undefined` before the first one in this process. */
  getTokens(agentId: string): Promise<TokenBreakdown | undefined>
  /** Permissions and questions that wait for a person, of one agent or of all. */
  pending(agentId?: string): Promise<readonly (Waiting & { readonly agentId: string })[]>
  /** The name of the approval is that of the call. Resolves when the agent has come to its next end. */
  resolveApproval(
    agentId: string,
    approvalId: string,
    decision: 'allow' | 'deny',
    options?: { by?: string; note?: string },
  ): Promise<AgentInstanceLatestStatus>
  answerQuestion(agentId: string, questionId: string, answer: string): Promise<AgentInstanceLatestStatus>
  /**
   * Puts files back to what they were before a message, where `snapshots` are kept. What somebody changed since is kept
   * and reported; with `force` it goes back too.
   */
  rollback(agentId: string, messageId: string, options?: { force?: boolean }): Promise<RollbackResult>
  /** What `rollback` would do. */
  planRollback(agentId: string, messageId: string): Promise<RollbackPlan>
  /** Stops what it does, and denies what it waits for. */
  cancelAgent(agentId: string): Promise<void>
  /** The same for good: it is not woken and cannot be spoken to any more. What it said stays. */
  closeAgent(agentId: string): Promise<void>
  deleteAgent(agentId: string): Promise<void>
  /** Of one agent, or of all. */
  subscribe(agentId: string | undefined, listener: UpdateListener): () => void
  readonly schedules: ScheduleBook
  readonly definitions: readonly AgentDefinition[]
  readonly settings: WorkflowSettings
  /** Holds from the next call and the next request on, in runs under way too. */
  updateSettings(settings: WorkflowSettings): Promise<void>
  registerToolDefinition(plugin: PluginDefinition): void
  /** Goes on with what was interrupted, and wakes agents by their schedules for as long as no other process does. */
  start(): Promise<void>
  /** Stops all agents and lets go of everything. They go on where they stand with the next start. */
  close(): Promise<void>
}

/** Puts a workflow together. Nothing is read or started before it is needed. */
export function createWorkflow(options: WorkflowOptions): Workflow {
  const { store = createMemoryStore(), clock = systemClock, newId = createIds(), knowledge, embed } = options
  const onError = options.onError ?? ((error: Error) => console.error('libero:', error.message, error.cause ?? ''))
  const definitions = readDefinitions(options)
  const plugins = new Map(builtInPlugins.map((plugin) => [plugin.toolId, plugin]))
  for (const plugin of options.plugins ?? []) plugins.set(plugin.toolId, definePlugin(plugin))
  let settings = options.settings ?? {}

  const directory = new Directory(store)
  const updates = new Updates(onError)
  const schedules = createScheduleBook({ store, clock, newId })
  const live = new Map<string, Promise<LiveAgent>>()
  const volatiles = createMemoryStore()
  const vectors = createVectorIndexes()
  const files = options.snapshots && fileHistory(options, options.snapshots, clock)
  let scheduler: Scheduler | undefined
  let isClosed = false

  const makings: AgentMakings = {
    providerOf: (definition) =>
      typeof options.provider === 'function' ? options.provider(definition) : options.provider,
    plugins,
    definition: definitionOf,
    definitionIds: () => [...definitions.keys()],
    settings: () => settings,
    services: (agentId) => ({
      agentId,
      clock,
      schedules,
      vectors,
      ...(knowledge && { knowledge }),
      ...(embed && { embed }),
    }),
    authority: options.authority ?? {},
    execution: options.execution,
    batchTimeoutMs: options.batchTimeoutMs,
    clock,
    newId,
    onError,
    store,
    entries: (id, after) => directory.entries(id, after),
  }

  function definitionOf(id: string): AgentDefinition {
    const definition = definitions.get(id)
    if (!definition) throw new Error(`there is no definition "${id}"${didYouMean(id, [...definitions.keys()])}`)
    return definition
  }

  async function create(definitionId: string, given: NewAgent = {}): Promise<AgentInstance> {
    const { id = `${agentPrefix}${newId()}`, name, handlerId, config, volatile } = given
    const { heartbeat } = definitionOf(definitionId)
    if (typeof id !== 'string' || !/^agent-[\w.-]{1,100}$/.test(id))
      throw new TypeError(
        `an agent's id must be "agent-" and up to 100 letters, digits, "-", "_" or ".", got ${show(id)}`,
      )
    if (config !== undefined) checkConfig(config, 'config')
    const now = clock.now()
    const instance: AgentInstance = {
      ...{ id, definitionId, created: now, modified: now, isSubAgent: false, closed: false },
      ...(name !== undefined && { name }),
      ...(handlerId !== undefined && { handlerId }),
      ...(config !== undefined && { config }),
      ...(volatile && { volatile }),
    }
    checkParts(makings, instance)
    const session = await createSession({ store: volatile ? volatiles : store, id, clock, newId, owner: 'workflow' })
    const agent = new LiveAgent(liveOptions(instance, session))
    await agent.note(instanceEntry(noteOf(instance)))
    live.set(id, Promise.resolve(agent))
    updates.emit({ type: 'agent', agentId: id, agent: instance })
    if (heartbeat && heartbeat.enabled !== false && !volatile) await beat(id, heartbeat)
    return instance
  }

  async function beat(
    agentId: string,
    { intervalSeconds, message, activeHours }: NonNullable<AgentDefinition['heartbeat']>,
  ): Promise<void> {
    await schedules.add({
      id: `heartbeat:${agentId}`,
      ...{ agentId, message, kind: 'heartbeat' },
      when: { type: 'interval', everySeconds: intervalSeconds },
      ...(activeHours && { activeHours }),
    })
  }

  function liveOptions(
    instance: AgentInstance,
    session: LiveAgent['session'],
  ): ConstructorParameters<typeof LiveAgent>[0] {
    return { instance, session, makings, updates, handlers: options.handlers ?? {}, files }
  }

  /** The agent in this process; throws where there is none, or where it cannot be spoken to. */
  function open(agentId: string): Promise<LiveAgent> {
    if (isClosed) throw new Error('this workflow is closed; create another one')
    const loading = live.get(agentId) ?? load(agentId)
    live.set(agentId, loading)
    loading.catch(() => live.delete(agentId))
    return loading
  }

  async function load(agentId: string): Promise<LiveAgent> {
    const instance = await directory.get(agentId)
    if (!instance) throw new Error(`there is no agent "${agentId}"; listAgents() names those there are`)
    if (instance.isSubAgent)
      throw new Error(`"${agentId}" is a sub-agent of "${instance.parentAgentId}"; speak to that one`)
    const session = await loadSession(store, agentId, { clock, newId, owner: 'workflow' })
    const agent = new LiveAgent(liveOptions(instance, session))
    await agent.refresh()
    return agent
  }

  async function openForWork(agentId: string): Promise<LiveAgent> {
    const agent = await open(agentId)
    if (agent.instance.closed) throw new Error(`agent "${agentId}" is closed; create another one`)
    return agent
  }

  async function send(
    agentId: string,
    given: string | UserContent,
    { clientKey = newId() } = {},
  ): Promise<AgentInstanceLatestStatus> {
    const content: UserContent = typeof given === 'string' ? { text: given } : given
    if (typeof content?.text !== 'string')
      throw new TypeError(`sendMsgToAgent takes a text or { text, file?, wikiTiddlers? }, got ${show(given)}`)
    const agent = await openForWork(agentId)
    const { wikiTiddlers = [] } = content
    const pages = await attachedPages(knowledge, wikiTiddlers)
    return settle(agent, await agent.say(contentOf(content, pages), clientKey))
  }

  /** What came in while a run was ending is not left lying. */
  async function settle(agent: LiveAgent, status: AgentInstanceLatestStatus): Promise<AgentInstanceLatestStatus> {
    let latest = status
    while (!isClosed && !agent.isRunning && isAtRest(latest) && agent.hasWork) latest = await agent.advance()
    return latest
  }

  const wake: Wake = async ({ agentId, clientKey, message }) => {
    const agent = await openForWork(agentId).catch(async (error) => {
      const known = await directory.get(agentId)
      if (known && !known.closed) throw error
    })
    if (!agent) return 'closed'
    await agent.session.send({ clientKey, mode: 'prompt', content: [{ type: 'text', text: message }] })
    void goOn(agent)
    return undefined
  }

  /** In the background: whoever wakes an agent does not wait for it. */
  async function goOn(agent: LiveAgent): Promise<void> {
    try {
      await settle(agent, await agent.advance())
    } catch (error) {
      onError(new Error(`agent ${agent.id} could not go on`, { cause: error }))
    }
  }

  async function close(agentId: string): Promise<void> {
    const agent = await open(agentId)
    if (agent.instance.closed) return
    await agent.cancel()
    await agent.rest()
    const closed = { ...agent.instance, closed: true }
    await agent.note(instanceEntry(noteOf(closed)))
    agent.instance = closed
    for (const { id } of await schedules.list(agentId)) await schedules.remove(id)
    updates.emit({ type: 'agent', agentId, agent: closed })
  }

  async function list({ subAgents = false, closed = false } = {}): Promise<readonly AgentInstance[]> {
    const kept = await directory.list()
    const loaded = await Promise.allSettled(live.values())
    const instances = loaded.flatMap((one) => (one.status === 'fulfilled' ? [one.value.instance] : []))
    const passing = instances.filter((one) => one.volatile)
    return [...kept, ...passing].filter((one) => (subAgents || !one.isSubAgent) && (closed || !one.closed))
  }

  return {
    createAgent: create,
    sendMsgToAgent: send,
    getAgent: async (agentId) => (await live.get(agentId)?.catch(() => undefined))?.instance ?? directory.get(agentId),
    listAgents: list,
    async getStatus(agentId) {
      const agent = await open(agentId)
      await agent.refresh()
      return agent.status
    },
    async getMessages(agentId) {
      const agent = await open(agentId)
      await agent.refresh()
      return agent.views.messages.messages
    },
    getTokens: async (agentId) => (await open(agentId)).tokens,
    async pending(agentId) {
      const ids = agentId === undefined ? (await list()).map(({ id }) => id) : [agentId]
      const all = await Promise.all(
        ids.map(async (id) => (await (await open(id)).pending()).map((call) => ({ ...call, agentId: id }))),
      )
      return all.flat()
    },
    async resolveApproval(agentId, approvalId, decision, { by = 'user', note } = {}) {
      const agent = await openForWork(agentId)
      return settle(agent, await agent.decide(approvalId, { decision, by, ...(note !== undefined && { note }) }))
    },
    async answerQuestion(agentId, questionId, answer) {
      const agent = await openForWork(agentId)
      return settle(agent, await agent.answer(questionId, answer))
    },
    rollback: async (agentId, messageId, { force = false } = {}) =>
      (await open(agentId)).rollback(messageId, { force }) as Promise<RollbackResult>,
    planRollback: async (agentId, messageId) =>
      (await open(agentId)).rollback(messageId, { dryRun: true }) as Promise<RollbackPlan>,
    cancelAgent: async (agentId) => (await open(agentId)).cancel(),
    closeAgent: close,
    async deleteAgent(agentId) {
      await close(agentId)
      live.delete(agentId)
      directory.forget(agentId)
      await store.delete(agentId)
    },
    subscribe: (agentId, listener) => updates.subscribe(agentId, listener),
    schedules,
    get definitions() {
      return [...definitions.values()]
    },
    get settings() {
      return settings
    },
    async updateSettings(changed) {
      const before = settings
      settings = { ...settings, ...changed }
      try {
        for (const agent of live.values()) await (await agent).retune()
      } catch (error) {
        settings = before
        for (const agent of live.values()) await (await agent).retune()
        throw error
      }
    },
    registerToolDefinition: (plugin) => void plugins.set(plugin.toolId, definePlugin(plugin)),
    async start() {
      for (const { id } of await directory.list().then((all) => all.filter((one) => !one.isSubAgent && !one.closed))) {
        const agent = await open(id)
        await agent.lookAround()
        if (agent.hasWork) void goOn(agent)
      }
      scheduler ??= createScheduler({
        store,
        wake,
        clock,
        onError: (error) => onError(new Error('a schedule failed', { cause: error })),
      })
      await scheduler.start()
    },
    async close() {
      isClosed = true
      await scheduler?.stop()
      for (const loading of live.values()) await (await loading.catch(() => undefined))?.leave()
      await files?.close()
      await knowledge?.close?.()
    },
  }
}

function fileHistory({ execution }: WorkflowOptions, kept: { readonly folder?: string }, clock: Clock): FileHistory {
  return new FileHistory({ execution: execution ?? createProcessContext(), clock, ...kept })
}

const isAtRest = ({ state }: AgentInstanceLatestStatus): boolean =>
  state === 'completed' || state === 'input-required' || state === 'submitted'

function readDefinitions({ definitions, provider }: WorkflowOptions): Map<string, AgentDefinition> {
  if (typeof provider !== 'function' && typeof provider?.stream !== 'function')
    throw new TypeError(
      `createWorkflow needs a provider, or a function of a definition that gives one, got ${show(provider)}`,
    )
  if (!Array.isArray(definitions))
    throw new TypeError(`createWorkflow needs a list of definitions, got ${show(definitions)}`)
  const read = new Map<string, AgentDefinition>()
  for (const [i, definition] of definitions.entries()) {
    checkDefinition(definition, `definitions[${i}]`)
    if (read.has(definition.id)) throw new TypeError(`definitions[${i}]: there are two definitions "${definition.id}"`)
    read.set(definition.id, definition)
  }
  return read
}
