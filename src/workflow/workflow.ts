import type { MessageOptions } from '../core/agent.ts'
import { show } from '../core/behavior.ts'
import { createIds, systemClock } from '../core/clock.ts'
import { isRecord } from '../core/is-record.ts'
import { type Meta, parseMeta } from '../core/meta.ts'
import { didYouMean } from '../core/nearest.ts'
import { parsePrompt } from '../core/run-options.ts'
import type { PromptPart } from '../core/turn.ts'
import { createProcessContext } from '../execution/process.ts'
import { readAttachedTiddlers } from '../plugins/attached-pages.ts'
import { messageContent } from '../plugins/attachments.ts'
import { builtInPlugins } from '../plugins/built-in-plugins.ts'
import type { AgentInstanceLatestStatus, UserContent } from '../plugins/message.ts'
import { definePlugin } from '../plugins/plugin.ts'
import type { PromptState } from '../plugins/prompts/prompt.ts'
import { createVectorIndexes } from '../plugins/wiki/vector-search.ts'
import { createMemoryStore } from '../sessions/memory-store.ts'
import { FileHistory } from '../snapshots/file-history.ts'
import { cancelAgent } from './agent/cancel-agent.ts'
import { agentSettings, checkAgent } from './agent/engine.ts'
import { checkHandlers, handlerOf } from './agent/handler-run.ts'
import type { LiveAgent } from './agent/live-agent.ts'
import {
  agentLease,
  closedMessage,
  newInstance,
  subAgentMessage,
  takenIdMessage,
  unknownAgentMessage,
} from './agent-instance.ts'
import { BackgroundWork } from './background-work.ts'
import { ChangesElsewhere } from './changes-elsewhere.ts'
import { checkNewAgent, checkSettings, checkWorkflowOptions } from './check-options.ts'
import { readDefinitions } from './definitions/check-definition.ts'
import type { AgentDefinition, AgentInstance, AgentSummary } from './definitions/definition.ts'
import { Directory } from './directory.ts'
import { Updates } from './listeners.ts'
import { OpenAgents } from './open-agents.ts'
import { addHeartbeat, agentSchedules, syncHeartbeats } from './schedules/agent-schedules.ts'
import { createScheduleBook } from './schedules/schedule-book.ts'
import { createScheduler, type Scheduler } from './schedules/scheduler.ts'
import type { NewAgent, Workflow, WorkflowDependencies, WorkflowOptions } from './workflow-contract.ts'

export type { NewAgent, Workflow, WorkflowOptions } from './workflow-contract.ts'

/** Many processes share the work: another one takes over the schedules of a dead one as soon as its agents. */
const sharedOwnership = { leaseMs: agentLease.leaseMs, pollMs: 5000 }

/** How many idle agents stay in memory. */
const defaultMaxIdle = 100

/** Creates a workflow. Reads and starts nothing before it is needed. */
export function createWorkflow(options: WorkflowOptions): Workflow {
  checkWorkflowOptions(options)
  const { store = createMemoryStore(), clock = systemClock, newId = createIds(), knowledge, embed } = options
  const { execution, snapshots, handlers = {}, work = 'here' } = options
  const onError = safeReporter(options.onError)
  const definitions = readDefinitions(options.definitions)
  checkHandlers(definitions.values(), handlers)
  const plugins = new Map(builtInPlugins.map((plugin) => [plugin.toolId, plugin]))
  for (const plugin of options.plugins ?? []) plugins.set(plugin.toolId, definePlugin(plugin))
  let settings = options.settings ?? {}

  const directory = new Directory(store)
  const updates = new Updates(onError)
  const schedules = createScheduleBook({ store, clock, newId })
  const vectors = createVectorIndexes()
  const files = snapshots && new FileHistory({ execution: execution ?? createProcessContext(), clock, ...snapshots })
  const dependencies: WorkflowDependencies = {
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
    options,
    execution,
    batchTimeoutMs: options.batchTimeoutMs,
    clock,
    newId,
    onError,
    store,
    entries: (id, after) => directory.entries(id, after),
  }
  const { maxIdleAgents: maxIdle = defaultMaxIdle } = options
  const agents = new OpenAgents({ dependencies, directory, schedules, updates, handlers, files, maxIdle })
  const leave = work === 'elsewhere' ? leaveWork : undefined
  const background = new BackgroundWork({ agents, directory, clock, onError, leave })
  const elsewhere = new ChangesElsewhere({ store, clock, agents, directory, updates, onError })
  let scheduler: Scheduler | undefined
  let closing: Promise<void> | undefined

  function definitionOf(id: string): AgentDefinition {
    const definition = definitions.get(id)
    if (!definition) throw new Error(unknownDefinition(id, [...definitions.keys()]))
    return definition
  }

  async function create(definitionId: string, given: NewAgent = {}): Promise<AgentInstance> {
    agents.checkOpen()
    checkNewAgent(given)
    if (given.volatile && leave)
      throw new TypeError("a volatile agent ends with its process, so it cannot be left to others by work: 'elsewhere'")
    const definition = definitionOf(definitionId)
    const instance = newInstance(definitionId, given, dependencies)
    handlerOf(instance, definition, handlers) // throws if it is not registered
    if (given.id !== undefined && (await agents.find(given.id))) throw new Error(takenIdMessage(given.id))
    await checkAgent(dependencies, instance)
    await agents.add(instance, given.tenant === undefined ? {} : { tenant: given.tenant })
    await addHeartbeat(schedules, instance, definition.heartbeat)
    return instance
  }

  async function send(
    agentId: string,
    given: string | UserContent,
    { clientKey = newId(), meta }: MessageOptions = {},
  ): Promise<AgentInstanceLatestStatus> {
    const content = readContent('sendMsgToAgent', given)
    const labels = { clientKey, meta: parseMeta(meta, 'the meta of sendMsgToAgent') }
    if (leave) return record(agentId, content, labels)
    return agents.useForWork(agentId, async (agent) => {
      const status = await agent.send(await withPages(content), labels)
      background.checkLater(agent, status)
      return status
    })
  }

  /** Stores a message for the process that works on the agent. Reads no log. */
  async function record(
    agentId: string,
    content: UserContent,
    { clientKey, meta }: { readonly clientKey: string; readonly meta: Meta | undefined },
  ): Promise<AgentInstanceLatestStatus> {
    agents.checkOpen()
    const agent = await directory.find(agentId)
    if (!agent) throw new Error(unknownAgentMessage(agentId))
    if (agent.isSubAgent) throw new Error(subAgentMessage(agentId, agent.parentAgentId))
    if (agent.closed) throw new Error(closedMessage(agentId))
    const prompt = parsePrompt(await withPages(content)) as readonly PromptPart[]
    await store.send(agentId, { mode: 'steer', content: prompt, clientKey, ...(meta && { meta }) })
    return leaveWork(agentId, agent)
  }

  /** Something was recorded for an agent: wakes a process that works on it. If that fails, one finds it by itself. */
  async function leaveWork(agentId: string, known?: AgentSummary): Promise<AgentInstanceLatestStatus> {
    try {
      const agent = known ?? (await directory.find(agentId))
      await options.onWork?.(agentId, agent?.tenant)
    } catch (cause) {
      onError(new Error(`onWork failed for agent ${agentId}; what was recorded waits in the store`, { cause }))
    }
    return { state: 'submitted', modified: clock.now() }
  }

  /** Continues after an answer, here or elsewhere. */
  const goOn = (agent: LiveAgent): Promise<AgentInstanceLatestStatus> => (leave ? leave(agent.id) : agent.resume())

  function readContent(method: string, given: string | UserContent): UserContent {
    const content: UserContent = typeof given === 'string' ? { text: given } : given
    if (typeof content?.text !== 'string')
      throw new TypeError(`${method} takes a text or { text, file?, wikiTiddlers? }, got ${show(given)}`)
    if (content.file !== undefined) checkFile(content.file, method)
    return content
  }

  async function withPages(content: UserContent): Promise<readonly PromptPart[]> {
    const { wikiTiddlers = [] } = content
    return messageContent(content, await readAttachedTiddlers(knowledge, wikiTiddlers))
  }

  async function* prompts(agentId: string, given?: string | UserContent): AsyncGenerator<PromptState> {
    const content = given === undefined ? undefined : readContent('concatPrompt', given)
    // It only reads, so the agent may be unloaded meanwhile.
    const agent = await agents.useForWork(agentId, (one) => one)
    yield* agent.prompt(content && (await withPages(content)))
  }

  /** The calls of one agent that wait for a person. */
  const pendingOf = (agentId: string) =>
    agents.use(agentId, async ({ pending }) => (await pending.list()).map((call) => ({ ...call, agentId })))

  async function pending(agentId?: string): ReturnType<Workflow['pending']> {
    if (agentId !== undefined) return pendingOf(agentId)
    const waiting: string[] = (await agents.loaded()).flatMap(({ id, instance }) => (instance.volatile ? [id] : []))
    // A call may wait while others of its run are at work, or since before its process died.
    for await (const { id } of directory.each({ status: ['waiting', 'working', 'interrupted'] })) waiting.push(id)
    const all: Awaited<ReturnType<typeof pendingOf>>[] = []
    for (const id of waiting) all.push(await pendingOf(id))
    return all.flat()
  }

  /** Also hears what other processes write, until the function that it returns is called. */
  function listen(agentId: string | undefined, stopListening: () => void): () => void {
    const stopWatching = elsewhere.watch(agentId)
    return () => {
      stopListening()
      stopWatching()
    }
  }

  async function shutDown(): Promise<void> {
    agents.refuseNew()
    background.stop()
    elsewhere.close()
    await scheduler?.stop()
    await agents.shutDownAll()
    await files?.close()
    await knowledge?.close?.()
  }

  return {
    createAgent: create,
    sendMsgToAgent: send,
    getAgent: (agentId) => agents.find(agentId),
    getAgentSettings: async (agentId) => agentSettings(dependencies, await agents.use(agentId, (one) => one.instance)),
    updateAgent: (agentId, change) => agents.update(agentId, change),
    listAgents: (wanted) => agents.list(wanted),
    getStatus: async (agentId) => (await agents.read(agentId)).status,
    getMessageIds: async (agentId) => (await agents.read(agentId)).messages.map(({ id }) => id),
    getMessages: async (agentId, range) => {
      const { messages } = await agents.read(agentId)
      return range ? messages.slice(range.from, range.to) : messages
    },
    concatPrompt: prompts,
    getTokens: (agentId) => agents.tokens(agentId),
    pending,
    resolveApproval: (agentId, approvalId, decision, { by = 'user', note, scope, edits } = {}) =>
      agents.useForWork(agentId, async (agent) => {
        await agent.pending.decide(approvalId, {
          ...{ decision, by, ...(note !== undefined && { note }) },
          ...(scope && { scope }),
          ...(edits && { edits }),
        })
        return goOn(agent)
      }),
    answerQuestion: (agentId, questionId, answer) =>
      agents.useForWork(agentId, async (agent) => {
        await agent.pending.answer(questionId, answer) // it becomes the result of the call that asked
        return goOn(agent)
      }),
    rewind: (agentId, messageId) => agents.useForWork(agentId, ({ rollback }) => rollback.rewind(messageId)),
    rollback: (agentId, messageId, { force = false } = {}) =>
      agents.use(agentId, ({ rollback }) => rollback.rollback(messageId, { force })),
    undoRollback: (agentId, messageId, { force = false } = {}) =>
      agents.use(agentId, ({ rollback }) => rollback.undoRollback(messageId, { force })),
    planRollback: (agentId, messageId) => agents.use(agentId, ({ rollback }) => rollback.planRollback(messageId)),
    cancelAgent: (agentId) => agents.use(agentId, cancelAgent),
    closeAgent: (agentId) => agents.close(agentId),
    deleteAgent: (agentId) => agents.delete(agentId),
    follow: async (agentId, listener) =>
      listen(agentId, await agents.use(agentId, ({ events }) => events.follow(listener))),
    subscribe: (agentId, listener) => listen(agentId, updates.subscribe(agentId, listener)),
    work: (agentId) => background.work(agentId),
    schedules: agentSchedules(schedules, (agentId) => agents.find(agentId)),
    get definitions() {
      return [...definitions.values()]
    },
    get settings() {
      return settings
    },
    async updateSettings(changed) {
      await checkSettings(changed)
      settings = { ...settings, ...changed }
      for (const agent of await agents.loaded()) await agent.engine.updateRules(agent.instance)
    },
    registerToolDefinition: (plugin) => void plugins.set(plugin.toolId, definePlugin(plugin)),
    async start() {
      agents.checkOpen()
      if (!leave) await background.start()
      if (agents.isClosed) return
      await syncHeartbeats({ schedules, definitions, directory, onError })
      if (agents.isClosed) return
      const failed = (error: unknown, { scheduleId }: { readonly scheduleId?: string } = {}): void => {
        const which = scheduleId === undefined ? 'a schedule' : `schedule "${scheduleId}"`
        onError(new Error(`${which} failed`, { cause: error }))
      }
      const ownership = leave ? sharedOwnership : {}
      scheduler ??= createScheduler({ store, wake: background.wake, clock, onError: failed, ...ownership })
      await scheduler.start()
    },
    close() {
      closing ??= shutDown()
      return closing
    },
  }
}

function unknownDefinition(id: string, known: readonly string[]): string {
  const meant = didYouMean(id, known)
  return `there is no definition "${id}"${meant === '' ? '; pass it' : `${meant} Else pass it`} to createWorkflow({ definitions })`
}

/** Calls the error handler, or writes to the console if there is none. The error handler may itself throw. */
function safeReporter(report: ((error: Error) => void) | undefined): (error: Error) => void {
  if (!report) return toConsole
  return (error) => {
    try {
      report(error)
    } catch (own) {
      toConsole(error)
      toConsole(new Error('onError itself failed', { cause: own }))
    }
  }
}

const toConsole = (error: Error): void => console.error('libero:', error.message, error.cause ?? '')

/** Throws on a file that no service would accept, before the message is logged. */
function checkFile(file: unknown, where: string): void {
  if (!isRecord(file))
    throw new TypeError(`${where}: a file is { mediaType, data, name? }, data in base64, got ${show(file)}`)
  const { mediaType, data, name } = file
  if (typeof mediaType !== 'string' || !/^[\w.+-]+\/[\w.+-]+$/.test(mediaType))
    throw new TypeError(`${where}: file.mediaType must be a media type such as "image/png", got ${show(mediaType)}`)
  if (typeof data !== 'string' || !isBase64(data))
    throw new TypeError(`${where}: file.data must be base64, without "data:…," before it, got ${show(data)}`)
  if (name !== undefined && typeof name !== 'string')
    throw new TypeError(`${where}: file.name must be a text, got ${show(name)}`)
}

const isBase64 = (data: string): boolean => data !== '' && data.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(data)
