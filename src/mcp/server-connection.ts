import type { Client } from '@modelcontextprotocol/client'
import type { ExtensionHost } from '../core/run.ts'
import { orAborted } from '../core/waiting.ts'
import { atMost } from '../platform/at-most.ts'
import { AgentClosedError } from './agent-closed-error.ts'
import { callTool } from './call-tool.ts'
import { defaultBootstrapTimeout, type McpServerConfig } from './config.ts'
import type { McpServer } from './connections.ts'
import { secretsOf, toErrorText } from './error-text.ts'
import { isPermanent, withoutSecrets } from './failures.ts'
import {
  createKnownEra,
  createKnownTools,
  type KnownEra,
  type McpMemory,
  type RememberedEra,
  serverKey,
} from './memory.ts'
import { asHeaderRefused, isLoginRequired } from './oauth/login-required.ts'
import type { McpAuthProvider } from './oauth/mcp-oauth-provider.ts'
import { closeClient, type OpenedClient, openClient, ServerEndedError, withExitReason } from './open-client.ts'
import { createDelayedTask, type DelayedTask, Retries } from './retries.ts'
import { createRequestHandlers } from './server-requests.ts'
import { hasChanges, ServerTools } from './server-tools.ts'

interface ServerConnectionOptions extends ExtensionHost {
  readonly memory: McpMemory
  /** `isRequested`: the server asked for a login, whatever its configuration says. */
  authProvider(isRequested: boolean): McpAuthProvider | undefined
  readonly fetch?: typeof globalThis.fetch | undefined
  onToolsChanged(): void
}

/**
 * Keeps the connection to one server for the life of an agent: connects, reconnects after a loss, and gives up after too
 * many failures. There is never more than one connection.
 */
export class ServerConnection {
  readonly config: McpServerConfig
  readonly tools: ServerTools
  state: McpServer['state'] = 'connecting'
  problem: string | undefined
  opened: OpenedClient | undefined
  readonly #options: ServerConnectionOptions
  readonly #requests: ReturnType<typeof createRequestHandlers>
  readonly #era: KnownEra
  readonly #retries: Retries
  readonly #closing = new AbortController()
  readonly #secrets: readonly string[]
  /** A server may report changed tools a thousand times a second; its list is read once. */
  readonly #refresh: DelayedTask
  #opening: Promise<Client> | undefined
  /** Resolves when all earlier connections are closed; only then is another one opened. */
  #closed: Promise<unknown> = Promise.resolve()
  #isLoginRequested = false
  #isFirst = true
  #lastStderr = ''

  constructor(config: McpServerConfig, options: ServerConnectionOptions) {
    this.config = config
    this.#options = options
    this.#secrets = secretsOf(config)
    this.#requests = createRequestHandlers(config, options)
    const { clock, memory } = options
    const key = serverKey(config)
    this.#era = createKnownEra(memory, key, clock)
    this.#retries = new Retries(clock)
    this.#refresh = createDelayedTask(clock, refreshDelayMs, () => this.#readToolsAgain())
    const callOptions = { config, clock, link: this, requests: this.#requests, secrets: this.#secrets }
    this.tools = new ServerTools(config, {
      known: createKnownTools(memory, key),
      call: ({ definition }, input, ctx) => callTool(definition.tool, input, ctx, callOptions),
      onChange: (changes) => {
        options.onToolsChanged()
        if (!this.#isFirst && this.state !== 'closed' && hasChanges(changes))
          void options.hooks.tell('mcp:tools:changed', { ...this.#server, ...changes })
      },
    })
  }

  /** The end of the server's stderr, also after its exit. */
  get stderr(): string {
    return this.opened?.stdio?.stderr ?? this.#lastStderr
  }

  /** The connected client, if there is one. */
  get ready(): Client | undefined {
    return this.state === 'ready' ? this.opened?.client : undefined
  }

  /** The connected client; connects if necessary. Concurrent callers share one attempt. */
  async client(): Promise<Client> {
    if (this.state === 'closed') throw new Error(`The connection to the MCP server "${this.config.name}" was closed`)
    if (this.ready) return this.ready
    if (this.state === 'disabled' && this.#retries.isCoolingDown) throw new Error(`It was given up: ${this.problem}`)
    this.#retries.cancel()
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  /** Drops a connection, for example after an expired session: the next `client()` reconnects. Ignored for an older client. */
  drop(client: Client): void {
    if (this.opened?.client === client) this.#disconnect()
  }

  /** Lets a disabled server be tried again. */
  enable(): void {
    if (this.state !== 'disabled') return
    this.state = 'waiting'
    this.#retries.reset()
  }

  succeeded(): void {
    this.#retries.reset()
  }

  async loginRefused(error: Error, client: Client): Promise<void> {
    if (this.opened && this.opened.client !== client) return
    this.#disconnect()
    await this.#failed(error)
  }

  /** Resolves when nothing of the server is left. */
  async close(): Promise<void> {
    this.state = 'closed'
    this.tools.clear()
    this.#closing.abort(new AgentClosedError())
    this.#retries.cancel()
    this.#refresh.stop()
    await this.#opening?.catch(() => {})
    this.#disconnect()
    await this.#closed
  }

  #disconnect(): void {
    const { opened } = this
    if (!opened) return
    this.#lastStderr = this.stderr
    this.opened = undefined
    this.#trackClosing(closeClient(opened))
  }

  #trackClosing(closing: Promise<unknown>): void {
    this.#closed = Promise.allSettled([
      this.#closed,
      atMost(
        longestCloseMs,
        closing.catch(() => {}),
      ),
    ])
  }

  /** The fields that identify the server in hooks. */
  get #server(): { name: string; transport: string } {
    return { name: this.config.name, transport: this.config.transport }
  }

  async #open(): Promise<Client> {
    const { clock, hooks } = this.#options
    this.state = 'connecting'
    await this.#closed
    const late = new AbortController()
    const cancelTimer = clock.timer(this.config.bootstrapTimeout ?? defaultBootstrapTimeout, () =>
      late.abort(timeoutError(this.config)),
    )
    const signal = AbortSignal.any([late.signal, this.#closing.signal])
    try {
      signal.throwIfAborted()
      const client = await this.#connectWithMemory(signal)
      signal.throwIfAborted()
      this.state = 'ready'
      this.problem = undefined
      this.#retries.connected()
      await hooks.tell('mcp:connect', this.#server)
      return client
    } catch (error) {
      const cause = signal.aborted ? signal.reason : (asHeaderRefused(error, this.config) ?? error)
      this.#disconnect()
      await this.#failed(cause)
      throw withoutSecrets(cause, this.config.name, this.#secrets)
    } finally {
      cancelTimer()
      this.#isFirst = false
    }
  }

  /** Connects with the remembered era, and without it if that fails. */
  async #connectWithMemory(signal: AbortSignal): Promise<Client> {
    const era = await this.#era.get()
    try {
      return await this.#connectAndListTools(era, signal)
    } catch (error) {
      if (!era || signal.aborted || isLoginRequired(error) || isPermanent(error)) throw error
      await this.#era.set(undefined)
      if (error instanceof ServerEndedError) throw error // the next attempt negotiates again
      this.#disconnect()
      await orAborted(this.#closed, signal)
      return this.#connectAndListTools(undefined, signal)
    }
  }

  async #connectAndListTools(era: RememberedEra | undefined, signal: AbortSignal): Promise<Client> {
    this.opened = await this.#connect(era, signal)
    this.#watch(this.opened)
    const { client, era: found, stdio } = this.opened
    try {
      const reading = [this.tools.read(client, signal), this.#requests.requestLogs(client, signal)]
      await orAborted(Promise.all(reading), signal)
    } catch (error) {
      throw withExitReason(error, stdio)
    }
    await this.#era.set(found)
    return client
  }

  /** A server that asks for a login gets one more attempt, with an auth provider if there is one. */
  async #connect(era: RememberedEra | undefined, signal: AbortSignal): Promise<OpenedClient> {
    const { clock, fetch } = this.#options
    const authProvider = this.#options.authProvider(this.#isLoginRequested)
    const opening = openClient(this.config, {
      era,
      authProvider,
      fetch,
      signal,
      now: () => clock.now(),
      client: {
        capabilities: this.#requests.capabilities,
        // Debounced by us: the SDK would wait for a pause, which a hostile server never makes.
        listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => this.#refresh.request() } },
      },
      prepare: (client) => this.#requests.attach(client),
    })
    try {
      return await orAborted(opening, signal)
    } catch (error) {
      this.#trackClosing(opening.then(closeClient))
      if (authProvider || this.#isLoginRequested || !isLoginRequired(error)) throw error
      this.#isLoginRequested = true
      if (!this.#options.authProvider(true)) throw error
      return this.#connect(era, signal)
    }
  }

  #watch(opened: OpenedClient): void {
    opened.client.onclose = () => {
      if (this.opened !== opened) return
      this.#lastStderr = this.stderr
      this.opened = undefined
      void opened.transport.close().catch(() => {})
      if (this.state !== 'ready') return // the attempt to connect reports it
      this.#retries.disconnected()
      const why = opened.stdio?.ending ?? 'the connection was closed'
      void this.#failed(new Error(`The MCP server "${this.config.name}" was lost: ${why}`))
    }
  }

  async #failed(error: unknown): Promise<void> {
    if (this.state === 'closed') return
    const { hooks } = this.#options
    const reason = toErrorText(error, this.#secrets)
    this.problem = reason
    if (isLoginRequired(error)) {
      this.state = 'needs-login'
      await hooks.tell('mcp:auth:required', { name: this.config.name })
    } else if (isPermanent(error) || this.#retries.areExhausted) {
      this.state = 'disabled'
      this.#retries.disable()
      if (!this.#isFirst) await this.#tellError(error)
    } else {
      this.state = 'waiting'
      const { attempt, delayMs } = this.#retries.schedule(() => void this.client().catch(() => {}))
      await hooks.tell('mcp:reconnect', { ...this.#server, attempt, delayMs, reason })
    }
  }

  async #tellError(error: unknown): Promise<void> {
    const shown = withoutSecrets(error, this.config.name, this.#secrets)
    await this.#options.hooks.tell('mcp:error', { ...this.#server, error: shown })
  }

  async #readToolsAgain(): Promise<void> {
    const { opened } = this
    if (!opened) return
    // The list is being read already, and may change once more meanwhile.
    if (this.state !== 'ready') return this.#refresh.request()
    try {
      await this.tools.read(opened.client, this.#closing.signal)
    } catch (error) {
      // The previous list stays.
      if (this.opened === opened) await this.#tellError(error)
    }
  }
}

const refreshDelayMs = 1000
/** Longer than killing a server program takes. */
const longestCloseMs = 15_000

function timeoutError({ name, bootstrapTimeout = defaultBootstrapTimeout }: McpServerConfig): Error {
  const seconds = bootstrapTimeout / 1000
  return new Error(
    `The MCP server "${name}" was not ready within ${seconds} s; raise its bootstrapTimeout if it needs longer`,
  )
}
