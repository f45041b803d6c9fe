import type { Authority } from '../../authority/authority.ts'
import type { Interactor } from '../../authority/interaction/interactor-queue.ts'
import { messageOf } from '../../core/errors.ts'
import type { LogEntry } from '../../core/log.ts'
import type { Extension, RunOptions } from '../../core/run.ts'
import type { Session, SessionStore } from '../../core/store.ts'
import type { ThinkingLevel } from '../../core/thinking.ts'
import type { ToolDef } from '../../core/tool.ts'
import { createAgent, type LiberoAgent } from '../../create-agent.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { Snapshots } from '../../snapshots/snapshots.ts'
import { agentOptions } from '../assembly/agent-options.ts'
import { type AgentCommand, type AssemblyOptions, assemble, thinkingNotices } from '../assembly/assemble.ts'
import type { SandboxStatus } from '../assembly/sandbox-status.ts'
import { CliError, UsageError } from '../cli-error.ts'
import type { RunValues } from '../commands/run.ts'
import type { Config } from '../config/config.ts'
import type { Io } from '../io.ts'
import { linesView, type ServersView } from '../mcp/servers.ts'
import { type ChosenModel, chooseModel, type ModelIo, type ModelRequest, NoModelError } from '../models/choose-model.ts'
import { type OpenedSession, type OpenSessionOptions, openSession } from '../sessions/open-session.ts'
import { openStore, sessionsPath } from '../sessions/open-store.ts'
import { readImages, readSchema } from './flag-files.ts'

/** An agent with what it depends on: authority, model, session. */
export interface OpenedAgent {
  readonly agent: LiberoAgent
  readonly authority: Authority
  readonly snapshots?: Snapshots
  readonly chosen: ChosenModel
  readonly session: Session | undefined
  /** The entries of the session's log after one of them; empty without a session. */
  entries(after: number): Promise<readonly LogEntry[]>
  readonly config: Config
  readonly thinking: ThinkingLevel | undefined
  readonly sandbox: SandboxStatus
  /** To be shown before the first run. */
  readonly notices: readonly string[]
  close(): Promise<void>
}

export interface OpenOptions
  extends OpenSessionOptions,
    Pick<AssemblyOptions, 'asksAtOnce' | 'addedServers' | 'wrapExecution'> {
  /** The command that runs the agent. Default `run`. */
  readonly command?: AgentCommand
  readonly io: Io
  /** Absolute. */
  readonly cwd: string
  /** Answers prompts. Without one a run ends where a call needs approval. */
  readonly person?: Interactor
  /** Asks whether to use the offline model when no other is set up. Without it that is an error. */
  readonly mayGoOffline?: () => Promise<boolean>
  /** Shows the state of MCP servers. Default: lines on stderr. */
  readonly servers?: ServersView
  /** The store of sessions, which stays open. Default: one of its own. */
  readonly store?: SessionStore
  /** The session to continue, in `store`. Default: the one that the flags ask for. */
  readonly session?: Session
  /** With `fork`: the last entry that the copy has. */
  readonly forkAt?: number
  /** Added to those of the assembly, as the last ones. */
  readonly extensions?: readonly Extension[]
  /** Added to those of the preset, except those that the settings exclude. */
  readonly tools?: readonly ToolDef[]
}

/** Creates an agent from flags, settings and the environment. Starts no run. */
export async function openAgent(values: RunValues, options: OpenOptions): Promise<OpenedAgent> {
  const { command = 'run', io, cwd, person, mayGoOffline, servers: view = linesView(io.err) } = options
  const assembly = await assemble(values, {
    ...{ command, io, cwd, view },
    ...(person && { person }),
    ...(options.asksAtOnce && { asksAtOnce: true }),
    ...(options.addedServers && { addedServers: options.addedServers }),
    ...(options.wrapExecution && { wrapExecution: options.wrapExecution }),
  })
  const { config, servers, thinking } = assembly
  const assembled = await agentOptions(assembly, {
    maxTurns: values['max-turns'],
    maxCost: values['max-cost'],
    system: values.system,
    ...(values.schema !== undefined && { schema: await readSchema(values.schema, cwd) }),
  })
  const kept = values['no-session'] ? undefined : await openStoredSession(values, config, options)
  const { chosen, notice } = await chooseRunModel(values, { session: kept?.session, config, io, mayGoOffline })
  const agent = createAgent({
    ...assembled.options,
    provider: chosen.provider,
    extensions: [...(assembled.options.extensions ?? []), ...(options.extensions ?? [])],
    tools: { ...assembled.options.tools, ...addedTools(options.tools, config.withoutTools) },
    ...(kept && { session: kept.session }),
  })
  servers?.follow(agent)
  for (const name of values.skill ?? []) await activateSkill(agent, name)
  return {
    agent,
    authority: assembled.authority,
    ...(assembled.snapshots && { snapshots: assembled.snapshots }),
    chosen,
    session: kept?.session,
    entries: async (after) => (kept ? kept.store.read(kept.session.id, { after }) : []),
    config,
    thinking,
    sandbox: assembly.sandbox,
    notices: [
      ...assembled.notices,
      ...(notice === undefined ? [] : [notice]),
      ...thinkingNotices(chosen, thinking),
      ...(kept?.begunIn === undefined ? [] : [`This session was begun in ${kept.begunIn}; tools now work in ${cwd}.`]),
    ],
    async close() {
      await agent.destroy()
      await assembled.close()
      if (kept && config.retention) await (await import('../sessions/prune.ts')).pruneDaily(kept.store, config, io)
      if (!options.store) await kept?.store.close?.()
    },
  }
}

async function activateSkill(agent: LiberoAgent, skill: string): Promise<void> {
  await agent.activateSkill(skill).catch((error: unknown) => {
    const advice = 'for the skills of this folder and those left out: libero skills'
    throw new UsageError(`--skill ${skill}: ${messageOf(error)}; ${advice}`, { cause: error })
  })
}

async function openStoredSession(
  { resume, continue: isContinued, fork }: RunValues,
  config: Config,
  options: OpenOptions,
): Promise<OpenedSession & { readonly store: SessionStore }> {
  const { io, cwd, forkAt: at } = options
  const store = options.store ?? (await openStore(sessionsPath(config, io)))
  if (options.session) return { session: options.session, isNew: false, store }
  const request = { cwd, resume: resume || undefined, continue: isContinued, fork, ...(at !== undefined && { at }) }
  const opened = await openSession(store, request, options)
  return { ...opened, store }
}

interface ModelOptions {
  readonly session: Session | undefined
  readonly config: Config
  readonly io: ModelIo
  readonly mayGoOffline: OpenOptions['mayGoOffline'] | undefined
}

/** The model that flags name; else that of the resumed session, if it is still available; else the default one. */
export async function chooseRunModel(
  { provider, model }: RunValues,
  options: ModelOptions,
): Promise<{ readonly chosen: ChosenModel; readonly notice?: string }> {
  const { session, config, io } = options
  const last = session?.log.transcript.findLastTurn(({ role }) => role === 'assistant')
  const isNamed = provider !== undefined || model !== undefined
  if (isNamed || last?.provider === undefined || last.model === undefined)
    return { chosen: await defaultModel({ provider, model }, options) }
  // A person who has a key by now wants a real model; without one, an offline session stays offline.
  if (last.provider === 'offline')
    return { chosen: await defaultModel({}, { ...options, mayGoOffline: async () => true }) }
  try {
    const chosen = await chooseModel({ provider: last.provider, model: last.model }, config, io)
    return { chosen: { ...chosen, why: 'the model of this session' } }
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    const notice = `This session was on ${fullyVisible(last.provider)} ${fullyVisible(last.model)}, which is not available now: ${error.message}`
    return { chosen: await defaultModel({}, options), notice }
  }
}

async function defaultModel(request: ModelRequest, { config, io, mayGoOffline }: ModelOptions): Promise<ChosenModel> {
  try {
    return await chooseModel(request, config, io)
  } catch (error) {
    if (!(error instanceof NoModelError) || !(await mayGoOffline?.())) throw error
    const why = 'rules, not a language model; for a real one: libero login'
    return { ...(await chooseModel({ provider: 'offline' }, config, io)), why }
  }
}

/** The options of one run. */
export async function runOptions(
  values: RunValues,
  prompt: string | undefined,
  { chosen, thinking }: OpenedAgent,
  cwd: string,
): Promise<RunOptions> {
  const images = await readImages(values, cwd)
  return {
    model: chosen.model,
    ...(prompt !== undefined && { prompt }),
    ...(images.length > 0 && { images }),
    ...(thinking !== undefined && { thinking }),
  }
}

function addedTools(tools: readonly ToolDef[] = [], excluded: readonly string[] = []): Record<string, ToolDef> {
  const wanted = tools.filter(({ spec }) => !excluded.includes(spec.name))
  return Object.fromEntries(wanted.map((tool) => [tool.spec.name, tool]))
}
