import type { Clock } from '../../core/clock.ts'
import type { LogEntry } from '../../core/log.ts'
import { type ToolCallBlock, textOf } from '../../core/turn.ts'
import type { AgentEvent, Provisional } from '../../events/events.ts'
import { visibleText } from '../../platform/visible-text.ts'
import { createAnswerView, createPrinter } from './answer-view.ts'
import { createCallsView } from './calls-view.ts'
import { createChildrenView } from './children-view.ts'
import { costLines, endingLine, type RunEnding } from './cost-lines.ts'
import { createFrames, unrefClock } from './frames.ts'
import { wrapLine } from './markdown/spans.ts'
import { createPhaseView } from './phase-view.ts'
import { retryNotice } from './retry-notice.ts'
import type { Terminal } from './terminal.ts'

export type { RunEnding } from './cost-lines.ts'

/** What a person sees of a run. Fed by `followEvents`; everything of the answer goes to stdout, all else to stderr. */
export interface Screen {
  /** Calls that an earlier run of the session left open; their results are told without their names. */
  expect(calls: readonly ToolCallBlock[]): void
  show(event: AgentEvent): void
  /** The result of the last tool, where a run ends with that in place of words of the model. */
  answer(text: string): void
  /** Something to know that is no event: what settings were left out, which model was chosen. */
  notice(text: string, kind?: 'info' | 'warning' | 'failure'): void
  /** What is waited for before a model can be asked; nothing when it is over. */
  waitFor(text: string | undefined): void
  /** The cost line: turns, tokens, cost, time, and how to go on with the session. */
  end(ending: RunEnding): void
  /** While a dialog is open nothing lively is drawn; what comes meanwhile is shown afterwards. */
  pause(): void
  resume(): void
  /** Clears what is lively. Doing it twice is harmless. */
  close(): void
}

export interface ScreenOptions {
  readonly terminal: Terminal
  /** Where tools run, to show paths relative to it. */
  readonly cwd: string
  /** Only the final answer, once, and nothing on stderr but errors. */
  readonly isQuiet?: boolean
  readonly clock?: Clock
}

export function createScreen(options: ScreenOptions): Screen {
  return options.isQuiet ? quietScreen(options.terminal) : fullScreen(options)
}

/** Says nothing until the end, and then the answer alone. */
function quietScreen(terminal: Terminal): Screen {
  const answer = createAnswerView(terminal, createPrinter(terminal))
  return {
    expect() {},
    show() {},
    answer() {}, // the end has it
    notice(text, kind) {
      if (kind === 'failure') terminal.line(visibleText(text).replaceAll('\r', ''))
    },
    waitFor() {},
    end({ stats }) {
      if (stats) answer.push(stats.text)
      answer.finish()
    },
    pause() {},
    resume() {},
    close: terminal.close,
  }
}

function fullScreen({ terminal, cwd, clock = unrefClock }: ScreenOptions): Screen {
  const { paint, isInteractive } = terminal
  const columns = (): number => (isInteractive ? terminal.columns : unknownWidth)
  const calls = createCallsView({ paint, cwd, now: clock.now, columns })
  const children = createChildrenView(paint, cwd)
  const phase = createPhaseView(paint)
  /** What was streamed of this turn; the turn itself says whether that was all. */
  let said = ''
  let hasAnswered = false
  let isPaused = false
  let isClosed = false
  let stopReminding: (() => void) | undefined

  const busyLines = (most: number): string[] => {
    const now = clock.now()
    const spinner = spinners[Math.floor(now / 100) % spinners.length]!
    const asked = phase.live(now, spinner)
    return [...asked, ...calls.live({ spinner, now, most: most - asked.length }), ...children.live(spinner)].slice(
      0,
      most,
    )
  }
  const draw = (): void => {
    if (!isInteractive || isPaused || isClosed) return
    const most = Math.max(1, terminal.rows - 2)
    const busy = busyLines(most)
    // A narrower window breaks live lines into more rows: what is then pushed off the screen cannot be taken back.
    const tail = answer.live(Math.min(Math.ceil(terminal.rows / 3), most - busy.length))
    const lines = [...tail, ...(tail.length > 0 && busy.length > 0 ? [''] : []), ...busy]
    const needsBlankLine = lines.length > 0 && printer.needsBlankLine(tail.length > 0 ? 'answer' : 'line')
    terminal.live(needsBlankLine ? ['', ...lines] : lines)
  }
  const isMoving = (): boolean =>
    isInteractive && !isPaused && !isClosed && (phase.isBusy || calls.isBusy || children.isBusy)
  const frames = createFrames({ draw, isMoving, clock })
  const changed = (): void => {
    if (isInteractive && !isPaused && !isClosed) frames.changed()
  }
  const printer = createPrinter(terminal, draw)
  const answer = createAnswerView(terminal, printer)

  /** Sentences of our own, broken between words. */
  const print = (text: string, style: (text: string) => string): void => {
    const lines = text.split('\n')
    printer.lines(isInteractive ? lines.flatMap((line) => wrapLine(line, style, columns() - 1)) : lines.map(style))
  }
  const say = (text: string): void => {
    said += text
    hasAnswered ||= text !== ''
    answer.push(text)
  }
  const endTurn = (): void => {
    phase.idle()
    said = ''
    answer.finish()
  }
  /** The turn did not come to its end: a person keeps what there was of it, a pipe gets answers only. */
  const breakOff = (): void => {
    if (!terminal.isStdoutTerminal) {
      answer.drop()
      if (said !== '') hasAnswered = false // the end of the run may tell it
    }
    endTurn()
  }
  const fact = (entry: LogEntry): void => {
    if (entry.type === 'turn' && entry.turn.interrupted) breakOff()
    else if (entry.type === 'turn' && entry.turn.role === 'assistant') {
      const text = textOf(entry.turn)
      if (text.startsWith(said)) say(text.slice(said.length))
      endTurn()
    }
    if (entry.type === 'run_started') phase.model(entry.model)
    if (entry.type === 'run_ended') endRun()
  }
  const endRun = (): void => {
    breakOff()
    printer.lines(calls.end())
    children.end()
  }
  const restart = (why: Extract<Provisional, { type: 'stream_void' }>): void => {
    const notice = retryNotice(why, answer.isPrinted)
    phase.asked(clock.now(), why.attempt)
    said = ''
    answer.drop()
    print(notice, paint.dim)
  }
  /** Where nothing can move, a line says once in a while that the model is still waited for. */
  const remind = (): void => {
    stopReminding?.()
    const isWaiting = !isInteractive && !isClosed && phase.awaited(clock.now()) !== undefined
    stopReminding = isWaiting ? clock.timer(remindEveryMs, sayAgain) : undefined
  }
  const sayAgain = (): void => {
    print(`… ${phase.awaited(clock.now())}`, paint.dim)
    remind()
  }
  const hint = (event: Provisional): void => {
    switch (event.type) {
      case 'turn_started':
        phase.asked(clock.now())
        break
      case 'text':
        phase.answering(clock.now())
        say(event.delta)
        break
      case 'thinking':
        phase.thinking(event.delta)
        break
      case 'stream_void':
        restart(event)
        break
      case 'tool_start':
        phase.idle()
        answer.flush()
        break
      case 'turn_failed':
        breakOff()
        break
    }
  }

  return {
    expect: calls.expect,
    show(event) {
      if (isClosed) return
      if (!event.durable && event.type === 'child') children.show(event)
      else {
        if (event.durable) fact(event.entry)
        else hint(event)
        const lines = calls.show(event)
        if (lines.length > 0) printer.lines(lines)
      }
      remind()
      changed()
    },
    answer(text) {
      say(text)
      endTurn()
      changed()
    },
    notice(text, kind = 'info') {
      const shown = visibleText(text).replaceAll('\r', '')
      answer.flush() // what was said before stands above
      if (kind !== 'info') print(`! ${shown}`, paint.yellow)
      else print(shown, paint.dim)
    },
    waitFor(text) {
      if (isClosed) return
      if (text === undefined) phase.idle()
      else if (isInteractive) phase.waiting(visibleText(text), clock.now())
      else print(visibleText(text), paint.dim)
      changed()
    },
    end(ending) {
      if (!hasAnswered && ending.stats) {
        say(ending.stats.text)
        endTurn()
      }
      endRun()
      remind()
      frames.stop()
      terminal.live([])
      const why = endingLine(ending)
      if (why !== undefined) print(why, paint.yellow)
      for (const line of costLines(ending, columns())) print(line, paint.dim)
      hasAnswered = false // there may be another run
    },
    pause() {
      isPaused = true
      printer.hold()
      frames.stop()
      terminal.live([])
    },
    resume() {
      isPaused = false
      printer.release()
      changed()
    },
    close() {
      if (isClosed) return
      isPaused = false
      printer.release()
      breakOff()
      isClosed = true
      remind()
      frames.stop()
      terminal.close()
    },
  }
}

const remindEveryMs = 30_000
const spinners = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
/** Lines in a file are not cut for a screen, and are not endless either. */
const unknownWidth = 200
