import type { Interactor } from '../../authority/interaction/interactor-queue.ts'
import { messageOf, SessionBusyError } from '../../core/errors.ts'
import type { Provider } from '../../core/provider.ts'
import type { SessionStore } from '../../core/store.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { KnowledgeStore } from '../../plugins/wiki/knowledge-store.ts'
import type { AgentDefinition } from '../../workflow/definitions/definition.ts'
import { Directory } from '../../workflow/directory.ts'
import { createWorkflow, type Workflow } from '../../workflow/workflow.ts'
import { assemble, thinkingNotices } from '../assembly/assemble.ts'
import { applySettings, workflowOptions } from '../assembly/workflow-options.ts'
import { CliError, UsageError } from '../cli-error.ts'
import type { WorkValues } from '../commands/run.ts'
import type { Config } from '../config/config.ts'
import type { Io } from '../io.ts'
import { linesView } from '../mcp/servers-here.ts'
import { type ChosenModel, chooseModel, NoModelError } from '../models/choose-model.ts'
import { notifyOnWaking } from '../schedules/scheduler-state.ts'
import { openStore, sessionsPath } from '../sessions/open-store.ts'
import { type FoundDefinitions, readDefinitions } from './definitions.ts'
import { openWikis } from './open-wikis.ts'

/** The user's agents, with everything they stand on. */
export interface OpenedWorkflow {
  readonly workflow: Workflow
  readonly store: SessionStore
  readonly definitions: FoundDefinitions
  /** The user's wikis; absent where the settings name none. */
  readonly knowledge?: KnowledgeStore
  /** What the agents of a definition work with; `undefined` where nobody works, or it is not to be had. */
  modelOf(definitionId?: string): ChosenModel | undefined
  /** For a person, before it starts. */
  readonly notices: readonly string[]
  close(): Promise<void>
}

export interface OpenWorkflowOptions {
  /** Flags of whoever lets agents work. Without them, agents can be looked at and not worked with. */
  readonly work?: WorkValues
  /** Who can be asked. Without one an agent halts where it would ask. */
  readonly person?: Interactor
  /** What failed where nobody was waiting for it. Default: a line on stderr. */
  readonly onError?: (error: Error) => void
  /** This program has become the one that wakes agents. */
  readonly onWaking?: () => void
  /** Files can be put back. Default: they are kept where somebody works whose definition lets it change them. */
  readonly snapshots?: 'kept'
}

/** Opens the user's agents. They are his own: what holds for them is said by his settings, not by those of a project. */
export async function openWorkflow(
  io: Io,
  { work, person, onError = reportTo(io), onWaking, snapshots }: OpenWorkflowOptions = {},
): Promise<OpenedWorkflow> {
  if (work?.yolo && work.mode) throw new UsageError('--yolo and --mode do not go together; choose one of them')
  const assembly = await assemble(work ?? {}, {
    ...{
      command: onWaking ? 'schedules' : 'agents',
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
  const store = await openStore(sessionsPath(config, io))
  const found = models?.definitions ?? definitions.found.map(({ definition }) => definition)
  const known = found.map((definition) => applySettings(definition, assembly))
  const gone = await missingDefinitions(store, known)
  const workflow = createWorkflow({
    store: onWaking ? notifyOnWaking(store, onWaking) : store,
    definitions: [...known, ...gone],
    provider: (definition) => {
      if (!models) return noProvider
      return gone.includes(definition) ? definitionMissing(definition, io) : providerOf(definition, models)
    },
    ...workflowOptions(assembly),
    onError: (error) => {
      // That another program writes is said by whoever finds the agent at work there.
      if (!(error instanceof SessionBusyError)) onError(error)
    },
    ...(knowledge && { knowledge }),
    ...((snapshots ?? (work && known.some(mayChangeFiles))) && { snapshots: {} }),
  })
  return {
    workflow,
    store,
    definitions,
    ...(knowledge && { knowledge }),
    modelOf(id = '') {
      const chosen = models?.own.get(id) ?? models?.standard
      return chosen instanceof CliError ? undefined : chosen
    },
    notices: [
      ...workspace.loaded.warnings,
      ...(servers ? [...servers.notices, ...servers.missing] : []),
      ...(models && !(models.standard instanceof CliError) ? thinkingNotices(models.standard, assembly.thinking) : []),
    ],
    async close() {
      await workflow.close()
      await store.close?.()
    },
  }
}

/** Opens the user's agents for the time of some work. */
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
  /** An error where none is set up: definitions may name their own. */
  readonly standard: ChosenModel | NoModelError
  readonly definitions: readonly AgentDefinition[]
  /** Of definitions that name a model; an error where it is not to be had. */
  readonly own: ReadonlyMap<string, ChosenModel | CliError>
}

/** A flag counts more than a definition, a definition more than the settings. */
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

/** To stop or close an agent takes its engine, but no model. */
const noProvider: Provider = {
  meta: { name: 'none', defaultModel: 'none' },
  // biome-ignore lint/correctness/useYield: it has nothing to say
  async *stream() {
    throw new Error('no model was chosen, since nobody was to work')
  },
}

function providerOf({ id }: AgentDefinition, models: Models): Provider {
  const chosen = models.own.get(id) ?? models.standard
  if (chosen instanceof CliError) throw chosen
  return chosen.provider
}

/** What stands for definitions that agents were made of and that are not there now, so that one can still look at the agents. */
async function missingDefinitions(store: SessionStore, known: readonly AgentDefinition[]): Promise<AgentDefinition[]> {
  const ids = new Set(known.map(({ id }) => id))
  const named = new Set((await new Directory(store).list()).map(({ definitionId }) => definitionId))
  return [...named].filter((id) => !ids.has(id)).map((id) => ({ id }))
}

function definitionMissing({ id }: AgentDefinition, { home }: Pick<Io, 'home'>): never {
  throw new CliError(
    `the definition "${fullyVisible(id)}" of this agent is not there; put it back into ${fullyVisible(home)}/agents (libero agents definitions says what is wrong)`,
  )
}

/** Plugins that write into the folder an agent works in. Wikis lie elsewhere. */
const writing: ReadonlySet<string> = new Set(['zx-script'])

/** Whether an agent of this definition can change files where it works: else there is no need to keep them. */
export function mayChangeFiles({ config = {}, mcpServers = [] }: AgentDefinition): boolean {
  const { plugins = [] } = config
  return mcpServers.length > 0 || plugins.some(({ toolId, enabled = true }) => enabled && writing.has(toolId))
}
