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

interface Executed {
  readonly callId: string
  readonly name: string
  readonly input: Calls[number]['parameters']
  readonly turnId: string
  readonly output: unknown
  readonly isError: boolean
  readonly metadata: unknown
}

/** How long plugins may take to handle the end of a run. */
const endGraceMs = 5_000

/** One run as plugins see it: their hooks, created for this run, and the contexts of those hooks. */
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
  /** The calls whose results were passed to plugins. */
  readonly #reported = new Set<string>()
  #system = ''
  /** Why the prompt of the next request could not be built. */
  #promptError: AgentError | undefined
  /** The marks of the results of this round. */
  readonly #results: ToolMarks[] = []
  readonly #unsubscribe: () => void
  /** The model asked for the current calls to run in parallel. */
  isParallel = false
  /** The model could have asked for that, and did not. */
  isInOrder = false

  constructor(run: Run, views: LogViews, options: ExecutionOptions) {
    this.#run = run
    this.#views = views
    this.#options = options
    this.#hooks = createPluginHooks(options.plugins, options.onError)
    this.#unsubscribe = run.log.subscribe((entry) => {
      if (entry.type === 'call_result') this.#results.push(marksOf(entry.details))
    })
  }

  async onTurns(turns: readonly SessionTurn[]): Promise<void> {
    for (const { id: turnId, createdAt } of turns) {
      for (const message of this.#views.messages.userMessagesOf(turnId)) {
        const received = { content: userContentOf(message), messageId: message.id, timestamp: createdAt }
        await this.#hooks.series('userMessageReceived', { ...this.#shared(), ...received })
        await this.enter('working')
      }
    }
  }

  /** Calls the hook once for each new state. */
  async enter(state: AgentState): Promise<void> {
    if (this.#state === state) return
    this.#state = state
    const status: AgentInstanceLatestStatus = { ...this.#views.messages.status, state, modified: this.#run.clock.now() }
    await this.#hooks.series('agentStatusChanged', { ...this.#shared(), status })
  }

  /** The messages of the next request, from the prompt tree and the part of the conversation that is still sent. */
  async prompt(messages: readonly Message[]): Promise<readonly Message[]> {
    await this.enter('working')
    this.#promptError = undefined
    try {
      return await this.#concat(messages)
    } catch (cause) {
      const source = `config.prompts of definition "${this.#options.agentDef.id}", or the plugin that changes them`
      this.#promptError = new AgentError(`the prompt could not be built: ${messageOf(cause)}; correct ${source}`, {
        cause,
      })
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

  /** A failing hook does not stop a request; without a prompt the model must not be called all the same. */
  requirePrompt(provider: Provider): Provider {
    return {
      ...plainProvider(provider),
      stream: (request, signal) => {
        if (this.#promptError) throw this.#promptError
        return provider.stream(request, signal)
      },
    }
  }

  /** The system text of the tree, followed by that of others. */
  system(others: string): string {
    return [this.#system, others].filter((text) => text !== '').join('\n\n')
  }

  async update({ turnId, text }: HookContexts['stream:text']): Promise<void> {
    const response: AIResponse = { requestId: turnId, content: text, status: 'update' }
    await this.#hooks.series('responseUpdate', this.#responseContext(response))
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
    await this.#hooks.series('responseComplete', this.#responseContext(this.#response))
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
    await this.#report({ callId, name, input, turnId, output, isError, metadata })
  }

  /** Reports the results of calls that never ran. */
  async onResults({ resultTurn, turnId }: HookContexts['tool-results:after']): Promise<void> {
    const results = resultTurn.content.filter((block): block is ToolResultBlock => block.type === 'tool_result')
    for (const { callId, output, isError = false } of results) {
      const call = this.#calls.find((one) => one.callId === callId)
      if (!call) continue
      const { toolId: name, parameters: input } = call
      await this.#report({ callId, name, input, turnId, output, isError, metadata: undefined })
    }
  }

  async #report({ callId, name, input, turnId, output, isError, metadata }: Executed): Promise<void> {
    if (this.#reported.has(callId) || !this.#hooks.has('toolExecuted')) return
    this.#reported.add(callId)
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

  /** Runs a tool of `llmToolSchemas`. After a crash there is no response in this execution. */
  async runSchemaTool(
    plugin: PluginDefinition,
    config: Record<string, unknown>,
    call: Calls[number],
    ctx: ToolContext,
  ): Promise<ToolResult> {
    const response = this.#response ?? { requestId: ctx.turnId, content: '', status: 'done' as const }
    const context = this.#responseContext(response)
    const index = this.#options.plugins.findIndex((one) => one.plugin === plugin)
    const owner = { toolConfig: this.#options.plugins[index]!.setup.entry, pluginIndex: index }
    const shared = { ...context, toolCalls: this.#calls.length > 0 ? this.#calls : [call] }
    const result = await answerCall(call, ctx, shared, (helpers) =>
      plugin.onResponseComplete?.({ ...shared, ...owner, ...helpers, config }),
    )
    const problem = resetInvalidYield(shared.actions)
    if (problem) this.#options.onError(pluginProblem(plugin.toolId, 'responseComplete', problem))
    return result
  }

  /** Who is next, at the end of a round. A result that ends the loop takes precedence. */
  next(): { readonly to: 'self' | 'human' | 'end' | undefined; readonly say?: string } {
    const leavesTo = this.#results.splice(0).map((marks) => marks.leavesTo)
    const problem = resetInvalidYield(this.#actions)
    if (problem) this.#options.onError(problem) // set after its hook had returned
    const { yieldNextRoundTo: to, newUserMessage: say } = this.#actions
    this.#actions = {}
    if (leavesTo.includes('human')) return { to: 'human' }
    if (leavesTo.includes('end')) return { to: 'end' }
    return { to: to === 'self' || to === 'human' ? to : undefined, ...(say !== undefined && { say }) }
  }

  /** Calls the hook of the last state, and waits for it only for a while. */
  async end(): Promise<void> {
    this.#unsubscribe()
    const { cancellation, clock } = this.#run
    const ending = this.enter(this.#views.messages.status.state)
    let cancelTimer = (): void => {}
    const late = new Promise<void>((resolve) => {
      cancelTimer = clock.timer(endGraceMs, resolve)
    })
    const cancelled = cancellation.isCancelled ? late : orCancelled(ending, cancellation).catch(() => {})
    await Promise.race([ending, late, cancelled])
    cancelTimer()
  }

  #responseContext(response: AIResponse): Shared<'responseComplete'> {
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
