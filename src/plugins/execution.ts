import { orCancelled } from '../core/cancellation.ts'
import { AgentError, messageOf } from '../core/errors.ts'
import type { HookContexts } from '../core/hook-map.ts'
import { type Provider, plainProvider } from '../core/provider.ts'
import type { Run } from '../core/run.ts'
import type { ToolContext, ToolResult } from '../core/tool.ts'
import { type Message, type SessionTurn, type ToolResultBlock, textOf, toolCallsOf } from '../core/turn.ts'
import { userContentOf } from './attachments.ts'
import { createPluginHooks } from './create-plugin-hooks.ts'
import { answerCall } from './llm-tool-schemas.ts'
import type { LogViews } from './log-views.ts'
import type { AgentInstanceLatestStatus, AgentState } from './message.ts'
import type { PluginDefinition } from './plugin.ts'
import type {
  AgentFrameworkContext,
  AIResponse,
  PluginActions,
  PluginHooks,
  ResponseContext,
  Shared,
} from './plugin-hooks.ts'
import { type AgentName, agentView, resetInvalidYield } from './plugin-hooks.ts'
import { pluginProblem, type SetUpPlugin } from './plugin-set.ts'
import { concatPrompt, getFinalPromptResult } from './prompts/concat-prompt.ts'
import type { PromptNode } from './prompts/prompt.ts'
import { marksOf, type ToolMarks } from './tool-marks.ts'

export interface ExecutionOptions {
  readonly plugins: readonly SetUpPlugin[]
  readonly prompts: readonly PromptNode[]
  readonly contextWindowSize?: number
  readonly agentDef: AgentFrameworkContext['agentDef']
  readonly agent: AgentName
  readonly onError: (error: Error) => void
}

type Calls = ResponseContext['toolCalls']

/** A call with its result. */
interface Executed {
  readonly callId: string
  readonly name: string
  readonly input: Calls[number]['parameters']
  readonly turnId: string
  readonly output: unknown
  readonly isError: boolean
  readonly metadata: unknown
}

/** How long plugins may take to hear that a run is over. */
const endGraceMs = 5_000

/** One run as plugins see it: their hooks, made for it alone, and what travels through them. */
export class Execution {
  readonly #run: Run
  readonly #options: ExecutionOptions
  readonly #hooks: PluginHooks
  readonly #views: LogViews
  readonly #metadata: Record<string, unknown> = {}
  #actions: PluginActions = {}
  #state: AgentState | undefined
  #response: AIResponse | undefined
  #calls: Calls = []
  /** Results that plugins have been told of. */
  readonly #told = new Set<string>()
  #system = ''
  /** Why there is no prompt for the next request. */
  #noPrompt: AgentError | undefined
  /** What the results of this round say of themselves. */
  readonly #results: ToolMarks[] = []
  readonly #unlisten: () => void
  /** The model asked for the calls under way side by side. */
  isParallel = false
  /** It could have asked for that, and did not. */
  isInOrder = false

  constructor(run: Run, views: LogViews, options: ExecutionOptions) {
    this.#run = run
    this.#views = views
    this.#options = options
    this.#hooks = createPluginHooks(options.plugins, options.onError)
    this.#unlisten = run.log.subscribe((entry) => {
      if (entry.type === 'call_result') this.#results.push(marksOf(entry.details))
    })
  }

  async onTurns(turns: readonly SessionTurn[]): Promise<void> {
    for (const { id: turnId, createdAt } of turns) {
      for (const message of this.#views.messages.userMessagesOf(turnId)) {
        const heard = { content: userContentOf(message), messageId: message.id, timestamp: createdAt }
        await this.#hooks.series('userMessageReceived', { ...this.#shared(), ...heard })
        await this.enter('working')
      }
    }
  }

  /** Once for each state, in order. */
  async enter(state: AgentState): Promise<void> {
    if (this.#state === state) return
    this.#state = state
    const status: AgentInstanceLatestStatus = { ...this.#views.messages.status, state, modified: this.#run.clock.now() }
    await this.#hooks.series('agentStatusChanged', { ...this.#shared(), status })
  }

  /** What the model is shown, out of the tree and what is still sent of the conversation. */
  async prompt(messages: readonly Message[]): Promise<readonly Message[]> {
    await this.enter('working')
    this.#noPrompt = undefined
    try {
      return await this.#concat(messages)
    } catch (cause) {
      const place = `config.prompts of definition "${this.#options.agentDef.id}", or the plugin that changes them`
      const words = `the prompt could not be put together: ${messageOf(cause)}; correct ${place}`
      this.#noPrompt = new AgentError(words, { cause })
      return messages
    }
  }

  async #concat(messages: readonly Message[]): Promise<readonly Message[]> {
    const { prompts, contextWindowSize } = this.#options
    const states = concatPrompt({
      ...this.#shared(),
      hooks: this.#hooks,
      prompts,
      messages: this.#views.durations.of(messages),
      ...(contextWindowSize !== undefined && { contextWindowSize }),
    })
    const result = await getFinalPromptResult(states)
    this.#system = result.system
    return result.messages
  }

  /** A hook that fails does not hold a request up, but without its prompt a model must not be asked. */
  requirePrompt(provider: Provider): Provider {
    return {
      ...plainProvider(provider),
      stream: (request, signal) => {
        if (this.#noPrompt) throw this.#noPrompt
        return provider.stream(request, signal)
      },
    }
  }

  /** The tree's own system text, before what others have to say. */
  system(others: string): string {
    return [this.#system, others].filter((text) => text !== '').join('\n\n')
  }

  async update({ turnId, text }: HookContexts['stream:text']): Promise<void> {
    const response: AIResponse = { requestId: turnId, content: text, status: 'update' }
    await this.#hooks.series('responseUpdate', this.#about(response))
  }

  get hasUpdateHandlers(): boolean {
    return this.#hooks.has('responseUpdate')
  }

  async complete({ turnId, message, stop, error, partial = '' }: HookContexts['turn:after']): Promise<void> {
    const calls = message ? toolCallsOf(message) : []
    this.#calls = calls.map(({ id, name, input }) => ({ callId: id, toolId: name, parameters: input }))
    const isText = this.#run.provider.meta.capabilities?.textTools === true
    this.isInOrder = isText && !calls.every(({ providerData }) => providerData?.parallel === true)
    this.isParallel = calls.length > 1 && !this.isInOrder
    this.#actions = { ...(calls.length > 0 && { toolCalling: this.#calls }) }
    const failed = stop === 'aborted' ? 'cancel' : 'error'
    const errorDetail = error && { name: error.name, message: error.message }
    this.#response = {
      requestId: turnId,
      content: message ? textOf(message) : partial,
      status: message ? 'done' : failed,
      ...(errorDetail && { errorDetail }),
    }
    await this.#hooks.series('responseComplete', this.#about(this.#response))
    if (message) await this.#postProcess(this.#response)
  }

  async #postProcess({ content }: AIResponse): Promise<void> {
    if (!this.#hooks.has('postProcess')) return
    const shared: Shared<'postProcess'> = {
      ...this.#shared(),
      messages: this.#run.log.transcript.turns,
      prompts: [...this.#options.prompts],
      llmResponse: content,
      responses: [{ id: 'response', text: content }],
    }
    for await (const { value } of this.#hooks.waterfall('postProcess', shared))
      this.#metadata.responses = value.responses
  }

  async onToolResult(ctx: HookContexts['tool:after']): Promise<void> {
    const { callId, name, input, turnId, result: output, isError, details: metadata } = ctx
    await this.#tell({ callId, name, input, turnId, output, isError, metadata })
  }

  /** Calls that never ran have a result too. */
  async onResults({ resultTurn, turnId }: HookContexts['tool-results:after']): Promise<void> {
    const results = resultTurn.content.filter((block): block is ToolResultBlock => block.type === 'tool_result')
    for (const { callId, output, isError = false } of results) {
      const call = this.#calls.find((one) => one.callId === callId)
      if (!call) continue
      const { toolId: name, parameters: input } = call
      await this.#tell({ callId, name, input, turnId, output, isError, metadata: undefined })
    }
  }

  async #tell({ callId, name, input, turnId, output, isError, metadata }: Executed): Promise<void> {
    if (this.#told.has(callId) || !this.#hooks.has('toolExecuted')) return
    this.#told.add(callId)
    await this.#hooks.series('toolExecuted', {
      ...this.#shared(),
      toolResult: {
        success: !isError,
        ...(isError ? { error: String(output) } : { data: output }),
        ...(metadata !== undefined && { metadata }),
      },
      toolInfo: { toolId: name, parameters: input, callId },
      requestId: turnId,
    })
  }

  /** What a plugin of the older kind answers to a call. After a crash there was no response in this execution. */
  async runSchemaTool(
    plugin: PluginDefinition,
    config: Record<string, unknown>,
    call: Calls[number],
    ctx: ToolContext,
  ): Promise<ToolResult> {
    const response = this.#response ?? { requestId: ctx.turnId, content: '', status: 'done' as const }
    const about = this.#about(response)
    const index = this.#options.plugins.findIndex((one) => one.plugin === plugin)
    const owner = { toolConfig: this.#options.plugins[index]!.setup.entry, pluginIndex: index }
    const shared = { ...about, toolCalls: this.#calls.length > 0 ? this.#calls : [call] }
    const result = await answerCall(call, ctx, shared, (helpers) =>
      plugin.onResponseComplete?.({ ...shared, ...owner, ...helpers, config }),
    )
    const problem = resetInvalidYield(shared.actions)
    if (problem) this.#options.onError(pluginProblem(plugin.toolId, 'responseComplete', problem))
    return result
  }

  /** Who is next: asked at the end of each round. A result that leaves the loop has the first word. */
  next(): { readonly to: 'self' | 'human' | 'end' | undefined; readonly say?: string } {
    const left = this.#results.splice(0).map(({ leavesTo }) => leavesTo)
    const problem = resetInvalidYield(this.#actions)
    if (problem) this.#options.onError(problem) // somebody kept the actions, and set them later
    const { yieldNextRoundTo: to, newUserMessage: say } = this.#actions
    this.#actions = {}
    if (left.includes('human')) return { to: 'human' }
    if (left.includes('end')) return { to: 'end' }
    return { to: to === 'self' || to === 'human' ? to : undefined, ...(say !== undefined && { say }) }
  }

  /** The end is told after the engine's patience; a plugin that never answers must not hold it up for ever. */
  async end(): Promise<void> {
    this.#unlisten()
    const { cancellation: stop, clock } = this.#run
    const telling = this.enter(this.#views.messages.status.state)
    let callOff = (): void => {}
    const late = new Promise<void>((resolve) => {
      callOff = clock.timer(endGraceMs, resolve)
    })
    const cancelled = stop.isCancelled ? late : orCancelled(telling, stop).catch(() => {})
    await Promise.race([telling, late, cancelled])
    callOff()
  }

  #about(response: AIResponse): Shared<'responseComplete'> {
    return {
      ...this.#shared(),
      response,
      requestId: response.requestId,
      isFinal: response.status !== 'update',
      toolCalls: this.#calls,
      isParallel: this.isParallel,
    }
  }

  #shared(): {
    agentFrameworkContext: AgentFrameworkContext
    metadata: Record<string, unknown>
    actions: PluginActions
  } {
    const { agent, agentDef } = this.#options
    const { log, cancellation: stop } = this.#run
    const agentFrameworkContext: AgentFrameworkContext = {
      agent: agentView(agent, this.#views.messages, log),
      agentDef,
      isCancelled: () => stop.isCancelled,
    }
    return { agentFrameworkContext, metadata: this.#metadata, actions: this.#actions }
  }
}
