import type {
  ModelEvent,
  ModelReply,
  ModelRequest,
  Provider,
  ProviderCapabilities,
  StopReason,
} from '../core/provider.ts'
import type { ToolDef } from '../core/tool.ts'
import type { Message, SessionContentBlock, ToolCallBlock, TurnUsage } from '../core/turn.ts'

/**
 * The next reply of the model: a text, calls, a whole reply, an error to throw, events to yield unchanged, or a function
 * of the request that returns one of these.
 */
export type Step = string | readonly ToolCallBlock[] | ScriptedReply | Error | readonly ModelEvent[] | StepFunction
export type StepFunction = (request: ModelRequest, signal: AbortSignal) => Step | Promise<Step>

export interface ScriptedReply {
  readonly thinking?: string
  readonly text?: string
  readonly calls?: readonly ToolCallBlock[]
  readonly content?: readonly SessionContentBlock[]
  readonly usage?: Partial<TurnUsage>
  readonly stop?: StopReason
}

export interface ScriptedProvider extends Provider {
  /** All requests so far, with copies of their lists. */
  readonly requests: ModelRequest[]
  /** Adds to the end of the script. */
  push(...steps: Step[]): void
}

export interface ScriptedOptions {
  readonly name?: string
  readonly model?: string
  readonly capabilities?: ProviderCapabilities
  readonly classifyError?: Provider['classifyError']
  readonly costOf?: Provider['costOf']
  readonly contextWindow?: Provider['contextWindow']
  /** The number of characters in a streamed piece of text. */
  readonly chunk?: number
}

/** A model that plays a script and records its requests. The last argument may be options. */
export function scripted(...script: (Step | { options: ScriptedOptions })[]): ScriptedProvider {
  const { options } = (script.find(isOptions) ?? { options: {} }) as { options: ScriptedOptions }
  const steps = script.filter((step) => !isOptions(step)) as Step[]
  const { name = 'scripted', model = 'script-1', capabilities = {}, chunk = 8 } = options
  const { classifyError, costOf, contextWindow } = options
  const requests: ModelRequest[] = []
  return {
    meta: { name, defaultModel: model, capabilities },
    requests,
    push: (...more) => void steps.push(...more),
    async *stream(request, signal) {
      requests.push({ ...request, messages: [...request.messages], tools: [...request.tools] })
      signal.throwIfAborted()
      let step = steps.shift()
      while (typeof step === 'function') step = await step(request, signal)
      if (step === undefined)
        throw new Error(`the script has no step for request ${requests.length}; add one to scripted(…)`)
      if (step instanceof Error) throw step
      for (const event of isEvents(step) ? step : play(replyOf(step), chunk)) {
        signal.throwIfAborted()
        yield event
      }
    },
    ...(classifyError && { classifyError }),
    ...(costOf && { costOf }),
    ...(contextWindow && { contextWindow }),
  }
}

/** A call, as a script writes it. */
export function call(id: string, name: string, input: Record<string, unknown> = {}): ToolCallBlock {
  return { type: 'tool_call', id, name, input }
}

/** A small tool for tests, which accepts any input. */
export function tool(name: string, execute: ToolDef['execute'], more: Partial<ToolDef> = {}): ToolDef {
  return {
    spec: { name, description: `Test tool ${name}.`, inputSchema: { type: 'object', properties: {} } },
    execute,
    ...more,
  }
}

/** The texts of a list of messages, for short assertions. */
export function texts(messages: readonly Message[]): string[] {
  return messages.map(({ role, content }) => `${role}: ${content.map(shown).join(' ')}`)
}

function shown(block: SessionContentBlock): string {
  if (block.type === 'text' || block.type === 'thinking') return block.text
  if (block.type === 'tool_call') return `→${block.name}(${JSON.stringify(block.input)})`
  if (block.type !== 'tool_result') return `[${block.type}]`
  return `←${typeof block.output === 'string' ? block.output : block.output.map(shown).join(' ')}`
}

const isOptions = (step: unknown): step is { options: ScriptedOptions } =>
  typeof step === 'object' && step !== null && 'options' in step

function isEvents(step: Exclude<Step, StepFunction | Error>): step is readonly ModelEvent[] {
  return (
    Array.isArray(step) && step.length > 0 && step.some((one: { type?: string } | null) => one?.type !== 'tool_call')
  )
}

function replyOf(step: Exclude<Step, StepFunction | Error | readonly ModelEvent[]>): ModelReply {
  if (typeof step === 'string') return replyOf({ text: step })
  if (Array.isArray(step)) return replyOf({ calls: step })
  const { thinking, text, calls = [], content, usage, stop } = step as ScriptedReply
  const blocks: SessionContentBlock[] = [...(content ?? [])]
  if (thinking !== undefined) blocks.push({ type: 'thinking', text: thinking })
  if (text !== undefined) blocks.push({ type: 'text', text })
  blocks.push(...calls)
  const hasCalls = blocks.some((block) => block.type === 'tool_call')
  return {
    type: 'reply',
    content: blocks,
    usage: { input: 10, output: 5, ...usage },
    stop: stop ?? (hasCalls ? 'tool_use' : 'end'),
  }
}

function* play(reply: ModelReply, chunk: number): Generator<ModelEvent> {
  yield { type: 'start' }
  for (const block of reply.content) {
    if (block.type === 'text' || block.type === 'thinking')
      for (let i = 0; i < block.text.length; i += chunk)
        yield { type: block.type, delta: block.text.slice(i, i + chunk) }
    if (block.type !== 'tool_call') continue
    const { id, name, input } = block
    yield { type: 'tool_start', id, name }
    yield { type: 'tool_args', id, delta: typeof input === 'string' ? input : JSON.stringify(input) }
    yield { type: 'tool_end', id }
  }
  yield reply
}
