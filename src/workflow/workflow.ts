import type { MessageOptions } from '../core/agent.ts'
import { show } from '../core/behavior.ts'
import { createIds, systemClock } from '../core/clock.ts'
import { readMeta } from '../core/meta.ts'
import { didYouMean } from '../core/nearest.ts'
import type { PromptPart } from '../core/turn.ts'
import { createProcessContext } from '../execution/process.ts'
import { checkFile, contentOf } from '../plugins/attachments.ts'
import { builtInPlugins } from '../plugins/built-in-plugins.ts'
import type { AgentInstanceLatestStatus, UserContent } from '../plugins/message.ts'
import { definePlugin } from '../plugins/plugin.ts'
import type { PromptState } from '../plugins/prompts/prompt.ts'
import { attachedPages } from '../plugins/wiki/tools/attached-pages.ts'
import { createVectorIndexes } from '../plugins/wiki/vector-search.ts'
import { createMemoryStore } from '../sessions/memory-store.ts'
import { settle } from './agent/settle.ts'
import { BackgroundWork } from './background-work.ts'
import { checkNewAgent, checkWorkflowOptions } from './check-options.ts'
import { readDefinitions } from './definitions/check-definition.ts'
import type { AgentDefinition, AgentInstance } from './definitions/definition.ts'
import { Directory } from './directory.ts'
import { checkParts } from './engine/make-engine.ts'
import type { WorkflowDependencies } from './engine/workflow-dependencies.ts'
import { checkHandlers, handlerOf } from './handlers/handler.ts'
import { takenWords } from './instance-note.ts'
import { newInstance } from './new-instance.ts'
import { OpenAgents } from './open-agents.ts'
import { reportSafely } from './report-safely.ts'
import { FileHistory } from './rollback/file-history.ts'
import { agentSchedules } from './schedules/agent-schedules.ts'
import { followDefinitions, giveHeartbeat } from './schedules/heartbeats.ts'
import { createScheduleBook } from './schedules/schedule-book.ts'
import { createScheduler, type Scheduler } from './schedules/scheduler.ts'
import { checkSettings } from './settings.ts'
import { Updates } from './updates.ts'
import type { NewAgent, Workflow, WorkflowOptions } from './workflow-contract.ts'

export type { NewAgent, Workflow, WorkflowOptions } from './workflow-contract.ts'

/** Puts a workflow together. Nothing is read or started before it is needed. */
export function createWorkflow(options: WorkflowOptions): Workflow {
  checkWorkflowOptions(options)
  const { store = createMemoryStore(), clock = systemClock, newId = createIds(), knowledge, embed } = options
  const { execution, snapshots, handlers = {} } = options
  const onError = reportSafely(options.onError)
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
  const makings: WorkflowDependencies = {
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
  const agents = new OpenAgents({ makings, directory, schedules, updates, handlers, files })
  const background = new BackgroundWork({ agents, clock, onError })
  let scheduler: Scheduler | undefined
  let closing: Promise<void> | undefined

  function definitionOf(id: string): AgentDefinition {
    const definition = definitions.get(id)
    if (!definition) throw new Error(lostDefinitionWords(id, [...definitions.keys()]))
    return definition
  }

  async function create(definitionId: string, given: NewAgent = {}): Promise<AgentInstance> {
    agents.refuseWhenShut()
    checkNewAgent(given)
    const definition = definitionOf(definitionId)
    const instance = newInstance(definitionId, given, makings)
    handlerOf(instance, definition, handlers) // throws where there is none
    if (given.id !== undefined && (await agents.find(given.id))) throw new Error(takenWords(given.id))
    await checkParts(makings, instance)
    await agents.add(instance)
    await giveHeartbeat(schedules, instance, definition.heartbeat)
    return instance
  }

  async function send(
    agentId: string,
    given: string | UserContent,
    { clientKey = newId(), meta: about }: MessageOptions = {},
  ): Promise<AgentInstanceLatestStatus> {
    const content = readContent('sendMsgToAgent', given)
    const meta = readMeta(about, 'the meta of sendMsgToAgent')
    const agent = await agents.openForWork(agentId)
    const status = await settle(agent, await agent.say(await withPages(content), { clientKey, meta }))
    background.lookAgain(agent, status)
    return status
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
    return contentOf(content, await attachedPages(knowledge, wikiTiddlers))
  }

  async function* prompts(agentId: string, given?: string | UserContent): AsyncGenerator<PromptState> {
    const content = given === undefined ? undefined : readContent('concatPrompt', given)
    const agent = await agents.openForWork(agentId)
    yield* agent.prompt(content && (await withPages(content)))
  }

  async function shutDown(): Promise<void> {
    agents.shut()
    background.stop()
    await scheduler?.stop()
    await agents.leaveAll()
    await files?.close()
    await knowledge?.close?.()
  }

  return {
    createAgent: create,
    sendMsgToAgent: send,
    getAgent: (agentId) => agents.find(agentId),
    listAgents: (wanted) => agents.list(wanted),
    getStatus: async (agentId) => (await agents.read(agentId)).status,
    getMessages: async (agentId) => (await agents.read(agentId)).messages,
    concatPrompt: prompts,
    getTokens: (agentId) => agents.tokens(agentId),
    async pending(agentId) {
      const ids = agentId === undefined ? (await agents.list()).map(({ id }) => id) : [agentId]
      const all = await Promise.all(
        ids.map(async (id) => {
          const { waiting } = await agents.open(id)
          return (await waiting.list()).map((call) => ({ ...call, agentId: id }))
        }),
      )
      return all.flat()
    },
    async resolveApproval(agentId, approvalId, decision, { by = 'user', note } = {}) {
      const agent = await agents.openForWork(agentId)
      return settle(agent, await agent.decide(approvalId, { decision, by, ...(note !== undefined && { note }) }))
    },
    async answerQuestion(agentId, questionId, answer) {
      const agent = await agents.openForWork(agentId)
      return settle(agent, await agent.answer(questionId, answer))
    },
    rewind: async (agentId, messageId) => (await agents.openForWork(agentId)).back.rewind(messageId),
    rollback: async (agentId, messageId, { force = false } = {}) =>
      (await agents.open(agentId)).back.rollback(messageId, { force }),
    undoRollback: async (agentId, messageId, { force = false } = {}) =>
      (await agents.open(agentId)).back.undoRollback(messageId, { force }),
    planRollback: async (agentId, messageId) => (await agents.open(agentId)).back.planRollback(messageId),
    cancelAgent: async (agentId) => (await agents.open(agentId)).cancel(),
    closeAgent: (agentId) => agents.close(agentId),
    deleteAgent: (agentId) => agents.delete(agentId),
    follow: async (agentId, listener) => (await agents.open(agentId)).follow(listener),
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
      for (const agent of await agents.loaded()) await agent.retune()
    },
    registerToolDefinition: (plugin) => void plugins.set(plugin.toolId, definePlugin(plugin)),
    async start() {
      agents.refuseWhenShut()
      await background.pickUpAll()
      if (agents.isShut) return
      await followDefinitions(await agents.list(), { schedules, definitions, onError })
      if (agents.isShut) return
      const failed = (error: unknown, { scheduleId }: { readonly scheduleId?: string } = {}): void => {
        const which = scheduleId === undefined ? 'a schedule' : `schedule "${scheduleId}"`
        onError(new Error(`${which} failed`, { cause: error }))
      }
      const onTakeOver = (): void => void background.pickUpAll().catch((error) => failed(error))
      scheduler ??= createScheduler({ store, wake: background.wake, clock, onError: failed, onTakeOver })
      await scheduler.start()
    },
    close() {
      closing ??= shutDown()
      return closing
    },
  }
}

function lostDefinitionWords(id: string, known: readonly string[]): string {
  const meant = didYouMean(id, known)
  return `there is no definition "${id}"${meant === '' ? '; pass it' : `${meant} Else pass it`} to createWorkflow({ definitions })`
}
