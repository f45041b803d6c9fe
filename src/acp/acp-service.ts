import { stat } from 'node:fs/promises'
import { isAbsolute } from 'node:path'
import type { ModelChoice } from '../chat/chat.ts'
import { fullyVisible } from '../platform/visible-text.ts'
import { AcpError } from './acp-error.ts'
import { AcpSession, notOpen } from './acp-session.ts'
import type { ClientServices } from './client-execution.ts'
import type { AcpHost } from './host.ts'
import type { AgentContext, ClientCapabilities, InitializeResponse, McpServer } from './protocol.ts'
import type { SettingsState } from './session-settings.ts'

interface OpenRequest {
  readonly client: AgentContext
  readonly cwd: string
  readonly mcpServers: readonly McpServer[]
  readonly additionalDirectories?: readonly string[]
  /** Absent for a new session. */
  readonly sessionId?: string
  readonly isReplayed?: true
}

interface OpenedSession extends SettingsState {
  readonly sessionId: string
}

/** The sessions of one client. */
export class AcpService {
  readonly #host: AcpHost
  readonly #sessions = new Map<string, AcpSession>()
  /** Sessions of the store are opened one after the other: the same one may be asked for twice. */
  #opening: Promise<void> = Promise.resolve()
  /** All that are being opened; they never reject. */
  readonly #underWay = new Set<Promise<void>>()
  #capabilities: ClientCapabilities = {}
  #models: Promise<readonly ModelChoice[]> | undefined

  constructor(host: AcpHost) {
    this.#host = host
  }

  initialize(capabilities: ClientCapabilities): InitializeResponse {
    this.#capabilities = capabilities
    void this.#findModels()
    const login = { id: loginId, name: 'Log in', description: 'Store a key, or log in through the browser' }
    return {
      protocolVersion: 1,
      agentInfo: { name: 'libero', title: 'Libero', version: this.#host.version },
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: true, embeddedContext: true },
        mcpCapabilities: { http: true, sse: true },
        sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {} },
      },
      // The client adds the argument to the command that it starts this program with.
      authMethods: [capabilities.auth?.terminal ? { ...login, type: 'terminal', args: ['login'] } : byHand(login)],
    }
  }

  /** The login itself happens in a terminal. */
  async authenticate(methodId: string): Promise<Record<string, never>> {
    if (methodId !== loginId)
      throw new AcpError('invalid', `There is no login "${fullyVisible(methodId)}"; use "login"`)
    await this.#host.checkLogin()
    return {}
  }

  find(id: string): AcpSession | undefined {
    return this.#sessions.get(id)
  }

  session(id: string): AcpSession {
    const found = this.find(id)
    if (!found) throw notOpen(id)
    return found
  }

  open(request: OpenRequest): Promise<OpenedSession> {
    const isStored = request.sessionId !== undefined
    const opened = isStored ? this.#opening.then(() => this.#openNow(request)) : this.#openNow(request)
    const over = opened.then(
      () => void this.#underWay.delete(over),
      () => void this.#underWay.delete(over),
    )
    this.#underWay.add(over)
    if (isStored) this.#opening = over
    return opened
  }

  async #openNow(given: OpenRequest): Promise<OpenedSession> {
    const { client, cwd, mcpServers, additionalDirectories = [], ...request } = given
    const { sessionId: resume, isReplayed } = request
    await checkFolder(cwd)
    if (additionalDirectories.length > 0)
      throw new AcpError('invalid', 'additionalDirectories are not supported; tools work in cwd')
    if (resume !== undefined) await this.#prepare(resume)
    const terminals = new Map<string, string>()
    const opened: { session?: AcpSession } = {} // tools work only after it is known
    const chat = this.#host.createChat({
      cwd,
      mcpServers,
      services: servicesOf(client, this.#capabilities, {
        sessionId: () => opened.session?.id ?? '',
        onTerminal(callId, terminalId) {
          terminals.set(callId, terminalId)
          opened.session?.refresh()
        },
      }),
      canAsk: Boolean(this.#capabilities.elicitation?.form),
    })
    try {
      await chat.open(resume === undefined ? {} : { resume })
      const { sessionId = '' } = chat.state
      const session = new AcpSession({
        ...{ host: this.#host, client, chat, cwd, sessionId, capabilities: this.#capabilities },
        terminalOf: (callId) => terminals.get(callId),
        models: await this.#modelsSoon(),
      })
      opened.session = session
      this.#sessions.set(sessionId, session)
      if (isReplayed) await session.replay()
      this.#beginAfterAnswer(session)
      return { sessionId, ...session.settings }
    } catch (error) {
      if (opened.session) this.#sessions.delete(opened.session.id)
      await (opened.session?.leave() ?? chat.close())
      throw error
    }
  }

  async list({ cwd, cursor }: { readonly cwd?: string | null; readonly cursor?: string | null }) {
    if (cwd && !isAbsolute(cwd)) throw new AcpError('invalid', `cwd must be an absolute path, got ${shown(cwd)}`)
    const { sessions, next } = await this.#host.sessions({ ...(cwd && { folder: cwd }), ...(cursor && { cursor }) })
    return {
      sessions: sessions.map((summary) => {
        const title = this.#host.titleOf(summary)
        const updatedAt = timeText(summary.updatedAt)
        return { sessionId: summary.id, cwd: summary.folder ?? '/', updatedAt, ...(title !== '' && { title }) }
      }),
      ...(next !== undefined && { nextCursor: next }),
    }
  }

  async close(id: string): Promise<Record<string, never>> {
    const session = this.session(id)
    this.#sessions.delete(id)
    await session.close()
    return {}
  }

  async delete(id: string): Promise<Record<string, never>> {
    if (this.#sessions.has(id)) await this.close(id)
    await this.#host.delete(id)
    return {}
  }

  async end(): Promise<void> {
    await Promise.all(this.#underWay)
    await Promise.all([...this.#sessions.values()].map((session) => session.leave()))
  }

  /** A session that is open here is closed first: it may be opened with other servers. */
  async #prepare(id: string): Promise<void> {
    const open = this.#sessions.get(id)
    if (open?.isAtWork)
      throw new AcpError('refused', `Session ${shown(id)} is at work here; cancel its prompt before you open it again`)
    if (open) await this.close(id)
    if (!(await this.#host.has(id)))
      throw new AcpError('not found', `There is no session ${shown(id)}; session/list shows those that can be opened`)
  }

  /** The updates of a session must not come before the answer that names it. */
  #beginAfterAnswer(session: AcpSession): void {
    setImmediate(() => {
      session.begin().catch((error) => this.#host.report(this.#host.explain(error).message))
      void this.#findModels().then((models) => session.offerModels(models))
    })
  }

  #findModels(): Promise<readonly ModelChoice[]> {
    this.#models ??= this.#host.models().catch(() => [])
    return this.#models
  }

  /** The list may take a while where a service of this machine does not answer; it is sent later then. */
  #modelsSoon(): Promise<readonly ModelChoice[]> {
    return Promise.race([
      this.#findModels(),
      new Promise<readonly ModelChoice[]>((resolve) => setTimeout(() => resolve([]), modelsWaitMs).unref()),
    ])
  }
}

const loginId = 'login'
const modelsWaitMs = 1000

function byHand(login: { id: string; name: string; description: string }) {
  return { ...login, description: `${login.description}: run "libero login" in a terminal` }
}

const lastDay = Date.UTC(9999, 11, 31)

/** An import may have any time. */
const timeText = (at: number): string => new Date(at > 0 ? Math.min(at, lastDay) : 0).toISOString()

const shown = (text: string): string => JSON.stringify(fullyVisible(text.slice(0, 200)))

async function checkFolder(cwd: string): Promise<void> {
  if (!isAbsolute(cwd)) throw new AcpError('invalid', `cwd must be an absolute path, got ${shown(cwd)}`)
  const info = await stat(cwd).catch((cause) => {
    throw new AcpError('invalid', `cwd ${shown(cwd)} is gone or may not be entered; open another folder`, { cause })
  })
  if (!info.isDirectory()) throw new AcpError('invalid', `cwd ${shown(cwd)} is a file; name a folder`)
}

/** What this client offers to tools, as far as it says so. */
function servicesOf(
  client: AgentContext,
  { fs, terminal }: ClientCapabilities,
  { sessionId, onTerminal }: { sessionId(): string } & Required<Pick<ClientServices, 'onTerminal'>>,
): ClientServices {
  return {
    ...(fs?.readTextFile && {
      read: async (path) => (await client.request('fs/read_text_file', { sessionId: sessionId(), path })).content,
    }),
    ...(fs?.writeTextFile && {
      write: async (path, content) => {
        await client.request('fs/write_text_file', { sessionId: sessionId(), path, content })
      },
    }),
    ...(terminal && {
      createTerminal: (params) => client.createTerminal({ sessionId: sessionId(), ...params }),
      onTerminal,
    }),
  }
}
