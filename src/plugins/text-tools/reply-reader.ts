import type { ModelEvent, ModelReply } from '../../core/provider.ts'
import { CallScanner } from './call-scanner.ts'
import { CallSpacing, readReplyBlocks } from './reply-blocks.ts'
import type { Scanned, ScanOptions } from './text-call-pattern.ts'

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
