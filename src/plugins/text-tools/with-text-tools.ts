import { createIds } from '../../core/clock.ts'
import { memoize } from '../../core/memoize.ts'
import type { ModelEvent, ModelReply } from '../../core/provider.ts'
import { type ClassifiedError, type ModelRequest, type Provider, plainProvider } from '../../core/provider.ts'
import type { ToolSpec } from '../../core/tool.ts'
import type { Message } from '../../core/turn.ts'
import { CallScanner } from './call-scanner.ts'
import { messagesAsText, originalPosition, type SentConversation } from './messages-as-text.ts'
import { CallSpacing, readReplyBlocks } from './reply-blocks.ts'
import type { Scanned, ScanOptions } from './text-call-pattern.ts'
import { allPatterns, parallelTag, type TextCallPattern } from './text-call-pattern.ts'
import { toolListText } from './tool-list-text.ts'
import { callText } from './written-call.ts'

/** For a model without native tool calls: its prompt describes the tools, and calls are read from its text. */
export function withTextTools(
  provider: Provider,
  options: {
    /** Forms of calls in addition to `<tool_use>` and `<function_call>`. */
    readonly patterns?: readonly TextCallPattern[]
    /** Creates ids of calls. Default: ids that never repeat, over restarts too. */
    readonly newId?: () => string
  } = {},
): Provider {
  const patterns = allPatterns(options.patterns)
  const { newId = createIds() } = options
  const asText = messagesAsText()
  const describe = memoize((tools: readonly ToolSpec[]) => ({
    prompt: textToolPrompt(tools),
    names: new ToolNames(tools),
  }))

  /** The conversation of each error. */
  const failures = new WeakMap<object, SentConversation>()

  /** Errors of a service name the blocks that were sent. */
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

  /** Without callable tools, calls in the text are only quotes. */
  function readerOf({ tools, toolChoice }: ModelRequest): ReplyReader | undefined {
    if (tools.length === 0 || toolChoice === 'none') return undefined
    const { names } = describe(tools)
    return new ReplyReader({ patterns, isKnown: names.isKnown, nameOf: names.meant, newId })
  }

  function systemOf({ system, tools }: ModelRequest): string {
    if (tools.length === 0) return system
    const { prompt } = describe(tools)
    return system === '' ? prompt : `${system}\n\n${prompt}`
  }

  return {
    ...plainProvider(provider),
    meta: { ...provider.meta, capabilities: { ...provider.meta.capabilities, textTools: true } },
    ...(provider.classifyError && { classifyError: classify }),
    // Only one generator: each one costs promises for every delta.
    async *stream(request, signal) {
      const sent = outbound(request)
      const conversation = { given: request.messages, sent: sent.messages }
      const reader = readerOf(request)
      try {
        for await (const event of provider.stream(sent, signal)) {
          const translated = event?.type === 'repair' ? originalPosition(event, conversation) : event
          if (!reader) yield translated
          else for (const read of reader.read(translated)) yield read
        }
      } catch (error) {
        if (typeof error === 'object' && error !== null) failures.set(error, conversation)
        throw error
      }
    },
  }
}

/** The prompt for a model that writes calls in its text. */
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

/** Adds to the end of a conversation which tool must be called, or that none may be. */
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

/** Finds the tool for a name. Names of MCP tools may be written with hyphens if that is unambiguous. */
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

interface ReplyReaderOptions extends ScanOptions {
  readonly nameOf: (said: string) => string
  readonly newId: () => string
}

/** Turns the events of a model that writes calls in its text into those of a model with native calls. */
export class ReplyReader {
  readonly #options: ReplyReaderOptions
  #scanner: CallScanner | undefined
  readonly #spacing = new CallSpacing()
  /** Calls that were streamed; they have the same ids in the reply. */
  #streamed: { readonly id: string; readonly name: string }[] = []

  constructor(options: ReplyReaderOptions) {
    this.#options = options
  }

  read(event: ModelEvent): ModelEvent[] {
    switch (event?.type) {
      case 'text':
        if (typeof event.delta !== 'string') return [event]
        this.#scanner ??= new CallScanner(this.#options)
        return this.#events(this.#scanner.push(event.delta))
      case 'thinking':
      case 'tool_start':
        return [...this.#rest(), event]
      case 'retry':
        this.#scanner = undefined
        this.#streamed = []
        this.#spacing.startOver()
        return [event]
      case 'reply':
        return [...this.#rest(), this.#reply(event)]
      default:
        return [event]
    }
  }

  /** The events that the scanner held back until the end of a text. */
  #rest(): ModelEvent[] {
    const scanned = this.#scanner?.end() ?? []
    this.#scanner = undefined
    const events = this.#events(scanned)
    this.#spacing.reset()
    return events
  }

  #events(scanned: readonly Scanned[]): ModelEvent[] {
    const events: ModelEvent[] = []
    for (const one of scanned) {
      const event = this.#event(one)
      if (event) events.push(event)
    }
    return events
  }

  #event(one: Scanned): ModelEvent | undefined {
    switch (one.type) {
      case 'text':
        return { type: 'text', delta: this.#spacing.before(one.text) + one.text }
      case 'gap':
        this.#spacing.gap(one.text)
        return undefined
      case 'thought':
        // Calls in a thought were streamed, but are not in the reply.
        this.#streamed = []
        this.#spacing.startOver()
        return undefined
      case 'start': {
        const begun = { id: this.#options.newId(), name: this.#options.nameOf(one.name) }
        this.#streamed.push(begun)
        return { type: 'tool_start', ...begun }
      }
      case 'args':
        return { type: 'tool_args', id: this.#streamed.at(-1)!.id, delta: one.text }
      case 'call':
        this.#spacing.call()
        return { type: 'tool_end', id: this.#streamed.at(-1)!.id }
      case 'void':
        return { type: 'tool_end', id: this.#streamed.pop()!.id }
    }
  }

  #reply(reply: ModelReply): ModelReply {
    if (!Array.isArray(reply.content)) return reply // the engine reports it
    const { newId } = this.#options
    let count = 0
    const idOf = (name: string): string => {
      const streamed = this.#streamed[count++]
      return streamed?.name === name ? streamed.id : newId()
    }
    const content = readReplyBlocks(reply.content, { ...this.#options, idOf })
    if (content === reply.content) return reply
    const native = new Set<unknown>(reply.content)
    const isCalling = content.some((block) => block.type === 'tool_call' && !native.has(block))
    return { ...reply, content, ...(isCalling && { stop: 'tool_use' }) }
  }
}
