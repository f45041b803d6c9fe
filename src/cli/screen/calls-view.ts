import type { EntryOf, LogEntry } from '../../core/log.ts'
import { type ToolCallBlock, toolCallsOf } from '../../core/turn.ts'
import type { AgentEvent } from '../../events/events.ts'
import { visibleName } from '../../platform/visible-text.ts'
import { type CallResult, callOutcome, callTitle } from './describe-call.ts'
import { diffLines } from './diff-lines.ts'
import { formatDuration, formatSize } from './format.ts'
import type { Paint } from './paint.ts'
import { cutToWidth, textWidth } from './text-width.ts'

/** The calls of an agent: those under way as live lines, each that ended as lines that stay. */
interface CallsView {
  /** Calls that an earlier run left open; their results are told without their names. */
  expect(calls: readonly ToolCallBlock[]): void
  /** What is to be printed now. */
  show(event: ShownEvent): string[]
  /** A line for each call under way, and one for what it last said. */
  live(look: LiveLook): string[]
  readonly isBusy: boolean
  /** What is still open waits for somebody; nothing of it is live any more. */
  end(): string[]
}

type ShownEvent = Exclude<AgentEvent, { type: 'child' }>

interface LiveLook {
  readonly spinner: string
  readonly now: number
  readonly most: number
}

interface CallsOptions {
  readonly paint: Paint
  readonly cwd: string
  now(): number
  columns(): number
}

interface Call {
  readonly name: string
  title: string
  /** Characters of its input, while they are still being written. */
  written?: number
  /** By our clock, for what is live. */
  since: number
  /** By the log's, for what has ended. */
  at?: number
  progress?: string
  isWaiting?: true
  /** By the person at this terminal, who has seen the answer there. */
  isRefused?: true
}

export function createCallsView({ paint, cwd, now, columns }: CallsOptions): CallsView {
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
        change(one.callId, (call) => Object.assign(call, { since: now(), at: one.at }))
        return []
      case 'approval_requested':
        change(one.callId, (call) => (call.isWaiting = true))
        return []
      case 'approval_answered':
        change(one.callId, (call) => answered(call, one))
        return []
      case 'call_result':
        return ended(one)
      default:
        return []
    }
  }

  const change = (id: string, how: (call: Call) => void): void => {
    const call = calls.get(id)
    if (call) how(call)
  }

  const ended = (result: CallResult): string[] => {
    const call = calls.get(result.callId)
    if (!call) return [] // a tool called it: what comes of that is in the caller's own result
    calls.delete(result.callId)
    if (call.isRefused && result.outcome === 'blocked') return []
    const { isGood, summary, problem, diff } = callOutcome(result)
    const took = call.at === undefined ? 0 : result.at - call.at
    const facts = [summary, ...(took > 1000 ? [formatDuration(took)] : [])].join(' · ')
    const mark = isGood ? paint.green('✓') : paint.red('✗')
    return [
      ...titled(mark, call, facts),
      ...problem.map((line) => `  ${paint.red(cutToWidth(line, Math.max(40, 2 * columns()) - 4))}`),
      ...(diff === undefined ? [] : diffLines(diff, paint, { columns: columns() - 3 }).map((line) => `  ${line}`)),
    ]
  }

  /** What it is about gets the room that its name and its end leave over; where that is too little, a line for each. */
  const titled = (mark: string, { name, title }: Call, facts: string): string[] => {
    const head = `${mark} ${paint.bold(name)}`
    const left = columns() - 4 - textWidth(name)
    const room = left - textWidth(facts) - 2
    if (facts === '' || title === '' || room >= 8) {
      const about = title === '' ? '' : ` ${cutToWidth(title, facts === '' ? left : room)}`
      return [`${head}${about}${facts === '' ? '' : paint.dim(`  ${facts}`)}`]
    }
    return [`${head} ${cutToWidth(title, left)}`, `  ${paint.dim(facts)}`]
  }

  const state = ({ written, isWaiting, since }: Call, at: number): string => {
    if (written !== undefined) return written > 200 ? `writing, ${formatSize(written)}` : ''
    if (isWaiting) return 'waits for permission'
    return at - since >= 1000 ? formatDuration(Math.floor((at - since) / 1000) * 1000).replace('.0 s', ' s') : ''
  }

  return {
    expect(open) {
      for (const call of open) add(call)
    },
    show(event) {
      if (event.durable) return entry(event.entry)
      if (event.type === 'tool_start') {
        calls.set(event.callId, { name: shownName(event.displayName), title: '', written: 0, since: now() })
      } else if (event.type === 'tool_args')
        change(event.callId, (call) => (call.written = (call.written ?? 0) + event.delta.length))
      else if (event.type === 'tool_progress') change(event.callId, (call) => Object.assign(call, lastLine(event.text)))
      else if (event.type === 'stream_void' || event.type === 'turn_failed')
        for (const [id, call] of calls) if (call.written !== undefined) calls.delete(id)
      return []
    },
    live({ spinner, now: at, most }) {
      const all = [...calls.values()]
      const withProgress = all.length + all.filter(({ progress }) => progress).length <= most
      const shown = all.length > most ? all.slice(0, Math.max(0, most - 1)) : all
      const lines = shown.flatMap((call) => [
        titled(paint.cyan(spinner), call, state(call, at))[0]!,
        ...(withProgress && call.progress ? [paint.dim(`  ${call.progress}`)] : []),
      ])
      return shown.length < all.length ? [...lines, paint.dim(`… and ${all.length - shown.length} more`)] : lines
    },
    get isBusy() {
      return calls.size > 0
    },
    end() {
      const waiting = [...calls.values()].filter(({ isWaiting }) => isWaiting)
      calls.clear()
      return waiting.flatMap((call) => titled(paint.yellow('?'), call, 'waits for permission'))
    },
  }
}

/** Nobody wants to know how long a person took to answer, nor to be told twice what it was. */
function answered(call: Call, { at, decision, by, clientKey }: EntryOf<'approval_answered'>): void {
  delete call.isWaiting
  call.at = at
  if (decision === 'deny' && by === 'user' && clientKey === undefined) call.isRefused = true
}

const shownName = (name: string): string => cutToWidth(visibleName(name), 40)

/** Of what a tool says last, the last line that says something. */
function lastLine(text: string): { progress?: string } {
  const line = text
    .slice(-2000)
    .trimEnd()
    .split(/[\r\n]+/)
    .at(-1)
  return line ? { progress: visibleName(line.trim().slice(0, 500)) } : {}
}
