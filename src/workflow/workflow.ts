import type { MessageOptions } from '../core/agent.ts'
import { show } from '../core/behavior.ts'
import { createIds, systemClock } from '../core/clock.ts'
import { parseMeta } from '../core/meta.ts'
import { didYouMean } from '../core/nearest.ts'
import type { PromptPart } from '../core/turn.ts'
import { createProcessContext } from '../execution/process.ts'
import { readAttachedTiddlers } from '../plugins/attached-pages.ts'
import { messageContent } from '../plugins/attachments.ts'
import { builtInPlugins } from '../plugins/built-in-plugins.ts'
import { checkFile } from '../plugins/check-file.ts'
import type { AgentInstanceLatestStatus, UserContent } from '../plugins/message.ts'
import { definePlugin } from '../plugins/plugin.ts'
import type { PromptState } from '../plugins/prompts/prompt.ts'
import { createVectorIndexes } from '../plugins/wiki/vector-search.ts'
import { createMemoryStore } from '../sessions/memory-store.ts'
import { FileHistory } from '../snapshots/file-history.ts'
import { cancelAgent } from './agent/cancel-agent.ts'
import { agentSettings, checkAgent } from './agent/engine.ts'
import { checkHandlers, handlerOf } from './agent/handler-run.ts'
import { newInstance, takenIdMessage } from './agent-instance.ts'
import { BackgroundWork } from './background-work.ts'
import { checkNewAgent, checkSettings, checkWorkflowOptions } from './check-options.ts'
import { readDefinitions } from './definitions/check-definition.ts'
import type { AgentDefinition, AgentInstance } from './definitions/definition.ts'
import { Directory } from './directory.ts'
import { Updates } from './listeners.ts'
import { OpenAgents } from './open-agents.ts'
import { addHeartbeat, agentSchedules, syncHeartbeats } from './schedules/agent-schedules.ts'
import { createScheduleBook } from './schedules/schedule-book.ts'
import { createScheduler, type Scheduler } from './schedules/scheduler.ts'
import type { NewAgent, Workflow, WorkflowDependencies, WorkflowOptions } from './workflow-contract.ts'

export type { NewAgent, Workflow, WorkflowOptions } from './workflow-contract.ts'

/** How many idle agents stay in memory. */
const defaultMaxIdle = 100

/** Creates a workflow. Reads and starts nothing before it is needed. */
export function createWorkflow(options: WorkflowOptions): Workflow {
  checkWorkflowOptions(options)
  const { store = createMemoryStore(), clock = systemClock, newId = createIds(), knowledge, embed } = options
  const { execution, snapshots, handlers = {} } = options
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
  const background = new BackgroundWork({ agents, directory, clock, onError })
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
    return agents.useForWork(agentId, async (agent) => {
      const status = await agent.send(await withPages(content), labels)
      background.checkLater(agent, status)
      return status
    })
  }

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

  async function shutDown(): Promise<void> {
    agents.refuseNew()
    background.stop()
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
      agents.useForWork(agentId, (agent) =>
        agent.decide(approvalId, {
          ...{ decision, by, ...(note !== undefined && { note }) },
          ...(scope && { scope }),
          ...(edits && { edits }),
        }),
      ),
    answerQuestion: (agentId, questionId, answer) =>
      agents.useForWork(agentId, (agent) => agent.answer(questionId, answer)),
    rewind: (agentId, messageId) => agents.useForWork(agentId, ({ rollback }) => rollback.rewind(messageId)),
    rollback: (agentId, messageId, { force = false } = {}) =>
      agents.use(agentId, ({ rollback }) => rollback.rollback(messageId, { force })),
    undoRollback: (agentId, messageId, { force = false } = {}) =>
      agents.use(agentId, ({ rollback }) => rollback.undoRollback(messageId, { force })),
    planRollback: (agentId, messageId) => agents.use(agentId, ({ rollback }) => rollback.planRollback(messageId)),
    cancelAgent: (agentId) => agents.use(agentId, cancelAgent),
    closeAgent: (agentId) => agents.close(agentId),
    deleteAgent: (agentId) => agents.delete(agentId),
    follow: (agentId, listener) => agents.use(agentId, ({ events }) => events.follow(listener)),
    subscribe: (agentId, listener) => updates.subscribe(agentId, listener),
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
      for (const agent of await agents.loaded()) await agent.engine.updateRules()
    },
    registerToolDefinition: (plugin) => void plugins.set(plugin.toolId, definePlugin(plugin)),
    async start() {
      agents.checkOpen()
      await background.start()
      if (agents.isClosed) return
      await syncHeartbeats({ schedules, definitions, directory, onError })
      if (agents.isClosed) return
      const failed = (error: unknown, { scheduleId }: { readonly scheduleId?: string } = {}): void => {
        const which = scheduleId === undefined ? 'a schedule' : `schedule "${scheduleId}"`
        onError(new Error(`${which} failed`, { cause: error }))
      }
      const onTakeOver = (): void => void background.resumeAll().catch((error) => failed(error))
      scheduler ??= createScheduler({ store, wake: background.wake, clock, onError: failed, onTakeOver })
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
