import { show } from '../core/behavior.ts'
import { type Clock, createIds, systemClock } from '../core/clock.ts'
import { didYouMean } from '../core/nearest.ts'
import type { SessionStore } from '../core/store.ts'
import { createProcessContext } from '../execution/process.ts'
import { contentOf } from '../plugins/attachments.ts'
import { builtInPlugins } from '../plugins/built-in-plugins.ts'
import type { AgentInstanceLatestStatus, UserContent } from '../plugins/message.ts'
import { definePlugin } from '../plugins/plugin.ts'
import { attachedPages } from '../plugins/wiki/tools/attached-pages.ts'
import { createVectorIndexes } from '../plugins/wiki/vector-search.ts'
import { createMemoryStore } from '../sessions/memory-store.ts'
import { createSession, loadSession } from '../sessions/session.ts'
import { type AgentMakings, checkParts, checkSettings } from './agent-parts.ts'
import { checkConfig, checkDefinition } from './check-definition.ts'
import type { AgentDefinition, AgentInstance } from './definition.ts'
import { agentPrefix, Directory } from './directory.ts'
import { FileHistory } from './file-history.ts'
import { instanceEntry, noteOf } from './instance-note.ts'
import { LiveAgent } from './live-agent.ts'
import type { RollbackPlan, RollbackResult } from './rollback/file-snapshots.ts'
import type { Wake } from './schedules/owner-shift.ts'
import { createScheduleBook, removeSchedulesOf } from './schedules/schedule-book.ts'
import { createScheduler, type Scheduler } from './schedules/scheduler.ts'
import { Updates } from './updates.ts'
import type { NewAgent, Workflow, WorkflowOptions } from './workflow-contract.ts'

export type { NewAgent, Workflow, WorkflowOptions } from './workflow-contract.ts'

/** Puts a workflow together. Nothing is read or started before it is needed. */
export function createWorkflow(options: WorkflowOptions): Workflow {
  const { store = createMemoryStore(), clock = systemClock, newId = createIds(), knowledge, embed } = options
  const onError = safely(options.onError)
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
  const closings = new Map<string, Promise<void>>()
  const later = new Map<string, () => void>()
  let scheduler: Scheduler | undefined
  let closing: Promise<void> | undefined

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
    refuseWhenClosed()
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
    await checkParts(makings, instance)
    const session = await createSession({ store: storeOf(instance), id, clock, newId, owner: 'workflow' })
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
    return { instance, session, store: storeOf(instance), makings, updates, handlers: options.handlers ?? {}, files }
  }

  function storeOf({ volatile }: Pick<AgentInstance, 'volatile'>): SessionStore {
    return volatile ? volatiles : store
  }

  function refuseWhenClosed(): void {
    if (closing) throw new Error(closedWords)
  }

  /** The agent in this process; throws where there is none, or where it cannot be spoken to. */
  function open(agentId: string): Promise<LiveAgent> {
    refuseWhenClosed()
    const known = live.get(agentId)
    if (known) return known
    const loading = load(agentId)
    live.set(agentId, loading)
    loading.catch(() => live.get(agentId) === loading && live.delete(agentId))
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
    if (agent.instance.closed) throw new Error(closedAgent(agentId))
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
    const isFree = (): boolean => agent.over === undefined && !agent.isRunning && isAtRest(latest)
    while (isFree() && (await agent.hasMore()) && isFree()) {
      const { isElsewhere, session } = agent
      const { turns, pending } = session
      latest = await agent.advance()
      if (isElsewhere && agent.isElsewhere) break // whoever works on it looks when he is done
      if (session.turns === turns && session.pending.length === pending.length) break // it still waits for somebody
    }
    return latest
  }

  const wake: Wake = async ({ agentId, clientKey, message }) => {
    const agent = await openForWork(agentId).catch(async (error) => {
      const known = await directory.get(agentId)
      if (known && !known.closed) throw error
    })
    if (!agent || agent.instance.volatile) return 'closed'
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

  /** Once, however many ask for it at the same time. */
  function close(agentId: string): Promise<void> {
    const known = closings.get(agentId)
    if (known) return known
    const work = closeNow(agentId).finally(() => closings.delete(agentId))
    closings.set(agentId, work)
    return work
  }

  async function closeNow(agentId: string): Promise<void> {
    const agent = await open(agentId)
    if (agent.instance.closed) return
    agent.over = closedAgent(agentId) // from here on nobody is listened to: what was said before is written down
    try {
      await agent.cancel()
      await agent.rest()
      const closed = { ...agent.instance, closed: true }
      await agent.note(instanceEntry(noteOf(closed)))
      agent.instance = closed
    } catch (error) {
      agent.over = undefined
      throw error
    }
    await removeSchedulesOf(schedules, agentId)
    updates.emit({ type: 'agent', agentId, agent: agent.instance })
  }

  /** Goes on with what a process left that is gone. */
  async function pickUpAll(): Promise<void> {
    for (const { id } of await list()) if (!closing) await pickUp(id)
  }

  /** Where another process is at work we look again: it may be about to go, too. */
  async function pickUp(agentId: string): Promise<void> {
    later.get(agentId)?.()
    later.delete(agentId)
    try {
      const agent = await open(agentId)
      if (agent.over !== undefined) return
      if (!(await agent.lookAround())) lookLater(agentId)
      else if (agent.hasWork) void goOn(agent)
    } catch (error) {
      if (!closing) onError(new Error(`agent ${agentId} could not be looked at; the others go on`, { cause: error }))
    }
  }

  function lookLater(agentId: string): void {
    if (closing) return
    later.get(agentId)?.()
    later.set(
      agentId,
      clock.timer(lookAgainMs, () => void pickUp(agentId)),
    )
  }

  async function shutDown(): Promise<void> {
    for (const callOff of later.values()) callOff()
    await scheduler?.stop()
    const leaving = [...live.values()].map(async (loading) =>
      (await loading.catch(() => undefined))?.leave(closedWords),
    )
    for (const left of await Promise.allSettled(leaving))
      if (left.status === 'rejected')
        onError(new Error('an agent could not be left in good order', { cause: left.reason }))
    await files?.close()
    await knowledge?.close?.()
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
        ids.map(async (id) => (await (await open(id)).waiting.list()).map((call) => ({ ...call, agentId: id }))),
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
      const { instance } = await open(agentId)
      await close(agentId)
      live.delete(agentId)
      directory.forget(agentId)
      await storeOf(instance).delete(agentId)
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
      await checkSettings(changed)
      settings = { ...settings, ...changed }
      for (const loading of live.values()) await (await loading.catch(() => undefined))?.retune()
    },
    registerToolDefinition: (plugin) => void plugins.set(plugin.toolId, definePlugin(plugin)),
    async start() {
      refuseWhenClosed()
      await pickUpAll()
      if (closing) return
      const failed = (error: unknown): void => onError(new Error('a schedule failed', { cause: error }))
      const onTakeOver = (): void => void pickUpAll().catch(failed)
      scheduler ??= createScheduler({ store, wake, clock, onError: failed, onTakeOver })
      await scheduler.start()
    },
    close() {
      closing ??= shutDown()
      return closing
    },
  }
}

function fileHistory({ execution }: WorkflowOptions, kept: { readonly folder?: string }, clock: Clock): FileHistory {
  return new FileHistory({ execution: execution ?? createProcessContext(), clock, ...kept })
}

const closedWords = 'this workflow is closed; create another one'
const closedAgent = (agentId: string): string => `agent "${agentId}" is closed; create another one`

/** How often an agent is looked at that another process was busy with at the start. */
const lookAgainMs = 10_000

/** Whoever is told of errors may have some of his own. */
function safely(report: WorkflowOptions['onError']): (error: Error) => void {
  const toConsole = (error: Error): void => console.error('libero:', error.message, error.cause ?? '')
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
