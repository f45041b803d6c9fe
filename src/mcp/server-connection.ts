import type { Client } from '@modelcontextprotocol/client'
import type { ExtensionHost } from '../core/run.ts'
import { atMost } from '../platform/at-most.ts'
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
import { ServerTools, type ToolChanges } from './server-tools.ts'
import { waitUnless } from './wait-unless.ts'

export interface ServerConnectionOptions extends ExtensionHost {
  readonly memory: McpMemory
  /** Who signs in; `isWanted` where the server said that somebody has to, whatever its configuration says. */
  authProvider(isWanted: boolean): McpAuthProvider | undefined
  readonly fetch?: typeof globalThis.fetch | undefined
  /** The tools are another set. */
  onTools(): void
}

/** One server for as long as an agent lives: connected, lost, connected again, given up. There is never more than one connection. */
export class ServerConnection {
  readonly config: McpServerConfig
  readonly tools: ServerTools
  state: McpServer['state'] = 'connecting'
  problem: string | undefined
  opened: OpenedClient | undefined
  readonly #options: ServerConnectionOptions
  readonly #answers: ReturnType<typeof createRequestHandlers>
  readonly #era: KnownEra
  readonly #retries: Retries
  readonly #closing = new AbortController()
  readonly #secrets: readonly string[]
  /** A server may say a thousand times a second that its tools changed; it is asked once. */
  readonly #refresh: DelayedTask
  #opening: Promise<Client> | undefined
  /** What is still being let go of; until then there is no room for another. */
  #leaving: Promise<unknown> = Promise.resolve()
  #wantsLogin = false
  #isFirst = true
  #lastWords = ''

  constructor(config: McpServerConfig, options: ServerConnectionOptions) {
    this.config = config
    this.#options = options
    this.#secrets = secretsOf(config)
    this.#answers = createRequestHandlers(config, options)
    const { clock, memory } = options
    const key = serverKey(config)
    this.#era = createKnownEra(memory, key, clock)
    this.#retries = new Retries(clock)
    this.#refresh = createDelayedTask(clock, refreshPauseMs, () => this.#readAgain())
    const calling = { config, clock, link: this, answers: this.#answers, secrets: this.#secrets }
    this.tools = new ServerTools(config, {
      known: createKnownTools(memory, key),
      call: ({ definition }, input, ctx) => callTool(definition.tool, input, ctx, calling),
      onChange: (changes) => {
        options.onTools()
        if (!this.#isFirst && this.state !== 'closed' && hasAny(changes))
          void options.hooks.tell('mcp:tools:changed', { ...this.#about, ...changes })
      },
    })
  }

  /** The end of what it wrote, also after its own end. */
  get stderr(): string {
    return this.opened?.stdio?.stderr ?? this.#lastWords
  }

  /** The connection, if there is one. */
  get ready(): Client | undefined {
    return this.state === 'ready' ? this.opened?.client : undefined
  }

  /** The connection, made if there is none. However many ask, there is one attempt at a time. */
  async client(): Promise<Client> {
    if (this.state === 'closed') throw new Error(`The connection to the MCP server "${this.config.name}" was closed`)
    if (this.ready) return this.ready
    if (this.state === 'disabled' && this.#retries.isLeftAlone) throw new Error(`It was given up: ${this.problem}`)
    this.#retries.cancel()
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  /** The next `client()` makes another connection, as after an expired session. Of several calls that lost the same one, the first does it. */
  drop(client: Client): void {
    if (this.opened?.client === client) this.#letGo()
  }

  /** What was given up gets another chance. */
  forgive(): void {
    if (this.state !== 'disabled') return
    this.state = 'waiting'
    this.#retries.forget()
  }

  /** A call that worked says that the server is sound. */
  worked(): void {
    this.#retries.forget()
  }

  /** It turned out in a call that somebody has to log in. */
  async needsLogin(error: Error, client: Client): Promise<void> {
    if (this.opened && this.opened.client !== client) return
    this.#letGo()
    await this.#failed(error)
  }

  /** Nothing of the server is left when it resolves. */
  async close(): Promise<void> {
    this.state = 'closed'
    this.tools.clear()
    this.#closing.abort(new Error('the agent is going away'))
    this.#retries.cancel()
    this.#refresh.stop()
    await this.#opening?.catch(() => {})
    this.#letGo()
    await this.#leaving
  }

  #letGo(): void {
    const { opened } = this
    if (!opened) return
    this.#lastWords = this.stderr
    this.opened = undefined
    this.#leave(closeClient(opened))
  }

  #leave(work: Promise<unknown>): void {
    this.#leaving = Promise.allSettled([
      this.#leaving,
      atMost(
        mostLeavingMs,
        work.catch(() => {}),
      ),
    ])
  }

  get #about(): { name: string; transport: string } {
    return { name: this.config.name, transport: this.config.transport }
  }

  async #open(): Promise<Client> {
    const { clock, hooks } = this.#options
    this.state = 'connecting'
    await this.#leaving
    const late = new AbortController()
    const off = clock.timer(this.config.bootstrapTimeout ?? defaultBootstrapTimeout, () =>
      late.abort(tooLate(this.config)),
    )
    const signal = AbortSignal.any([late.signal, this.#closing.signal])
    try {
      signal.throwIfAborted()
      const client = await this.#begin(signal)
      signal.throwIfAborted()
      this.state = 'ready'
      this.problem = undefined
      this.#retries.connected()
      await hooks.tell('mcp:connect', this.#about)
      return client
    } catch (error) {
      const cause = signal.aborted ? signal.reason : (asHeaderRefused(error, this.config) ?? error)
      this.#letGo()
      await this.#failed(cause)
      throw withoutSecrets(cause, this.config.name, this.#secrets)
    } finally {
      off()
      this.#isFirst = false
    }
  }

  /** With what is remembered about the server, and, should that not hold any more, without. */
  async #begin(signal: AbortSignal): Promise<Client> {
    const era = await this.#era.get()
    try {
      return await this.#greet(era, signal)
    } catch (error) {
      if (!era || signal.aborted || isLoginRequired(error) || isPermanent(error)) throw error
      await this.#era.set(undefined)
      if (error instanceof ServerEndedError) throw error // the next attempt finds out anew
      this.#letGo()
      await waitUnless(signal, this.#leaving)
      return this.#greet(undefined, signal)
    }
  }

  async #greet(era: RememberedEra | undefined, signal: AbortSignal): Promise<Client> {
    this.opened = await this.#connect(era, signal)
    this.#watch(this.opened)
    const { client, era: found, stdio } = this.opened
    try {
      await waitUnless(signal, Promise.all([this.tools.read(client, signal), this.#answers.listen(client, signal)]))
    } catch (error) {
      throw withExitReason(error, stdio)
    }
    await this.#era.set(found)
    return client
  }

  /** A server that says only now that it wants a login gets one more attempt, with whoever can sign in. */
  async #connect(era: RememberedEra | undefined, signal: AbortSignal): Promise<OpenedClient> {
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
        // The library would wait until a server has paused, which one that never does could make it do for ever.
        listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => this.#refresh.request() } },
      },
      prepare: (client) => this.#answers.attach(client),
    })
    try {
      return await waitUnless(signal, opening)
    } catch (error) {
      this.#leave(opening.then(closeClient))
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
      this.#retries.lost()
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
    } else if (isPermanent(error) || this.#retries.areOver) {
      this.state = 'disabled'
      this.#retries.giveUp()
      if (!this.#isFirst) await this.#tellError(error)
    } else {
      this.state = 'waiting'
      const { attempt, delayMs } = this.#retries.later(() => void this.client().catch(() => {}))
      await hooks.tell('mcp:reconnect', { ...this.#about, attempt, delayMs, reason })
    }
  }

  async #tellError(error: unknown): Promise<void> {
    const shown = withoutSecrets(error, this.config.name, this.#secrets)
    await this.#options.hooks.tell('mcp:error', { ...this.#about, error: shown })
  }

  async #readAgain(): Promise<void> {
    const { opened } = this
    if (!opened) return
    // Its tools are being read, and may change once more while they are.
    if (this.state !== 'ready') return this.#refresh.request()
    try {
      await this.tools.read(opened.client, this.#closing.signal)
    } catch (error) {
      // What it offered before stays; half a list is none.
      if (this.opened === opened) await this.#tellError(error)
    }
  }
}

const hasAny = ({ added, removed, changed }: ToolChanges): boolean => added.length + removed.length + changed.length > 0

const refreshPauseMs = 1000
/** A program is killed long before; what else would not go is not waited for. */
const mostLeavingMs = 15_000

function tooLate({ name, bootstrapTimeout = defaultBootstrapTimeout }: McpServerConfig): Error {
  const seconds = bootstrapTimeout / 1000
  return new Error(
    `The MCP server "${name}" was not ready within ${seconds} s; raise its bootstrapTimeout if it needs longer`,
  )
}
