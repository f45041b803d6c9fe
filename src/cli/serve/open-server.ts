import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createAuthority } from '../../authority/authority.ts'
import { messageOf } from '../../core/errors.ts'
import type { Meta } from '../../core/meta.ts'
import type { Session, SessionStore, SessionSummary } from '../../core/store.ts'
import { digestOf } from '../../platform/digest.ts'
import { readTextIfThere, writeFileAtomic } from '../../platform/files.ts'
import { createWikitextRenderer } from '../../plugins/wiki/tiddlywiki/wikitext-renderer.ts'
import { joinLocalRuns } from '../../rpc/join-local-runs.ts'
import { createServer, type LiberoServer } from '../../server/create-server.ts'
import type { ServerDrafts } from '../../server/server-options.ts'
import type { AgentForRequest, ServedAgent } from '../../server/session-work.ts'
import type { SessionWorkspace } from '../../server/session-workspace.ts'
import { eachEntryBackwards } from '../../sessions/history.ts'
import { inboxOf } from '../../sessions/pending.ts'
import { createSnapshots } from '../../snapshots/snapshots.ts'
import type { Workflow, WorkflowSettings } from '../../workflow/workflow-contract.ts'
import { type OpenedWorkflow, openWorkflow } from '../agents/open-workflow.ts'
import { agentOptions } from '../assembly/agent-options.ts'
import { assemble } from '../assembly/assemble.ts'
import { snapshotOptions } from '../assembly/snapshot-options.ts'
import { measureSessions } from '../assembly/telemetry.ts'
import { findDecision } from '../audit/find-decision.ts'
import { listChoices } from '../chat/cli-host.ts'
import { chosenValues, settingsOf } from '../chat/open-chat-agent.ts'
import type { RunValues } from '../commands/run.ts'
import type { ServeValues } from '../commands/serve.ts'
import { loadConfig } from '../config/config.ts'
import type { Io } from '../io.ts'
import { createServedLogins } from '../mcp/served-logins.ts'
import { linesView } from '../mcp/servers.ts'
import { type ChosenModel, NoModelError } from '../models/choose-model.ts'
import { chooseRunModel, openAgent } from '../run/open-agent.ts'
import { openStore, sessionsPath } from '../sessions/open-store.ts'
import { isAgentId, isOwnSession } from '../sessions/session-id.ts'
import { aboutHere, asProblem } from './about-here.ts'
import { folderOf, newFolder, questions, type ServedSessionOptions, servedSession } from './served-session.ts'

/** The server of this user's sessions and agents. */
export interface OpenedServer {
  readonly server: LiberoServer
  /** Continues what the last server left, and wakes agents by their schedules. */
  start(): Promise<void>
  /** Leaves all runs, and closes everything. */
  close(): Promise<void>
}

interface OpenServerOptions {
  readonly io: Io
  /** For sessions without a folder. Absolute. */
  readonly cwd: string
  readonly token: string
  /** Shows a person a line, the same one at most once a minute. */
  readonly notify: (text: string) => void
  /** The flags of an agent that is opened, if they change while it serves. */
  readonly valuesNow?: () => ServeValues
}

/** Opens the server that flags and settings ask for. Throws if an agent cannot be put together from them. */
export async function openServer(values: ServeValues, options: OpenServerOptions): Promise<OpenedServer> {
  const { io, cwd, token, notify } = options
  const {
    'allowed-host': hosts = [],
    'allowed-origin': allowedOrigins = [],
    'webhook-host': allowPrivate = [],
  } = values
  const flags = agentFlags(values)
  const { valuesNow } = options
  const flagsNow = valuesNow ? () => agentFlags(valuesNow()) : () => flags
  const served = () => ({ values: flagsNow(), io, cwd, notify, store })
  await tryOut(flags, options)
  const { config } = await loadConfig({ home: io.home })
  const store = await openStore(sessionsPath(config, io))
  const authority = createAuthority({ home: io.home })
  const onError = (error: Error): void => notify(withCause(error))
  let isWaking = false
  const onWaking = (): void => {
    isWaking = true
  }
  let opening: Promise<OpenedWorkflow> | undefined
  const agents = async (): Promise<OpenedWorkflow['workflow']> => {
    opening ??= openAgents(flags, { ...options, store, onError, onWaking })
    try {
      return (await opening).workflow
    } catch (error) {
      opening = undefined // what is wrong with the settings may be right at the next request
      throw error
    }
  }

  const here: Io = Object.create(io, { cwd: { value: cwd } })
  const logins = createServedLogins(here, flags.mcp ? { mcp: flags.mcp } : {})
  const wikitext = createWikitextRenderer()
  const closing = new AbortController()
  const stopMeasuring = await measureSessions(io, store)
  const server = createServer({
    store,
    auth: { token },
    agentFor: async (request) =>
      isAgentId(request.session.id) ? workflowAgent(agents) : servedSession(request, served()),
    workspaceFor: async (request) =>
      isAgentId(request.session.id) ? undefined : asProblem(() => servedWorkspace(request, served())),
    folderFor: (folder) => asProblem(() => newFolder(folder, io)),
    authorityFor: async () => authority,
    workflowFor: async () => keepingSettings(await asProblem(agents), io),
    about: aboutHere(flags, { flagsNow, io, cwd, logins, wikitext, closing: closing.signal }),
    drafts: textDrafts(join(io.home, 'drafts')),
    allowedHosts: [...loopback, ...hosts],
    allowedOrigins,
    webhooks: { allowPrivate },
    join: joinLocalRuns({ folder: join(io.home, 'run') }),
    mayContinue: (summary) => isOurs(store, summary),
    onError,
  })
  return {
    server,
    async start() {
      await server.start()
      await agents()
        .then((workflow) => workflow.start())
        .then(() => {
          if (!isWaking) notify('another program wakes agents by their schedules; this one takes over when it ends')
        })
        .catch((cause) => onError(new Error('the agents of libero agents cannot be served', { cause })))
    },
    async close() {
      closing.abort()
      logins.close()
      await Promise.all([server.close(), opening?.then((opened) => opened.close()).catch(() => {})])
      await Promise.all([authority.close(), wikitext.close()])
      stopMeasuring()
      await store.close?.()
    },
  }
}

export const loopback = ['localhost', '127.0.0.1', '[::1]']

/** The flags of `libero run` that an agent of a session gets. */
function agentFlags(values: ServeValues): RunValues {
  const {
    port,
    host,
    fleet,
    cwd,
    'allowed-host': hosts,
    'allowed-origin': origins,
    'webhook-host': hooks,
    ...flags
  } = values
  return flags
}

/** Finds what is wrong with flags and settings before a client does, and says what a person must know. */
async function tryOut(flags: RunValues, { io, cwd, notify }: OpenServerOptions): Promise<void> {
  const opened = await openAgent({ ...flags, 'no-session': true }, { command: 'serve', io, cwd, tools: questions })
  for (const notice of opened.notices) notify(notice)
  await opened.close()
}

interface OpenAgentsOptions extends OpenServerOptions {
  readonly store: SessionStore
  readonly onError: (error: Error) => void
  /** Called when this process becomes the one that wakes agents. */
  readonly onWaking: () => void
}

async function openAgents(work: RunValues, options: OpenAgentsOptions): Promise<OpenedWorkflow> {
  const { io, store, notify, onError, onWaking } = options
  const opened = await openWorkflow(io, { command: 'serve', work, store, onError, onWaking })
  for (const notice of [...opened.notices, ...opened.definitions.problems]) notify(notice)
  return opened
}

/** The workflow, whose settings are written to the config when they change. */
const keepingSettings = (workflow: Workflow, io: Io): Workflow =>
  Object.create(workflow, {
    updateSettings: {
      async value(changed: WorkflowSettings) {
        const { changeSettings } = await import('../config/change.ts')
        const { approval, retry } = { ...workflow.settings, ...changed }
        const value = { ...(approval && { approval }), ...(retry && { retry }) }
        await asProblem(() => changeSettings([{ setting: { key: 'agents' }, value }], io))
        await workflow.updateSettings(changed)
      },
    },
  })

/** A message or an answer that was sent to the session of an agent: the workflow works on it, with the agent's own prompts and tools. */
const workflowAgent = (agents: () => Promise<OpenedWorkflow['workflow']>): ServedAgent => ({
  agent: {
    run: async () => {
      await (await agents()).start() // looks for agents that need attention, now
      return undefined as never
    },
    abort() {},
    async leave() {},
    execution: undefined,
  },
  async close() {},
})

/**
 * Whether the server continues a session by itself: what waits in any session, but an interrupted run only if a message of it
 * came over HTTP. The others belong to the program that began them.
 */
async function isOurs(store: SessionStore, summary: SessionSummary): Promise<boolean> {
  if (!isOwnSession(summary)) return false
  if (summary.attention === 'mail' || summary.attention === 'answered') return true
  const isOverHttp = ({ meta }: { readonly meta?: Meta }): boolean => meta?.via === 'http'
  for await (const entry of eachEntryBackwards(store, summary.id)) {
    if ('meta' in entry && isOverHttp(entry)) return true
    if (entry.type === 'turn' && isOverHttp(entry.turn)) return true
    if (entry.type === 'run_started') break
  }
  return (await inboxOf(store, summary.id, summary.head)).some(isOverHttp)
}

const withCause = ({ message, cause }: Error): string =>
  cause === undefined || message.includes(messageOf(cause)) ? message : `${message}: ${messageOf(cause)}`

/** Keeps the unsent texts of clients in files of a folder, one for each session. */
function textDrafts(folder: string): ServerDrafts {
  // Ids come from other programs, so they are no file names.
  const pathOf = (sessionId: string): string => join(folder, `${digestOf(sessionId).slice(0, 32)}.txt`)
  return {
    load: async (sessionId) => (await readTextIfThere(pathOf(sessionId))) ?? '',
    async save(sessionId, text) {
      if (text === '') await rm(pathOf(sessionId), { force: true })
      else await writeFileAtomic(pathOf(sessionId), text)
    },
  }
}

/** The folder of a session with the rules, snapshots and commands that its agent would have. Starts no server and no sandbox. */
async function servedWorkspace(
  { summary, settings }: AgentForRequest,
  { values: flags, io, cwd: begunIn, notify }: ServedSessionOptions,
): Promise<SessionWorkspace> {
  const cwd = await folderOf(summary, begunIn)
  const values = chosenValues(flags, {}, settings)
  const assembly = await assemble(values, { command: 'serve', io, cwd, view: linesView(notify), isIdle: true })
  const { authority, close: closeAssembled } = await agentOptions(assembly, {})
  const { config, execution, thinking } = assembly
  // What earlier runs kept is there even if the settings turn snapshots off now.
  const snapshots = createSnapshots({ ...snapshotOptions(config, assembly), execution })

  /** Undefined if none is set up: a page works without. */
  const modelOf = (session: Session): Promise<ChosenModel | undefined> =>
    asProblem(() =>
      chooseRunModel(values, { session, config, io, mayGoOffline: undefined })
        .then(({ chosen }) => chosen)
        .catch((error: unknown) => {
          if (error instanceof NoModelError) return undefined
          throw error
        }),
    )

  return {
    ...{ execution, authority, snapshots },
    profiles: ['build', 'plan'],
    async settings(session) {
      const chosen = await modelOf(session)
      const { thinking: level = thinking } = settings
      if (chosen) return settingsOf(values, { chosen, thinking: level, authority, config }, cwd)
      return { ...(level && { thinking: level }), profile: assembly.preset, mode: authority.mode, folder: cwd }
    },
    findDecision: findDecision(io),
    models: () => asProblem(() => listChoices(config, io)),
    async commands() {
      const { loadMessageCommands } = await import('../chat-commands/load-commands.ts')
      return (await asProblem(() => loadMessageCommands(io, cwd))).commands
    },
    costOf: async (session) => (await modelOf(session))?.provider.costOf,
    async close() {
      await Promise.all([snapshots.close(), closeAssembled()])
    },
  }
}
