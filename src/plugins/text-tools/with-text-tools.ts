import { createIds } from '../../core/clock.ts'
import { memoize } from '../../core/memoize.ts'
import { type ClassifiedError, type ModelRequest, type Provider, plainProvider } from '../../core/provider.ts'
import type { ToolSpec } from '../../core/tool.ts'
import type { Message } from '../../core/turn.ts'
import { messagesAsText, originalPosition, type SentConversation } from './messages-as-text.ts'
import { ReplyReader } from './reply-reader.ts'
import { callText } from './spoken-call.ts'
import { allPatterns, parallelTag, type TextCallPattern } from './text-call-pattern.ts'
import { toolListText } from './tool-list-text.ts'

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
  const failures = new WeakMap<object, SentConversation>()

  /** A service speaks of the blocks it was sent. */
  function classify(error: unknown): ClassifiedError | null {
    const found = provider.classifyError?.(error) ?? null
    const conversation = typeof error === 'object' && error !== null ? failures.get(error) : undefined
    if (!found?.refused || !conversation) return found
    return { ...found, refused: originalPosition(found.refused, conversation) }
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
          const placed = event?.type === 'repair' ? originalPosition(event, conversation) : event
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

/** What a model is told that can call tools only in its text. */
function textToolPrompt(tools: readonly ToolSpec[]): string {
  return `# Tools

You can call the tools below. To call one, write its name and its parameters, as one JSON object, in this form:

${callText('tool_name', '{"parameter":"value"}')}

Write the form as it is, not in a code block. You may say something before it. After your calls stop and wait: what they gave comes in the next message, in <functions_result> blocks. Never write such a block yourself.

Several calls in one answer run one after another. Calls that do not depend on each other may run together:

<${parallelTag}>
${callText('tool_name', '{"parameter":"first"}')}
${callText('tool_name', '{"parameter":"second"}')}
</${parallelTag}>

${toolListText(tools)}`
}

/** The conversation with a last word on which tool must be called, or that none may be; its beginning stays as it is. */
function withChoice(messages: readonly Message[], choice: ModelRequest['toolChoice']): readonly Message[] {
  if (choice === undefined) return messages
  const said = { type: 'text', text: choiceText(choice) } as const
  const last = messages.at(-1)
  if (last?.role !== 'user') return [...messages, { role: 'user', content: [said] }]
  return [...messages.slice(0, -1), { ...last, content: [...last.content, said] }]
}

function choiceText(choice: NonNullable<ModelRequest['toolChoice']>): string {
  if (choice === 'none') return 'Answer this time without calling a tool.'
  return `Answer this time with one call of the tool ${choice.name} and nothing else: ${callText(choice.name, '{…}')}`
}

/** The tool that a model means by a name. Tools of MCP servers may be written with hyphens, where that is clear. */
class ToolNames {
  readonly #names: ReadonlySet<string>
  readonly #hyphened = new Map<string, string | undefined>()

  constructor(tools: readonly ToolSpec[]) {
    this.#names = new Set(tools.map(({ name }) => name))
    for (const name of this.#names) {
      if (!name.startsWith('mcp_')) continue
      const written = name.replaceAll('_', '-')
      this.#hyphened.set(written, this.#hyphened.has(written) ? undefined : name)
    }
  }

  readonly meant = (said: string): string => {
    if (this.#names.has(said)) return said
    return this.#hyphened.get(said.replaceAll('_', '-')) ?? said
  }

  readonly isKnown = (said: string): boolean => this.#names.has(this.meant(said))
}
