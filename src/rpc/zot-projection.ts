import type { AgentEvent, LogEntry, ProvisionalEvent } from '../events/events.ts'
import type { ZotEvent, ZotUsage } from './frames.ts'
import type { RunOutcome } from './host.ts'
import { contentOf, timeOf } from './zot-content.ts'
import { OpenCalls } from './zot-open-calls.ts'
import { ZotTurn } from './zot-turn.ts'
import { nothing, plus } from './zot-usage.ts'

export interface ZotProjectionOptions {
  /** The name that clients know a tool by, where it is not the one that was streamed. */
  readonly toolName?: ((name: string) => string) | undefined
  /** For the one message that has no time of its own: what had come of a reply that broke off. */
  readonly now?: (() => number) | undefined
  /** As `--json "prompt"`: after a failure the `error` is the last frame, and no `done` follows. */
  readonly isOneShot?: boolean
}

/**
 * zot's events out of ours: pure, in the order that its grammar allows, whatever happens. Only what the agent itself says
 * and does is shown: neither its children, nor calls that tools make, nor what the model is told beside the prompt.
 */
export class ZotProjection {
  readonly #options: ZotProjectionOptions
  readonly #shownNames = new Map<string, string>()
  readonly #calls = new OpenCalls()
  #total = nothing
  #turn: ZotTurn | undefined
  #step = 0
  #hasPrompt = false
  #isOver = false
  #hasFailed = false
  /** The last `turn_end` carried an error. */
  #toldWhy = false

  constructor(options: ZotProjectionOptions = {}) {
    this.#options = options
  }

  /** What was spent since the process began, children and summaries included. */
  get usage(): ZotUsage {
    return this.#total
  }

  /** The name a client knows a tool by. */
  readonly nameOf = (name: string): string => this.#options.toolName?.(name) ?? this.#shownNames.get(name) ?? name

  /** What an event adds to the wire. */
  take(event: AgentEvent): readonly ZotEvent[] {
    if ('child' in event) {
      if (event.event.durable) this.#spend(event.event.entry)
      return none
    }
    return event.durable ? this.#entry(event.entry) : this.#shown(event)
  }

  /** The last frames of a prompt, whatever its events have said of its end: all that is open is closed, then `done`. */
  end({ status, stopReason, error }: RunOutcome): readonly ZotEvent[] {
    const frames = this.#isOver ? [] : this.#close(status, stopReason, error)
    const isSilent = this.#options.isOneShot === true && this.#hasFailed
    this.#begin()
    return isSilent ? frames : [...frames, { type: 'done' }]
  }

  #begin(): void {
    this.#turn = undefined
    this.#step = 0
    this.#hasPrompt = this.#isOver = this.#hasFailed = this.#toldWhy = false
    this.#calls.clear()
  }

  #entry(entry: LogEntry): readonly ZotEvent[] {
    switch (entry.type) {
      case 'run_started':
        this.#begin()
        return none
      case 'turn':
        return entry.turn.role === 'user' ? this.#prompt(entry) : this.#reply(entry)
      case 'usage':
        this.#spend(entry)
        this.#turn?.spends(entry.usage)
        return none
      case 'call_result':
        return this.#calls.answer(entry)
      case 'approval_requested':
        this.#calls.wait(entry)
        return none
      case 'run_ended':
        // Whoever serves it may still answer the calls that wait; `end` answers those that are left.
        return entry.status === 'suspended' ? none : this.#close(entry.status, entry.stop, entry.error?.message)
      default:
        return none
    }
  }

  /** Of a run's user turns the first is the prompt; later ones are notes to the model, and no client sent them. */
  #prompt({ turn }: Extract<LogEntry, { type: 'turn' }>): readonly ZotEvent[] {
    if (this.#hasPrompt) return none
    this.#hasPrompt = true
    return [{ type: 'user_message', content: contentOf(turn.content, this.nameOf), time: timeOf(turn.createdAt) }]
  }

  #reply(entry: Extract<LogEntry, { type: 'turn' }>): readonly ZotEvent[] {
    this.#spend(entry)
    const { turn, stop } = entry
    const open = this.#turn
    if (open?.id !== turn.id) return none
    if (turn.usage) open.spends(turn.usage)
    if (turn.interrupted) return none // its `turn_failed` says how it ended
    this.#turn = undefined
    this.#calls.open(turn.content)
    return open.complete(turn, stop, this.#total)
  }

  #shown(event: ProvisionalEvent): readonly ZotEvent[] {
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
        return turn.startOver()
      case 'text':
        return turn.text(event.delta)
      case 'tool_start':
        this.#shownNames.set(event.name, event.displayName)
        return turn.callStarts(event.callId, this.nameOf(event.name))
      case 'tool_args':
        return turn.callGoesOn(event.callId, event.delta)
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
    this.#toldWhy = true
    const at = (this.#options.now ?? Date.now)()
    return turn.fail({ stop, error: stop === 'aborted' ? canceled : error, partial, at }, this.#total)
  }

  #close(status: RunOutcome['status'], stop: string, error?: string): ZotEvent[] {
    this.#isOver = true
    const failed = this.#fail(status === 'aborted' ? 'aborted' : 'error', error ?? stop)
    const left = this.#calls.giveUp(status === 'suspended' ? stop : undefined)
    const message = this.#messageOf(status, stop, error)
    this.#hasFailed = message !== undefined
    return [...failed, ...left, ...(message === undefined ? [] : [{ type: 'error' as const, message }])]
  }

  /** What an `error` has to say about the end. A budget stops a turn as zot's guards do: its `turn_end` has said why. */
  #messageOf(status: RunOutcome['status'], stop: string, error = stop): string | undefined {
    if (status === 'error') return error
    if (status !== 'completed') return undefined
    if (stop === 'max_turns') return `max steps (${this.#step}) exceeded`
    return stop === 'budget' && !this.#toldWhy ? 'the budget is used up' : undefined
  }

  #spend(entry: LogEntry): void {
    const usage = entry.type === 'turn' ? entry.turn.usage : entry.type === 'usage' && entry.usage
    if (usage) this.#total = plus(this.#total, usage)
  }
}

const none: readonly ZotEvent[] = []

/** What Go says of a context that was cancelled, and zot's clients may look for. */
const canceled = 'context canceled'
