import type { Writable } from 'node:stream'
import { AcpError } from '../../acp/acp-error.ts'
import { clientExecution } from '../../acp/client-execution.ts'
import type { AcpHost, SessionSetup } from '../../acp/host.ts'
import { loadSdk } from '../../acp/load-sdk.ts'
import type { McpServer } from '../../acp/protocol.ts'
import { serveAcp } from '../../acp/serve-acp.ts'
import type { AgentRequest, ChatAgent } from '../../chat/chat.ts'
import type { ChatCommand } from '../../chat/command.ts'
import { createChat } from '../../chat/create-chat.ts'
import { AgentAuthError, messageOf } from '../../core/errors.ts'
import type { SessionStore } from '../../core/store.ts'
import { version } from '../../core/version.ts'
import { checkMcpServers, type McpServerConfig } from '../../mcp/config.ts'
import { fullyVisible, visibleText } from '../../platform/visible-text.ts'
import { pageWhere } from '../../sessions/session-query.ts'
import { askUser } from '../../tools/ask-user.ts'
import { presentPlan } from '../../tools/present-plan.ts'
import { createCliHost } from '../chat/cli-host.ts'
import { openChatAgent } from '../chat/open-chat-agent.ts'
import { builtInCommands, loadCommands } from '../chat-commands/load-commands.ts'
import { CliError } from '../cli-error.ts'
import type { AcpValues } from '../commands/acp.ts'
import type { RunValues } from '../commands/run.ts'
import { loadConfig } from '../config/config.ts'
import { explainFailure } from '../explain-failure.ts'
import { checkWritten } from '../failures/output-failure.ts'
import type { Io } from '../io.ts'
import { chooseModel, NoModelError } from '../models/choose-model.ts'
import type { OpenOptions } from '../run/open-agent.ts'
import { deleteWhole } from '../sessions/delete-whole.ts'
import { realFolder } from '../sessions/session-folder.ts'
import { isOwnSession } from '../sessions/session-id.ts'
import { titlesFor } from '../sessions/session-title.ts'
import { untilStopped } from '../until-stopped.ts'

/** `libero acp`, with stdout reserved for messages. Errors before the first message are thrown. */
export async function acp(values: AcpValues, io: Io, output: Writable): Promise<number> {
  await loadSdk().catch((cause) => {
    throw new CliError(messageOf(cause), undefined, { cause })
  })
  const host = await createEditorHost(values, io)
  try {
    return await untilStopped(io, async (signal) => {
      await serveAcp({ host, input: io.stdin as AsyncIterable<Uint8Array>, output, signal })
      checkWritten(output)
    })
  } finally {
    await host.close()
  }
}

interface EditorHost extends AcpHost {
  close(): Promise<void>
}

/** Sessions and agents of the command line for an editor. One store serves all sessions. */
async function createEditorHost(values: RunValues, io: Io): Promise<EditorHost> {
  // Messages that were queued in a terminal are not sent from here.
  const { first: _, terminal: __, drafts: ___, close, ...shared } = await createCliHost(values, { io, cwd: io.cwd })
  const store = shared.store!
  const titleOf = titlesFor(io.env)
  const said = new Set<string>()
  return {
    version,
    createChat: (setup) =>
      createChat({ ...shared, openAgent: (request) => openEditorAgent(values, request, { io, store, setup }) }),
    sessions: ({ folder, cursor }) =>
      pageWhere(
        store,
        { parent: null, ...(folder !== undefined && { folder: realFolder(folder) }), ...(cursor && { cursor }) },
        (session) => isOwnSession(session) && session.turns > 0,
      ),
    async has(id) {
      const found = await store.find(id)
      return found !== undefined && isOwnSession(found)
    },
    async delete(id) {
      const found = await store.find(id)
      if (!found || !isOwnSession(found)) return
      const [deleted] = await deleteWhole(store, [found], { io, which: 'named' })
      if (!deleted) throw new CliError(`Another program works on session ${id}; end that first`)
    },
    titleOf,
    titleOfStored: async (id) => titleOf((await store.find(id)) ?? {}),
    models: async () => (await shared.models?.()) ?? [],
    commands: (folder) => commandsFor(io, folder),
    async checkLogin() {
      const { config } = await loadConfig({ home: io.home })
      await chooseModel({ provider: values.provider, model: values.model }, config, io)
    },
    explain: (error) => ({
      message: explainFailure(error, { env: io.env }).message,
      needsLogin: error instanceof NoModelError || error instanceof AgentAuthError,
    }),
    report(text) {
      if (said.has(text) || said.size > mostReports) return
      said.add(text)
      io.err(`libero: ${visibleText(text)}`)
    },
    close,
  }
}

/** A limit, so that a faulty client cannot fill a log. */
const mostReports = 200

interface EditorAgentOptions {
  readonly io: Io
  readonly store: SessionStore
  readonly setup: SessionSetup
}

/** What differs from the interactive terminal: the editor asks about one call at a time, and offers files and terminals. */
function openEditorAgent(
  values: RunValues,
  request: AgentRequest,
  { io, store, setup: { cwd, mcpServers, services, canAsk } }: EditorAgentOptions,
): Promise<ChatAgent> {
  const own: Partial<OpenOptions> = {
    command: 'acp',
    person: { ...request.interactor, kinds },
    asksAtOnce: false,
    tools: canAsk ? [askUser, presentPlan] : [presentPlan],
    mayGoOffline: async () => false,
    addedServers: serverConfigs(mcpServers),
    // A container has files of its own, which the editor does not show.
    wrapExecution: (base) => (base.type === 'process' ? clientExecution(base, services) : base),
  }
  const { skill: _, ...later } = values // a session that goes on has it already
  return openChatAgent(request.resume === undefined ? values : later, request, { io, cwd, store, own })
}

/** A project is trusted in a terminal: the question comes before the editor knows the session. */
const kinds = ['Approve', 'grantStageTool', 'Confirm', 'Ask', 'Select', 'Auth.DeviceCode'] as const

/** Commands of files and skills, and those in code that need no screen of ours. */
async function commandsFor(io: Io, folder: string): Promise<readonly ChatCommand[]> {
  const ofScreens = new Set(builtInCommands(io).map(({ name }) => name))
  const { commands } = await loadCommands(io, folder)
  return commands.filter(({ name }) => !ofScreens.has(name) || inEditors.has(name))
}

const inEditors: ReadonlySet<string> = new Set(['compact', 'context', 'cost'])

/** The MCP servers that an editor names. Their names become parts of tool names, so other characters are replaced. */
export function serverConfigs(servers: readonly McpServer[]): readonly McpServerConfig[] {
  const taken = new Set<string>()
  const configs = servers.map((server) => {
    const name = freeName(server.name, taken)
    taken.add(name)
    return configOf(server, name)
  })
  try {
    checkMcpServers(configs)
  } catch (cause) {
    throw new AcpError('invalid', fullyVisible(messageOf(cause)), { cause })
  }
  return configs
}

function configOf(server: McpServer, name: string): McpServerConfig {
  if ('type' in server) {
    const { type, url, headers } = server
    return { name, transport: type === 'sse' ? 'sse' : 'streamable-http', url, headers: recordOf(headers) }
  }
  const { command, args, env } = server
  return { name, transport: 'stdio', command, args, env: recordOf(env) }
}

const recordOf = (list: readonly { readonly name: string; readonly value: string }[]): Record<string, string> =>
  Object.fromEntries(list.map(({ name, value }) => [name, value]))

const longestName = 32

function freeName(given: string, taken: ReadonlySet<string>): string {
  const name = given.replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, longestName) || 'server'
  for (let i = 2, next = name; ; i++) {
    if (!taken.has(next)) return next
    next = `${name.slice(0, longestName - 4)}_${i}`
  }
}
