import { createIds } from '../../core/clock.ts'
import { memoize } from '../../core/memoize.ts'
import { type ClassifiedError, type ModelRequest, type Provider, plainProvider } from '../../core/provider.ts'
import type { ToolSpec } from '../../core/tool.ts'
import { messagesAsText } from './messages-as-text.ts'
import { originalPlace, type Told } from './original-place.ts'
import { ReplyReader } from './reply-reader.ts'
import { allPatterns, type TextCallPattern } from './text-call-pattern.ts'
import { textToolPrompt, withChoice } from './text-tool-prompt.ts'
import { ToolNames } from './tool-names.ts'

export interface TextToolsOptions {
  /** Forms of calls that are understood beside `<tool_use>` and `<function_call>`. */
  readonly patterns?: readonly TextCallPattern[]
  /** Ids of calls. Default: ids that never repeat, over restarts too. */
  readonly newId?: () => string
}

/** For a model that cannot call tools: it reads of them in its prompt and calls them in its text. Nobody else notices. */
export function withTextTools(provider: Provider, options: TextToolsOptions = {}): Provider {
  const patterns = allPatterns(options.patterns)
  const { newId = createIds() } = options
  const asText = messagesAsText()
  const told = memoize((tools: readonly ToolSpec[]) => ({ prompt: textToolPrompt(tools), names: new ToolNames(tools) }))

  /** Which conversation an error is about. */
  const failures = new WeakMap<object, Told>()

  /** A service speaks of the blocks it was sent. */
  function classify(error: unknown): ClassifiedError | null {
    const found = provider.classifyError?.(error) ?? null
    const conversation = typeof error === 'object' && error !== null ? failures.get(error) : undefined
    if (!found?.refused || !conversation) return found
    return { ...found, refused: originalPlace(found.refused, conversation) }
  }

  function outbound(request: ModelRequest): ModelRequest {
    const { toolChoice, ...same } = request
    const messages = withChoice(asText(request.messages), request.tools.length > 0 ? toolChoice : undefined)
    return { ...same, system: systemOf(request), messages, tools: [] }
  }

  /** Where nothing may be called, whatever looks like a call is only quoted. */
  function readerOf({ tools, toolChoice }: ModelRequest): ReplyReader | undefined {
    if (tools.length === 0 || toolChoice === 'none') return undefined
    const { names } = told(tools)
    return new ReplyReader({ patterns, isKnown: names.isKnown, nameOf: names.meant, newId })
  }

  function systemOf({ system, tools }: ModelRequest): string {
    if (tools.length === 0) return system
    const { prompt } = told(tools)
    return system === '' ? prompt : `${system}\n\n${prompt}`
  }

  return {
    ...plainProvider(provider),
    meta: { ...provider.meta, capabilities: { ...provider.meta.capabilities, textTools: true } },
    ...(provider.classifyError && { classifyError: classify }),
    // One generator and no more: each costs promises for every delta.
    async *stream(request, signal) {
      const sent = outbound(request)
      const conversation = { given: request.messages, sent: sent.messages }
      const reader = readerOf(request)
      try {
        for await (const event of provider.stream(sent, signal)) {
          const placed = event?.type === 'repair' ? originalPlace(event, conversation) : event
          if (!reader) yield placed
          else for (const read of reader.read(placed)) yield read
        }
      } catch (error) {
        if (typeof error === 'object' && error !== null) failures.set(error, conversation)
        throw error
      }
    },
  }
}
