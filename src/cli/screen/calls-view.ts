import type { EntryOf, LogEntry } from '../../core/log.ts'
import { type ToolCallBlock, toolCallsOf } from '../../core/turn.ts'
import type { AgentEvent } from '../../events/events.ts'
import { visibleName } from '../../platform/visible-text.ts'
import { type CallResult, callOutcome, callTitle } from './describe-call.ts'
import { diffLines } from './diff-lines.ts'
import { formatDuration, formatSize } from './format.ts'
import type { Paint } from './paint.ts'
import { cutToWidth, textWidth } from './text-width.ts'

interface CallsOptions {
  readonly paint: Paint
  readonly cwd: string
  now(): number
  columns(): number
}

interface Call {
  readonly name: string
  title: string
  /** Characters of its input so far, while the model writes it. */
  written?: number
  /** The start by our clock, for live lines. */
  since: number
  /** The start by the log's clock, for the duration at the end. */
  at?: number
  progress?: string
  isWaiting?: true
  /** Refused by the person at this terminal, who has seen that there. */
  isRefused?: true
}

/** The calls of an agent: open ones as live lines, finished ones as lines that stay. */
export function createCallsView({ paint, cwd, now, columns }: CallsOptions) {
  const calls = new Map<string, Call>()

  const add = ({ id, name, input }: ToolCallBlock, at?: number): void => {
    const shown = calls.get(id)?.name ?? shownName(name)
    calls.set(id, { name: shown, title: callTitle(input, cwd), since: now(), ...(at !== undefined && { at }) })
  }

  const entry = (one: LogEntry): string[] => {
    switch (one.type) {
      case 'turn':
        for (const call of toolCallsOf(one.turn)) add(call, one.at)
        return []
      case 'call_started':
        update(one.callId, (call) => Object.assign(call, { since: now(), at: one.at }))
        return []
      case 'approval_requested':
        update(one.callId, (call) => (call.isWaiting = true))
        return []
      case 'approval_answered':
        update(one.callId, (call) => answered(call, one))
        return []
      case 'call_result':
        return ended(one)
      default:
        return []
    }
  }

  const update = (id: string, apply: (call: Call) => void): void => {
    const call = calls.get(id)
    if (call) apply(call)
  }

  const ended = (result: CallResult): string[] => {
    const call = calls.get(result.callId)
    if (!call) return [] // called by a tool, which shows it in its own result
    calls.delete(result.callId)
    if (call.isRefused && result.outcome === 'blocked') return []
    const { isGood, summary, problem, diff } = callOutcome(result)
    const took = call.at === undefined ? 0 : result.at - call.at
    const facts = [summary, ...(took > 1000 ? [formatDuration(took)] : [])].join(' · ')
    const mark = isGood ? paint.green('✓') : paint.red('✗')
    return [
      ...titled(mark, call, facts),
      ...problem.map((line) => `  ${paint.red(cutToWidth(line, Math.max(40, 2 * columns()) - 4))}`),
      ...(diff === undefined ? [] : diffLines(diff, paint, columns() - 3).map((line) => `  ${line}`)),
    ]
  }

  /** The title is cut to the room that name and facts leave; if that is too little, the facts get a line of their own. */
  const titled = (mark: string, { name, title }: Call, facts: string): string[] => {
    const head = `${mark} ${paint.bold(name)}`
    const left = columns() - 4 - textWidth(name)
    const room = left - textWidth(facts) - 2
    if (facts === '' || title === '' || room >= 8) {
      const subject = title === '' ? '' : ` ${cutToWidth(title, facts === '' ? left : room)}`
      return [`${head}${subject}${facts === '' ? '' : paint.dim(`  ${facts}`)}`]
    }
    return [`${head} ${cutToWidth(title, left)}`, `  ${paint.dim(facts)}`]
  }

  const state = ({ written, isWaiting, since }: Call, at: number): string => {
    if (written !== undefined) return written > 200 ? `writing, ${formatSize(written)}` : ''
    if (isWaiting) return 'waits for approval'
    return at - since >= 1000 ? formatDuration(Math.floor((at - since) / 1000) * 1000).replace('.0 s', ' s') : ''
  }

  return {
    /** Adds calls that an earlier run left open: their results do not contain their names. */
    expect(open: readonly ToolCallBlock[]): void {
      for (const call of open) add(call)
    },
    /** Returns the lines to print. */
    show(event: Exclude<AgentEvent, { type: 'child' }>): string[] {
      if (event.durable) return entry(event.entry)
      if (event.type === 'tool_start') {
        calls.set(event.callId, { name: shownName(event.displayName), title: '', written: 0, since: now() })
      } else if (event.type === 'tool_args')
        update(event.callId, (call) => (call.written = (call.written ?? 0) + event.delta.length))
      else if (event.type === 'tool_progress') update(event.callId, (call) => Object.assign(call, lastLine(event.text)))
      else if (event.type === 'stream_void' || event.type === 'turn_failed')
        for (const [id, call] of calls) if (call.written !== undefined) calls.delete(id)
      return []
    },
    /** A line for each open call, and one for its progress. */
    live(spinner: string, at: number, most: number): string[] {
      const all = [...calls.values()]
      const withProgress = all.length + all.filter(({ progress }) => progress).length <= most
      const shown = all.length > most ? all.slice(0, Math.max(0, most - 1)) : all
      const lines = shown.flatMap((call) => [
        titled(paint.cyan(spinner), call, state(call, at))[0]!,
        ...(withProgress && call.progress ? [paint.dim(`  ${call.progress}`)] : []),
      ])
      return shown.length < all.length ? [...lines, paint.dim(`… and ${all.length - shown.length} more`)] : lines
    },
    get isBusy(): boolean {
      return calls.size > 0
    },
    /** Ends all calls; returns lines for those that wait for approval. */
    end(): string[] {
      const waiting = [...calls.values()].filter(({ isWaiting }) => isWaiting)
      calls.clear()
      return waiting.flatMap((call) => titled(paint.yellow('?'), call, 'waits for approval'))
    },
  }
}

/** Restarts the time of the call, so that it does not include the time to answer. */
function answered(call: Call, { at, decision, by, clientKey }: EntryOf<'approval_answered'>): void {
  delete call.isWaiting
  call.at = at
  if (decision === 'deny' && by === 'user' && clientKey === undefined) call.isRefused = true
}

const shownName = (name: string): string => cutToWidth(visibleName(name), 40)

/** The last line of a tool's progress that is not blank. */
function lastLine(text: string): { progress?: string } {
  const line = text
    .slice(-2000)
    .trimEnd()
    .split(/[\r\n]+/)
    .at(-1)
  return line ? { progress: visibleName(line.trim().slice(0, 500)) } : {}
}
