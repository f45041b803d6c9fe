import type { Authority } from '../../authority/authority.ts'
import type { Interactor } from '../../authority/interaction/interactor-line.ts'
import type { Agent } from '../../core/agent.ts'
import { messageOf } from '../../core/errors.ts'
import type { LogEntry } from '../../core/log.ts'
import type { Session, SessionStore } from '../../core/store.ts'
import type { ThinkingLevel } from '../../core/thinking.ts'
import { createAgent, type LiberoAgent } from '../../create-agent.ts'
import { aboutThinking } from '../assembly/about-thinking.ts'
import { agentOptions } from '../assembly/agent-options.ts'
import { assemble } from '../assembly/assemble.ts'
import { UsageError } from '../cli-error.ts'
import type { RunValues } from '../commands/run.ts'
import type { Config } from '../config/config.ts'
import type { Io } from '../io.ts'
import { linesView, type ServersView } from '../mcp/servers-view.ts'
import type { ChosenModel } from '../models/choose-model.ts'
import { notePlace } from '../sessions/note-place.ts'
import { type OpenedSession, type OpenSessionOptions, openSession } from '../sessions/open-session.ts'
import { openStore, sessionsPath } from '../sessions/open-store.ts'
import { modelFor } from './model-for.ts'
import { readSchema } from './read-schema.ts'

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
    extensions: [notePlace(cwd)],
    ...(values.schema !== undefined && { schema: await readSchema(values.schema, cwd) }),
  })
  const { authority } = assembled
  const kept = values['no-session'] ? undefined : await keptSession(values, config, options)
  const { chosen, notice } = await modelFor(values, { session: kept?.session, config, io, mayGoOffline })
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
      ...aboutThinking(chosen, thinking),
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
