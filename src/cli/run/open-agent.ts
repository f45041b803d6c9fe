import type { Authority } from '../../authority/authority.ts'
import type { Interactor } from '../../authority/interaction/interactor-queue.ts'
import type { Agent } from '../../core/agent.ts'
import { messageOf } from '../../core/errors.ts'
import type { LogEntry } from '../../core/log.ts'
import type { RunOptions } from '../../core/run.ts'
import type { Session, SessionStore } from '../../core/store.ts'
import type { ThinkingLevel } from '../../core/thinking.ts'
import type { ImageBlock } from '../../core/turn.ts'
import { createAgent, type LiberoAgent } from '../../create-agent.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { agentOptions } from '../assembly/agent-options.ts'
import { assemble, thinkingNotices } from '../assembly/assemble.ts'
import { CliError, UsageError } from '../cli-error.ts'
import type { RunValues } from '../commands/run.ts'
import type { Config } from '../config/config.ts'
import type { Io } from '../io.ts'
import { linesView, type ServersView } from '../mcp/servers-here.ts'
import { type ChosenModel, chooseModel, type ModelIo, type ModelRequest, NoModelError } from '../models/choose-model.ts'
import { type OpenedSession, type OpenSessionOptions, openSession } from '../sessions/open-session.ts'
import { openStore, sessionsPath } from '../sessions/open-store.ts'
import { recordFolder } from '../sessions/session-folder.ts'
import { readSchema } from './flag-files.ts'

/** An agent as the command line makes it, with everything it stands on. */
export interface OpenedAgent {
  readonly agent: Agent
  readonly authority: Authority
  readonly chosen: ChosenModel
  readonly session: Session | undefined
  /** What the session's log holds after an entry; nothing where none is kept. */
  entries(after: number): Promise<readonly LogEntry[]>
  readonly thinking: ThinkingLevel | undefined
  /** For a person, before it starts. */
  readonly notices: readonly string[]
  close(): Promise<void>
}

export interface OpenOptions extends OpenSessionOptions {
  /** The command that runs the agent. Default `run`. */
  readonly command?: string
  readonly io: Io
  /** Absolute. */
  readonly cwd: string
  /** Who can be asked. Without one a run halts where it would ask. */
  readonly person?: Interactor
  /** Whether to go on with the offline model where no other is set up. Absent: it is an error. */
  readonly mayGoOffline?: () => Promise<boolean>
  /** Hears what MCP servers do to a run. Default: lines on stderr. */
  readonly servers?: ServersView
}

/** Puts an agent together from flags, settings and what there is on this machine. Nothing is started yet. */
export async function openAgent(values: RunValues, options: OpenOptions): Promise<OpenedAgent> {
  const { command = 'run', io, cwd, person, mayGoOffline, servers: view = linesView(io.err) } = options
  const assembly = await assemble(values, { command, io, cwd, view, ...(person && { person }) })
  const { config, servers, thinking } = assembly
  const assembled = await agentOptions(assembly, {
    maxTurns: values['max-turns'],
    maxCost: values['max-cost'],
    system: values.system,
    extensions: [recordFolder(cwd)],
    ...(values.schema !== undefined && { schema: await readSchema(values.schema, cwd) }),
  })
  const { authority } = assembled
  const kept = values['no-session'] ? undefined : await keptSession(values, config, options)
  const { chosen, notice } = await chooseRunModel(values, { session: kept?.session, config, io, mayGoOffline })
  const agent = createAgent({
    ...assembled.options,
    provider: chosen.provider,
    ...(kept && { session: kept.session }),
  })
  servers?.follow(agent)
  for (const name of values.skill ?? []) await begin(agent, name)
  return {
    agent,
    authority,
    chosen,
    session: kept?.session,
    entries: async (after) => (kept ? kept.store.read(kept.session.id, after) : []),
    thinking,
    notices: [
      ...assembled.notices,
      ...(notice === undefined ? [] : [notice]),
      ...thinkingNotices(chosen, thinking),
      ...(kept?.begunIn === undefined ? [] : [`This session was begun in ${kept.begunIn}; tools now work in ${cwd}.`]),
    ],
    async close() {
      await agent.destroy()
      await assembled.close()
      await kept?.store.close?.()
    },
  }
}

async function begin(agent: LiberoAgent, skill: string): Promise<void> {
  await agent.activateSkill(skill).catch((error: unknown) => {
    const advice = 'what is left out here, and why, is said by: libero skills'
    throw new UsageError(`--skill ${skill}: ${messageOf(error)}; ${advice}`, { cause: error })
  })
}

async function keptSession(
  { resume, continue: goesOn, fork }: RunValues,
  config: Config,
  { io, cwd, pick }: OpenOptions,
): Promise<OpenedSession & { readonly store: SessionStore }> {
  const store = await openStore(sessionsPath(config, io))
  const wish = { cwd, ...(resume && { resume }), ...(goesOn && { continue: true }), ...(fork && { fork: true }) }
  const opened = await openSession(store, wish, pick ? { pick } : {})
  return { ...opened, store }
}

interface ModelForOptions {
  readonly session: Session | undefined
  readonly config: Config
  readonly io: ModelIo
  /** Whether to go on with the offline model where no other is set up. Absent: it is an error. */
  readonly mayGoOffline?: (() => Promise<boolean>) | undefined
}

interface ModelFor {
  readonly chosen: ChosenModel
  readonly notice?: string
}

/** The model that flags name; else, in a session that goes on, the one it was on, if it is still there; else the usual one. */
export async function chooseRunModel({ provider, model }: RunValues, options: ModelForOptions): Promise<ModelFor> {
  const { session, config, io } = options
  const last = session?.log.transcript.turns.findLast(({ role }) => role === 'assistant')
  const isNamed = provider !== undefined || model !== undefined
  if (isNamed || last?.provider === undefined || last.model === undefined)
    return { chosen: await defaultModel({ provider, model }, options) }
  // A person who has a key by now wants a real model; else a session that was offline goes on so.
  if (last.provider === 'offline')
    return { chosen: await defaultModel({}, { ...options, mayGoOffline: async () => true }) }
  try {
    const chosen = await chooseModel({ provider: last.provider, model: last.model }, config, io)
    return { chosen: { ...chosen, why: 'the model of this session' } }
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    const notice = `This session was on ${fullyVisible(last.provider)} ${fullyVisible(last.model)}, which is not to be had now: ${error.message}`
    return { chosen: await defaultModel({}, options), notice }
  }
}

async function defaultModel(wish: ModelRequest, { config, io, mayGoOffline }: ModelForOptions): Promise<ChosenModel> {
  try {
    return await chooseModel(wish, config, io)
  } catch (error) {
    if (!(error instanceof NoModelError) || !(await mayGoOffline?.())) throw error
    const why = 'rules, not a language model; for a real one: libero login'
    return { ...(await chooseModel({ provider: 'offline' }, config, io)), why }
  }
}

/** What one run takes of the flags. */
export async function runOptions(
  values: RunValues,
  prompt: string | undefined,
  { chosen, thinking }: OpenedAgent,
  cwd: string,
): Promise<RunOptions> {
  const images = await readFlagImages(values, cwd)
  return {
    model: chosen.model,
    ...(prompt !== undefined && { prompt }),
    ...(images.length > 0 && { images }),
    ...(thinking !== undefined && { thinking }),
  }
}

/** Whether a session is gone on with. */
export const continuesSession = ({ resume, continue: goesOn }: RunValues): boolean =>
  resume !== undefined || goesOn === true

/** The pictures that the model is to look at. */
export async function readFlagImages({ context, image: named }: RunValues, cwd: string): Promise<ImageBlock[]> {
  if (context === 'docker' || named === undefined) return []
  return (await import('./flag-files.ts')).readImages(named, cwd)
}
