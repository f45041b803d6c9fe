import type { AgentEvent, LogEntry, ProvisionalEvent } from '../events/events.ts'
import type { ZotEvent, ZotUsage } from './frames.ts'
import type { RunOutcome } from './host.ts'
import { addUsage, contentOf, noUsage, timeOf } from './zot-content.ts'
import { OpenCalls, ZotTurn } from './zot-turn.ts'

/**
 * Translates our events to zot's: pure, and always in the order of zot's grammar. Shows only the agent itself: no children,
 * no calls made by tools, and no notes to the model beside the prompt.
 */
export class ZotProjection {
  readonly #options: NonNullable<ConstructorParameters<typeof ZotProjection>[0]>
  readonly #shownNames = new Map<string, string>()
  readonly #calls = new OpenCalls()
  #total = noUsage
  #turn: ZotTurn | undefined
  #step = 0
  #hasPrompt = false
  #unconfined: string | undefined
  #isClosed = false
  #hasFailed = false
  /** The last `turn_end` carried an error. */
  #hasReportedError = false

  constructor(
    options: {
      /** The name of a tool for clients, if it differs from the streamed one. */
      readonly toolName?: ((name: string) => string) | undefined
      /** The time of a partial reply, which has none of its own. */
      readonly now?: (() => number) | undefined
      /** For `--json "prompt"`: after a failure `error` is the last frame, without a `done`. */
      readonly isOneShot?: boolean
    } = {},
  ) {
    this.#options = options
  }

  /** The usage since the process began, children and summaries included. */
  get usage(): ZotUsage {
    return this.#total
  }

  /** The name of a tool for clients. */
  readonly nameOf = (name: string): string => this.#options.toolName?.(name) ?? this.#shownNames.get(name) ?? name

  /** The frames for one event. */
  framesFor(event: AgentEvent): readonly ZotEvent[] {
    if ('child' in event) {
      if (event.event.durable) this.#addUsage(event.event.entry)
      return none
    }
    return event.durable ? this.#entry(event.entry) : this.#provisional(event)
  }

  /** The last frames of a prompt: closes everything that is open, then `done`. */
  end({ status, stopReason, error }: RunOutcome): readonly ZotEvent[] {
    const frames = this.#isClosed ? [] : this.#close(status, stopReason, error)
    const omitsDone = this.#options.isOneShot === true && this.#hasFailed
    this.#reset()
    return omitsDone ? frames : [...frames, { type: 'done' }]
  }

  #reset(): void {
    this.#turn = undefined
    this.#step = 0
    this.#hasPrompt = this.#isClosed = this.#hasFailed = this.#hasReportedError = false
    this.#calls.clear()
  }

  #entry(entry: LogEntry): readonly ZotEvent[] {
    switch (entry.type) {
      case 'run_started':
        this.#reset()
        this.#unconfined = entry.unconfined
        return none
      case 'turn':
        return entry.turn.role === 'user' ? this.#prompt(entry) : this.#reply(entry)
      case 'usage':
        this.#addUsage(entry)
        this.#turn?.addUsage(entry.usage)
        return none
      case 'call_result':
        return this.#calls.answer(entry)
      case 'approval_requested':
        this.#calls.addWaiting(entry)
        return none
      case 'run_ended':
        // The host may still answer the waiting calls; `end` closes the others.
        return entry.status === 'suspended' ? none : this.#close(entry.status, entry.stop, entry.error?.message)
      default:
        return none
    }
  }

  /** The first user turn of a run is the prompt; later ones are notes to the model. */
  #prompt({ turn }: Extract<LogEntry, { type: 'turn' }>): readonly ZotEvent[] {
    if (this.#hasPrompt) return none
    this.#hasPrompt = true
    const unconfined = this.#unconfined === undefined ? {} : { unconfined: this.#unconfined }
    const content = contentOf(turn.content, this.nameOf)
    return [{ type: 'user_message', content, time: timeOf(turn.createdAt), ...unconfined }]
  }

  #reply(entry: Extract<LogEntry, { type: 'turn' }>): readonly ZotEvent[] {
    this.#addUsage(entry)
    const { turn, stop } = entry
    const open = this.#turn
    if (open?.id !== turn.id) return none
    if (turn.usage) open.addUsage(turn.usage)
    if (turn.interrupted) return none // its `turn_failed` reports the end
    this.#turn = undefined
    this.#calls.open(turn.content)
    return open.complete(turn, stop, this.#total)
  }

  #provisional(event: ProvisionalEvent): readonly ZotEvent[] {
    if (event.type === 'turn_started') {
      this.#step = event.step
      this.#turn = new ZotTurn(event.turnId, this.nameOf)
      return [{ type: 'turn_start', step: event.step }]
    }
    if (event.type === 'tool_progress') return this.#calls.progress(event.callId, event.text)
    const turn = this.#turn
    if (turn?.id !== event.turnId) return none
    switch (event.type) {
      case 'stream_started':
      case 'thinking':
        return turn.open()
      case 'stream_void':
        return turn.restart()
      case 'text':
        return turn.text(event.delta)
      case 'tool_start':
        this.#shownNames.set(event.name, event.displayName)
        return turn.callStarts(event.callId, this.nameOf(event.name))
      case 'tool_args':
        return turn.callContinues(event.callId, event.delta)
      case 'tool_end':
        return turn.callEnds(event.callId)
      case 'turn_failed':
        return this.#fail(event.stop, event.error, event.partial)
      default:
        return none
    }
  }

  #fail(stop: 'error' | 'aborted', error: string, partial = ''): readonly ZotEvent[] {
    const turn = this.#turn
    if (!turn) return none
    this.#turn = undefined
    this.#hasReportedError = true
    const at = (this.#options.now ?? Date.now)()
    return turn.fail({ stop, error: stop === 'aborted' ? canceled : error, partial, at }, this.#total)
  }

  #close(status: RunOutcome['status'], stop: string, error?: string): ZotEvent[] {
    this.#isClosed = true
    const failed = this.#fail(status === 'aborted' || status === 'left' ? 'aborted' : 'error', error ?? stop)
    const left = this.#calls.closeAll(status === 'suspended' ? stop : undefined)
    const message = this.#messageOf(status, stop, error)
    this.#hasFailed = message !== undefined
    return [...failed, ...left, ...(message === undefined ? [] : [{ type: 'error' as const, message }])]
  }

  /** The message of the final `error` frame, if there is one. After a budget stop, `turn_end` may have given the reason already. */
  #messageOf(status: RunOutcome['status'], stop: string, error = stop): string | undefined {
    if (status === 'error') return error
    if (status !== 'completed') return undefined
    if (stop === 'max_turns') return `max steps (${this.#step}) exceeded`
    return stop === 'budget' && !this.#hasReportedError ? 'the budget is used up' : undefined
  }

  #addUsage(entry: LogEntry): void {
    const usage = entry.type === 'turn' ? entry.turn.usage : entry.type === 'usage' && entry.usage
    if (usage) this.#total = addUsage(this.#total, usage)
  }
}

const none: readonly ZotEvent[] = []

/** Go's message for a cancelled context, which zot's clients may check for. */
const canceled = 'context canceled'
