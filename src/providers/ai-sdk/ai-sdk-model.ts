import { memoize } from '../../core/memoize.ts'
import { wellFormed } from '../../core/plain-json.ts'
import type { ModelReply, ModelRequest } from '../../core/provider.ts'
import type { ToolSpec } from '../../core/tool.ts'
import type { ProviderData } from '../../core/turn.ts'
import type { AiSdkModel, AiSdkOptions, LoadedModel } from './ai-sdk.ts'
import { classifyAiSdkError, failureOf } from './ai-sdk-error.ts'
import { originOf, type PromptMessage, type PromptTarget, promptWriter } from './ai-sdk-prompt.ts'
import { PartReader, type StreamPart } from './ai-sdk-stream.ts'

/** Streams from a language model of the AI SDK. */
export function loadedModel(model: AiSdkModel, options: AiSdkOptions): LoadedModel {
  const { name = model.provider, capabilities } = options
  const target: PromptTarget = {
    version: model.specificationVersion,
    provider: name,
    model: model.modelId,
    imageInToolResult: capabilities?.imageInToolResult ?? false,
  }
  const callOptions = optionsWriter(model, target, options)

  return {
    async *stream(request, signal) {
      signal.throwIfAborted()
      if (request.model !== model.modelId)
        throw new TypeError(
          `this provider has only the model "${model.modelId}", but "${request.model}" was requested; ` +
            'make another one with aiSdk() for that model',
        )
      const reader = (await opened(model, { ...callOptions(request), abortSignal: signal }, signal)).getReader()
      // Not awaited: it may take any time.
      const cancel = (): void => void reader.cancel(signal.reason).catch(() => {})
      signal.addEventListener('abort', cancel, { once: true })
      const parts = new PartReader(originOf(target))
      let isStarted = false
      try {
        // Reads past the `finish` part to the end, because a wrapper of the model may add parts there.
        for (;;) {
          const { done, value } = await reader.read()
          signal.throwIfAborted()
          if (done) break
          const part = value as StreamPart
          if (part?.type === 'error') throw failureOf(part.error)
          if (!isStarted) yield { type: 'start' }
          isStarted = true
          for (const event of parts.read(part)) yield event
        }
        for (const event of parts.end()) yield event.type === 'reply' ? await withCost(event, model, options) : event
      } catch (error) {
        signal.throwIfAborted() // an abort may surface as any error
        throw error
      } finally {
        signal.removeEventListener('abort', cancel)
        cancel()
      }
    },

    classifyError: classifyAiSdkError,
  }
}

/** The reply with its cost, if that is known. */
async function withCost(reply: ModelReply, { modelId }: AiSdkModel, { costOf }: AiSdkOptions): Promise<ModelReply> {
  const { usage } = reply
  const cost = usage.cost ?? (await costOf?.(modelId, usage))
  return cost === undefined ? reply : { ...reply, usage: { ...usage, cost } }
}

/** Writes the options of a call, without its signal. */
function optionsWriter(
  { provider }: AiSdkModel,
  target: PromptTarget,
  { capabilities, providerOptions }: AiSdkOptions,
): (request: ModelRequest) => object {
  const writePrompt = promptWriter(target)
  const takesBreakpoints = provider.startsWith('anthropic')
  const { structuredOutput = false } = capabilities ?? {}
  const hasStructuredOutput = typeof structuredOutput === 'function' ? structuredOutput(target.model) : structuredOutput
  const tools = memoize((specs: readonly ToolSpec[]) => specs.map(toolOf))
  const toolsWithBreakpoint = memoize((specs: readonly ToolSpec[]) => withBreakpointAtEnd(tools(specs)))

  return (request) => {
    const { system, messages, maxTokens, thinking, toolChoice, outputSchema } = request
    const hasBreakpoints = request.cache && takesBreakpoints
    const conversation = writePrompt(messages)
    const systemPrompt: PromptMessage[] = system === '' ? [] : [{ role: 'system', content: wellFormed(system) }]
    const prompt = hasBreakpoints
      ? [...withBreakpointAtEnd(systemPrompt), ...withBreakpointAtEnd(conversation)]
      : [...systemPrompt, ...conversation]
    const hasReasoning = target.version === 'v4' && thinking !== 'off' && thinking !== 'adaptive'
    const forced = typeof toolChoice === 'object' ? toolChoice.name : undefined
    return {
      prompt,
      maxOutputTokens: maxTokens,
      ...(request.tools.length > 0 && { tools: (hasBreakpoints ? toolsWithBreakpoint : tools)(request.tools) }),
      ...(toolChoice === 'none' && { toolChoice: { type: 'none' } }),
      ...(forced !== undefined && { toolChoice: { type: 'tool', toolName: forced } }),
      ...(outputSchema && hasStructuredOutput && !forced && { responseFormat: { type: 'json', schema: outputSchema } }),
      ...(hasReasoning && { reasoning: thinking }),
      ...(providerOptions && { providerOptions }),
    }
  }
}

const toolOf = ({ name, description, inputSchema }: ToolSpec): AiSdkTool => ({
  type: 'function',
  name,
  description,
  inputSchema,
})

type AiSdkTool = { readonly type: 'function'; readonly providerOptions?: ProviderData } & ToolSpec

/** The same list, with a cache breakpoint at its end. */
function withBreakpointAtEnd<Item extends { readonly providerOptions?: ProviderData }>(
  list: readonly Item[],
): readonly Item[] {
  const last = list.at(-1)
  if (!last) return list
  const anthropic = { ...(last.providerOptions?.anthropic as object | undefined), cacheControl: { type: 'ephemeral' } }
  return [...list.slice(0, -1), { ...last, providerOptions: { ...last.providerOptions, anthropic } }]
}

/** Opens the stream. Rejects as soon as the signal aborts, even if the model ignores it. */
function opened(model: AiSdkModel, options: object, signal: AbortSignal): Promise<ReadableStream<unknown>> {
  const opening = (async () => (await model.doStream(options)).stream)()
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      reject(signal.reason)
      opening.then((stream) => stream.cancel(signal.reason)).catch(() => {})
    }
    signal.addEventListener('abort', abort, { once: true })
    opening.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
