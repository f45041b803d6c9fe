import type { Clock } from '../../core/clock.ts'
import { messageOf } from '../../core/errors.ts'
import type { HookContexts } from '../../core/hook-map.ts'
import { toolResultToText } from '../../core/tool-output.ts'
import type { PromptPart } from '../../core/turn.ts'
import { readAttachments } from '../../plugins/attachments.ts'
import type { AgentInstanceMessage } from '../../plugins/message.ts'
import type { MessageProjection } from '../../plugins/message-projection.ts'
import type { WorkflowDependencies } from '../workflow-contract.ts'
import type { Engine } from './engine.ts'

/** The messages to show if the log could not be written: that of the person, and the error. */
export function unsavedMessages(
  { clock, newId }: Pick<WorkflowDependencies, 'clock' | 'newId'>,
  options: {
    readonly agentId: string
    readonly error: unknown
    readonly round: number
    readonly prompt?: readonly PromptPart[]
    readonly clientKey?: string
  },
): { readonly user?: AgentInstanceMessage; readonly failure: AgentInstanceMessage } {
  const { agentId, error, round, prompt, clientKey = newId() } = options
  const now = clock.now()
  const unsaved = { agentId, created: now, modified: now }
  const metadata = { isComplete: true, isPersisted: false, round }
  const errorDetail = errorDetailOf(error)
  return {
    ...(prompt && {
      user: { id: clientKey, role: 'user', content: readAttachments(prompt).text, ...unsaved, metadata },
    }),
    failure: {
      id: newId(),
      role: 'error',
      content: errorDetail.message,
      ...unsaved,
      metadata: { ...metadata, isError: true, errorDetail },
    },
  }
}

/** The details of an error for a message of role `error`. */
export const errorDetailOf = (error: unknown): { readonly name: string; readonly message: string } => ({
  name: error instanceof Error ? error.name : 'Error',
  message: messageOf(error),
})

/** Results of tools that the log does not have yet, to be shown if it cannot be written. */
export class UnsavedResults {
  readonly #results = new Map<string, HookContexts['tool:transform']>()

  /** Subscribes to a new engine. */
  attach({ agent: { hooks } }: Engine): void {
    hooks.hook('tool:transform', (result) => void this.#results.set(result.callId, result))
    hooks.hook('tool:after', ({ callId }) => void this.#results.delete(callId))
  }

  /** Returns the results as messages, under the ids that they have once they are saved, and forgets them. */
  take(
    { agentId, clock }: Pick<WorkflowDependencies, 'clock'> & { readonly agentId: string },
    messages: MessageProjection,
  ): readonly AgentInstanceMessage[] {
    const calls = new Set(
      messages.messages.flatMap(({ metadata }) => metadata?.calls?.map(({ callId }) => callId) ?? []),
    )
    const now = clock.now()
    const unsaved = [...this.#results.values()].filter(({ callId }) => calls.has(callId)) // others are calls by tools
    this.#results.clear()
    return unsaved.map(({ callId, name, input, result, isError }) => ({
      ...({ id: `${callId}.result`, agentId, role: 'tool', content: toolResultToText(result) } as const),
      ...{ created: now, modified: now },
      metadata: {
        ...{ isToolResult: true, toolId: name, callId, toolParameters: input, round: messages.rounds },
        ...(isError && { isError }),
        ...{ isComplete: true, isPersisted: false },
      },
    }))
  }
}

/** How often a message that is being streamed is shown again. */
const debounceMs = 300

/** An answer while it is streamed: shown with its first piece, then at most every 300 ms, and never after its end. */
export class StreamedMessage {
  readonly #agentId: string
  readonly #clock: Clock
  readonly #show: (message: AgentInstanceMessage) => void
  /** Pieces only change it; it becomes a message when it is shown. */
  #current: { readonly id: string; readonly round: number; readonly created: number; text: string } | undefined
  #cancelTimer: (() => void) | undefined

  constructor(options: { agentId: string; clock: Clock; show: (message: AgentInstanceMessage) => void }) {
    this.#agentId = options.agentId
    this.#clock = options.clock
    this.#show = options.show
  }

  /** `text` is the whole text so far. */
  update(id: string, text: string, round: number): void {
    if (this.#current?.id === id) {
      this.#current.text = text
      this.#cancelTimer ??= this.#clock.timer(debounceMs, () => this.#flush())
      return
    }
    this.#current = { id, round, created: this.#clock.now(), text }
    this.#flush()
  }

  /** Ends the stream, and returns the message as far as it came. */
  end(): AgentInstanceMessage | undefined {
    const last = this.#message()
    this.#cancelTimer?.()
    this.#cancelTimer = this.#current = undefined
    return last
  }

  #flush(): void {
    this.#cancelTimer = undefined
    const message = this.#message()
    if (message) this.#show(message)
  }

  #message(): AgentInstanceMessage | undefined {
    if (!this.#current) return undefined
    const { id, round, created, text: content } = this.#current
    const metadata = { round, isComplete: false, isPersisted: false }
    return { id, agentId: this.#agentId, role: 'assistant', content, created, modified: this.#clock.now(), metadata }
  }
}
