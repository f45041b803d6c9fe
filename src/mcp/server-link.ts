import type { Client, OAuthClientProvider } from '@modelcontextprotocol/client'
import type { ExtensionHost } from '../core/run.ts'
import { createAnswers } from './answers.ts'
import { callTool } from './call-tool.ts'
import { defaultBootstrapTimeout, type McpServerConfig } from './config.ts'
import type { McpServer } from './connections.ts'
import { isPermanent } from './failures.ts'
import { createKnownTools } from './known-tools.ts'
import type { McpMemory, RememberedServer } from './memory.ts'
import { isLoginRequired } from './oauth/login-required.ts'
import { letGoOf, type OpenedClient, openClient } from './open-client.ts'
import { toErrorText } from './results/to-error-text.ts'
import { serverKey } from './server-key.ts'
import { ServerTools } from './server-tools.ts'
import { waitUnless } from './wait-unless.ts'

export interface LinkOptions extends ExtensionHost {
  readonly memory: McpMemory
  /** Who signs in; `isWanted` where the server said that somebody has to, whatever its configuration says. */
  authProvider(isWanted: boolean): OAuthClientProvider | undefined
  readonly fetch?: typeof globalThis.fetch | undefined
  /** The tools are another set. */
  onTools(): void
}

/** One server for as long as an agent lives: connected, lost, connected again, given up. There is never more than one connection. */
export class ServerLink {
  readonly config: McpServerConfig
  readonly tools: ServerTools
  state: McpServer['state'] = 'connecting'
  problem: string | undefined
  opened: OpenedClient | undefined
  readonly #options: LinkOptions
  readonly #answers: ReturnType<typeof createAnswers>
  readonly #key: string
  readonly #closing = new AbortController()
  #opening: Promise<Client> | undefined
  #wantsLogin = false
  #isFirst = true
  #failures = 0
  #readySince = 0
  #lastWords = ''
  #cancelRetry: (() => void) | undefined
  #cancelRefresh: (() => void) | undefined

  constructor(config: McpServerConfig, options: LinkOptions) {
    this.config = config
    this.#options = options
    this.#key = serverKey(config)
    this.#answers = createAnswers(config, options)
    const { clock } = options
    const calling = { config, clock, link: this, answers: this.#answers, secrets: secretsOf(config) }
    this.tools = new ServerTools(config, {
      known: createKnownTools(options.memory, this.#key),
      call: ({ definition }, input, ctx) => callTool(definition.tool, input, ctx, calling),
      onChange: (changes) => {
        options.onTools()
        if (!this.#isFirst && this.state !== 'closed')
          void options.hooks.tell('mcp:tools:changed', { ...this.#about, ...changes })
      },
    })
  }

  /** The end of what it wrote, also after its own end. */
  get stderr(): string {
    return this.opened?.stdio?.stderr ?? this.#lastWords
  }

  /** The connection, made if there is none. However many ask, there is one attempt at a time. */
  async client(): Promise<Client> {
    if (this.state === 'closed') throw new Error(`The connection to the MCP server "${this.config.name}" was closed`)
    if (this.opened && this.state === 'ready') return this.opened.client
    this.#cancelRetry?.()
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  /** The next `client()` makes another connection, as after an expired session. */
  async drop(): Promise<void> {
    const { opened } = this
    this.opened = undefined
    if (opened) await letGoOf(opened)
  }

  /** A call that worked says that the server is sound. */
  worked(): void {
    this.#failures = 0
  }

  /** It turned out in a call that somebody has to log in. */
  async needsLogin(error: Error): Promise<void> {
    await this.drop()
    await this.#failed(error)
  }

  /** Nothing of the server is left when it resolves. */
  async close(): Promise<void> {
    this.state = 'closed'
    this.tools.clear()
    this.#closing.abort(new Error('the agent is going away'))
    this.#cancelRetry?.()
    this.#cancelRefresh?.()
    await this.#opening?.catch(() => {})
    await this.drop()
  }

  get #about(): { name: string; transport: string } {
    return { name: this.config.name, transport: this.config.transport }
  }

  async #open(): Promise<Client> {
    const { clock, hooks, memory } = this.#options
    this.state = 'connecting'
    const late = new AbortController()
    const off = clock.timer(this.config.bootstrapTimeout ?? defaultBootstrapTimeout, () =>
      late.abort(tooLate(this.config)),
    )
    const signal = AbortSignal.any([late.signal, this.#closing.signal])
    try {
      const remembered = await memory.get(this.#key).catch(() => undefined)
      this.opened = await this.#connect(remembered?.era, signal)
      this.#watch(this.opened)
      const { client, era } = this.opened
      await waitUnless(signal, this.tools.read(client, signal))
      await memory.set(this.#key, { ...(await memory.get(this.#key)), era })
      signal.throwIfAborted()
      this.state = 'ready'
      this.problem = undefined
      this.#readySince = clock.now()
      await hooks.tell('mcp:connect', this.#about)
      return client
    } catch (error) {
      const cause = signal.aborted ? signal.reason : error
      await this.drop()
      await this.#failed(cause)
      throw cause
    } finally {
      off()
      this.#isFirst = false
    }
  }

  /** A server that says only now that it wants a login gets one more attempt, with whoever can sign in. */
  async #connect(era: RememberedServer['era'], signal: AbortSignal): Promise<OpenedClient> {
    const { clock, fetch } = this.#options
    const authProvider = this.#options.authProvider(this.#wantsLogin)
    const opening = openClient(this.config, {
      era,
      authProvider,
      fetch,
      signal,
      now: () => clock.now(),
      client: {
        capabilities: this.#answers.capabilities,
        listChanged: { tools: { autoRefresh: false, onChanged: () => this.#refreshSoon() } },
      },
      prepare: (client) => this.#answers.attach(client),
    })
    try {
      return await waitUnless(signal, opening, letGoOf)
    } catch (error) {
      if (authProvider || this.#wantsLogin || !isLoginRequired(error)) throw error
      this.#wantsLogin = true
      if (!this.#options.authProvider(true)) throw error
      return this.#connect(era, signal)
    }
  }

  /** A connection that ends by itself is made again, after a pause that grows. */
  #watch(opened: OpenedClient): void {
    opened.client.onclose = () => {
      if (this.opened !== opened) return
      this.#lastWords = this.stderr
      this.opened = undefined
      void opened.transport.close().catch(() => {})
      if (this.state !== 'ready') return // whoever is waiting for it hears of it
      if (this.#options.clock.now() - this.#readySince > soundAfterMs) this.#failures = 0
      const why = opened.stdio?.ending ?? 'the connection was closed'
      void this.#failed(new Error(`The MCP server "${this.config.name}" was lost: ${why}`))
    }
  }

  async #failed(error: unknown): Promise<void> {
    if (this.state === 'closed') return
    const { hooks, clock } = this.#options
    const reason = toErrorText(error, secretsOf(this.config))
    this.problem = reason
    if (isLoginRequired(error)) {
      this.state = 'needs-login'
      await hooks.tell('mcp:auth:required', { name: this.config.name })
    } else if (isPermanent(error) || this.#failures >= mostRetries) {
      this.state = 'disabled'
      if (!this.#isFirst) await hooks.tell('mcp:error', { ...this.#about, error })
    } else {
      this.state = 'waiting'
      const delayMs = firstDelayMs * 2 ** this.#failures++
      this.#cancelRetry = clock.timer(delayMs, () => void this.client().catch(() => {}))
      await hooks.tell('mcp:reconnect', { ...this.#about, attempt: this.#failures, delayMs, reason })
    }
  }

  /** A server may say it a thousand times a second; it is asked once. */
  #refreshSoon(): void {
    if (this.#cancelRefresh || this.state === 'closed') return
    const { clock, hooks } = this.#options
    this.#cancelRefresh = clock.timer(refreshPauseMs, async () => {
      this.#cancelRefresh = undefined
      try {
        if (this.opened) await this.tools.read(this.opened.client, this.#closing.signal)
      } catch (error) {
        // What it offered before stays; half a list is none.
        if (this.opened) await hooks.tell('mcp:error', { ...this.#about, error })
      }
    })
  }
}

const firstDelayMs = 500
const mostRetries = 5
const soundAfterMs = 30_000
const refreshPauseMs = 1000

function tooLate({ name, bootstrapTimeout = defaultBootstrapTimeout }: McpServerConfig): Error {
  const seconds = bootstrapTimeout / 1000
  return new Error(
    `The MCP server "${name}" was not ready within ${seconds} s; raise its bootstrapTimeout if it needs longer`,
  )
}

/** What must not be repeated to anybody. */
const secretsOf = ({ headers = {}, env = {} }: McpServerConfig): string[] => [
  ...Object.values(headers),
  ...Object.values(env),
]
