import type { Interactor } from '../../authority/interaction/interactor-queue.ts'
import { messageOf, SessionBusyError } from '../../core/errors.ts'
import type { Provider } from '../../core/provider.ts'
import type { SessionStore } from '../../core/store.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { KnowledgeStore } from '../../plugins/wiki/knowledge-store.ts'
import type { AgentDefinition } from '../../workflow/definitions/definition.ts'
import { Directory } from '../../workflow/directory.ts'
import { createWorkflow, type Workflow, type WorkflowOptions } from '../../workflow/workflow.ts'
import { limitsOf } from '../assembly/agent-options.ts'
import { type AgentCommand, type Assembly, assemble, thinkingNotices } from '../assembly/assemble.ts'
import type { SandboxStatus } from '../assembly/sandbox-status.ts'
import { snapshotOptions } from '../assembly/snapshot-options.ts'
import { CliError, UsageError } from '../cli-error.ts'
import type { WorkValues } from '../commands/run.ts'
import type { Config } from '../config/config.ts'
import type { Io } from '../io.ts'
import { userConnector } from '../mcp/connector.ts'
import { linesView } from '../mcp/servers.ts'
import { type ChosenModel, chooseModel, NoModelError } from '../models/choose-model.ts'
import { notifyOnWaking } from '../schedules/scheduler-state.ts'
import { openStore, sessionsPath } from '../sessions/open-store.ts'
import { type FoundDefinitions, readDefinitions } from './definitions.ts'
import { openWikis } from './open-wikis.ts'

/** The user's agents, with what they depend on. */
export interface OpenedWorkflow {
  readonly workflow: Workflow
  readonly store: SessionStore
  readonly directory: Directory
  readonly definitions: FoundDefinitions
  /** The user's wikis; absent if the settings name none. */
  readonly knowledge?: KnowledgeStore
  /** The model of the agents of a definition; `undefined` without `work`, or if it is not available. */
  modelOf(definitionId?: string): ChosenModel | undefined
  readonly sandbox: SandboxStatus
  /** Messages for a person at the start. */
  readonly notices: readonly string[]
  close(): Promise<void>
}

interface OpenWorkflowOptions {
  /** For the audit. Default: `schedules` with `onWaking`, else `agents`. */
  readonly command?: AgentCommand
  /** The store, which stays open. Default: one of its own. */
  readonly store?: SessionStore
  /** The flags of a command that runs agents. Without them, agents can only be inspected. */
  readonly work?: WorkValues
  /** The person to ask. Without one, an agent halts where it would ask. */
  readonly person?: Interactor
  /** Receives errors of background work. Default: a line on stderr. */
  readonly onError?: (error: Error) => void
  /** Called when this process becomes the one that wakes agents. */
  readonly onWaking?: () => void
  /** Keep file snapshots for a rollback. Default: if agents run and one of the definitions can change files. */
  readonly snapshots?: 'kept'
}

/** Opens the user's agents. The user's settings apply to them; those of a project do not. */
export async function openWorkflow(
  io: Io,
  { work, person, onError = reportTo(io), onWaking, snapshots, ...given }: OpenWorkflowOptions = {},
): Promise<OpenedWorkflow> {
  if (work?.yolo && work.mode) throw new UsageError('--yolo and --mode do not go together; choose one of them')
  const assembly = await assemble(work ?? {}, {
    ...{
      command: given.command ?? (onWaking ? 'schedules' : 'agents'),
      io,
      cwd: io.cwd,
      view: { ...linesView(io.err), failed: (text) => onError(new Error(text)) },
      project: 'left out',
    },
    ...(person && { person }),
    isIdle: !work && !snapshots,
  })
  const { config, workspace, servers } = assembly
  const definitions = await readDefinitions(io)
  const models = work ? await modelsFor(definitions, work, config, io) : undefined
  const knowledge = await openWikis(config, io)
  const store = given.store ?? (await openStore(sessionsPath(config, io)))
  const found = models?.definitions ?? definitions.found.map(({ definition }) => definition)
  const known = found.map((definition) => applySettings(definition, assembly))
  const files = snapshotOptions(config, assembly)
  const workflow = createWorkflow({
    store: onWaking ? notifyOnWaking(store, onWaking) : store,
    definitions: known,
    provider: (definition) => (models ? providerOf(definition, models) : noProvider),
    ...workflowOptions(assembly),
    onError: (error) => {
      // The caller reports an agent that another program is working on.
      if (!(error instanceof SessionBusyError)) onError(error)
    },
    ...(knowledge && { knowledge }),
    ...((snapshots ?? (files && work && known.some(mayChangeFiles))) && { snapshots: files ?? {} }),
  })
  return {
    workflow,
    store,
    directory: new Directory(store),
    definitions,
    ...(knowledge && { knowledge }),
    modelOf(id = '') {
      const chosen = models?.own.get(id) ?? models?.standard
      return chosen instanceof CliError ? undefined : chosen
    },
    sandbox: assembly.sandbox,
    notices: [
      ...assembly.notices,
      ...workspace.loaded.warnings,
      ...(servers ? [...servers.notices, ...servers.missing] : []),
      ...(models && !(models.standard instanceof CliError) ? thinkingNotices(models.standard, assembly.thinking) : []),
    ],
    async close() {
      await workflow.close()
      await assembly.close()
      if (work && config.retention) await (await import('../sessions/prune.ts')).pruneDaily(store, config, io)
      if (!given.store) await store.close?.()
    },
  }
}

/** Opens the user's agents, calls `work`, and closes them. */
export async function withWorkflow<T>(
  io: Io,
  work: (opened: OpenedWorkflow) => Promise<T>,
  options: OpenWorkflowOptions = {},
): Promise<T> {
  const opened = await openWorkflow(io, options)
  try {
    return await work(opened)
  } finally {
    await opened.close()
  }
}

const reportTo =
  (io: Pick<Io, 'err'>) =>
  (error: Error): void => {
    const why = error.cause === undefined ? '' : `: ${messageOf(error.cause)}`
    io.err(`libero: ${fullyVisible(`${error.message}${why}`.slice(0, 600))}`)
  }

interface Models {
  /** The default model; an error if none is set up, because definitions may name their own. */
  readonly standard: ChosenModel | NoModelError
  readonly definitions: readonly AgentDefinition[]
  /** By id of a definition that names a model; an error if the model is not available. */
  readonly own: ReadonlyMap<string, ChosenModel | CliError>
}

/** A flag overrides a definition, a definition overrides the settings. */
async function modelsFor(
  { found }: FoundDefinitions,
  { provider, model }: WorkValues,
  config: Config,
  io: Io,
): Promise<Models> {
  const standard = await chooseModel({ provider, model }, config, io).catch((error: unknown) => {
    if (error instanceof NoModelError && found.some(({ definition }) => definition.model !== undefined)) return error
    throw error
  })
  const isFlagged = provider !== undefined || model !== undefined
  const own = new Map<string, ChosenModel | CliError>()
  const definitions: AgentDefinition[] = []
  for (const { definition } of found) {
    const { model: wanted, ...rest } = definition
    if (wanted === undefined || isFlagged) {
      definitions.push(rest)
      continue
    }
    const chosen = await chooseModel({ model: wanted }, config, io).catch((error: unknown) => {
      if (error instanceof CliError) return error
      throw error
    })
    own.set(definition.id, chosen)
    definitions.push(chosen instanceof CliError ? definition : { ...rest, model: chosen.model })
  }
  return { standard, definitions, own }
}

/** Stopping or closing an agent needs a provider, but makes no request. */
const noProvider: Provider = {
  meta: { name: 'none', defaultModel: 'none' },
  // biome-ignore lint/correctness/useYield: it always fails
  async *stream() {
    throw new Error('no model was chosen, because this command does not run agents')
  },
}

function providerOf({ id }: AgentDefinition, models: Models): Provider {
  const chosen = models.own.get(id) ?? models.standard
  if (chosen instanceof CliError) throw chosen
  return chosen.provider
}

/** Plugins that write into the working folder of an agent. Wikis are elsewhere. */
const writing: ReadonlySet<string> = new Set(['zx-script'])

/** Whether an agent of this definition can change files in its working folder, so that snapshots are needed. */
export function mayChangeFiles({ config = {}, mcpServers = [] }: AgentDefinition): boolean {
  const { plugins = [] } = config
  return mcpServers.length > 0 || plugins.some(({ toolId, enabled = true }) => enabled && writing.has(toolId))
}

/** The options of `createWorkflow` that apply to all agents. */
function workflowOptions({ authority, execution, skills, servers, extensions, thinking, config, io }: Assembly) {
  return {
    authority,
    execution,
    extensions,
    mcpConnector: servers?.options.mcpConnector ?? userConnector(io.home, config),
    ...(skills && { skills }),
    ...(thinking && { thinking }),
    ...(config.agents && { settings: config.agents }),
    ...(config.withoutTools && { withoutTools: config.withoutTools }),
  } satisfies Partial<WorkflowOptions>
}

/** A definition with the limits, servers and prompts of the user's settings. Its tools are those of its plugins. */
function applySettings(definition: AgentDefinition, { config, servers }: Assembly): AgentDefinition {
  const { behavior = {}, mcpServers = [] } = definition
  const { prompts = [], maxIterations = 0 } = definition.config ?? {}
  const { maxTurns, limits } = limitsOf({ maxTurns: behavior.maxTurns, maxCost: behavior.limits?.cost }, config)
  const own = new Set(mcpServers.map(({ name }) => name))
  const added = (servers?.options.mcpServers ?? []).filter(({ name }) => !own.has(name))
  return {
    ...definition,
    ...(added.length > 0 && { mcpServers: [...added, ...mcpServers] }),
    behavior: {
      ...(config.toolDisclosure && { toolDisclosure: config.toolDisclosure }),
      ...behavior,
      maxTurns,
      ...(limits && { limits: { ...behavior.limits, ...limits } }),
    },
    config: {
      ...definition.config,
      ...(config.system && { prompts: [...prompts, { id: 'settings', role: 'system', text: config.system }] }),
      ...(maxIterations > 0 && { maxIterations: Math.min(maxIterations, config.maxTurns ?? maxIterations) }),
    },
  }
}
