import type { Clock } from '../../core/clock.ts'
import type { ToolCallBlock } from '../../core/turn.ts'
import type { AgentEvent, Provisional } from '../../events/events.ts'
import { visibleText } from '../../platform/visible-text.ts'
import { expectCalls, openCalls } from '../../view/fold-call.ts'
import { openAnswer } from '../../view/fold-stream.ts'
import type { AnswerRow } from '../../view/rows.ts'
import { emptyView, foldOnwards, type SessionView } from '../../view/session-view.ts'
import { wrapLine } from '../markdown/spans.ts'
import { createAnswerView, createPrinter } from '../rows/answer-view.ts'
import { createCallsView } from '../rows/calls-view.ts'
import { childLines } from '../rows/children-view.ts'
import { costLines, endingLine, type RunEnding } from '../rows/cost-lines.ts'
import { createPhaseView, spinners } from '../rows/phase-view.ts'
import { retryNotice } from '../rows/retry-notice.ts'
import { createThoughtView } from '../rows/thought-view.ts'
import { createFrames, unrefClock } from '../terminal/frames.ts'
import type { Terminal } from '../terminal/terminal.ts'

export type { RunEnding } from '../rows/cost-lines.ts'

/** Shows the events of a run to a person: the answer on stdout, everything else on stderr. */
export interface Screen {
  /** Adds calls that an earlier run left open: their results do not contain their names. */
  expect(calls: readonly ToolCallBlock[]): void
  show(event: AgentEvent): void
  /** Shows the result of the last tool as the answer, if the run ended with it. */
  answer(text: string): void
  /** Shows information that is no event: ignored settings, the chosen model. */
  notice(text: string, kind?: 'info' | 'warning' | 'failure'): void
  /** Shows a warning all the time: while something works, and at the end of each run. */
  keepShowing(warning: string): void
  /** Shows what must be ready before the model is asked; `undefined` when it is. */
  waitFor(text: string | undefined): void
  /** Shows turns, tokens, cost, time, and how to continue the session. */
  end(ending: RunEnding): void
  /** While a dialog is open no live lines are drawn; what happens meanwhile is shown afterwards. */
  pause(): void
  resume(): void
  /** Clears the live lines. May be called twice. */
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

/** Shows only failures and, at the end, the answer. */
function quietScreen(terminal: Terminal): Screen {
  const answer = createAnswerView(terminal, createPrinter(terminal))
  return {
    expect() {},
    show() {},
    answer() {}, // shown at the end
    notice(text, kind) {
      if (kind === 'failure') terminal.line(visibleText(text).replaceAll('\r', ''))
    },
    keepShowing() {},
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
  const thoughts = createThoughtView({ paint, now: clock.now, columns })
  const phase = createPhaseView(paint)
  /** Of the run under way; it begins anew with each run. */
  let view = emptyView
  let hasAnswered = false
  let isPaused = false
  let isClosed = false
  let stopReminding: (() => void) | undefined
  let warning: string | undefined

  const busyLines = (most: number): string[] => {
    const now = clock.now()
    const spinner = spinners[Math.floor(now / 100) % spinners.length]!
    const asked = phase.live(now, spinner)
    const called = calls.live(openCalls(view), { spinner, at: now, most: most - asked.length })
    const busy = [...asked, ...called, ...childLines(view.children, { paint, cwd, spinner })]
    if (busy.length === 0 || warning === undefined) return busy.slice(0, most)
    return [...busy.slice(0, most - 1), paint.yellow(`! ${warning}`)]
  }
  const draw = (): void => {
    if (!isInteractive || isPaused || isClosed) return
    const most = Math.max(1, terminal.rows - 2)
    const busy = busyLines(most)
    // A narrower window wraps live lines into more rows; rows pushed off the screen could not be erased.
    const tail = answer.live(Math.min(Math.ceil(terminal.rows / 3), most - busy.length))
    const lines = [...tail, ...(tail.length > 0 && busy.length > 0 ? [''] : []), ...busy]
    const needsBlankLine = lines.length > 0 && printer.needsBlankLine(tail.length > 0 ? 'answer' : 'line')
    terminal.live(needsBlankLine ? ['', ...lines] : lines)
  }
  const isBusy = (): boolean =>
    phase.isBusy || openCalls(view).length > 0 || view.children.some(({ isOver }) => !isOver)
  const isAnimated = (): boolean => isInteractive && !isPaused && !isClosed && isBusy()
  const frames = createFrames({ draw, isAnimated, clock })
  const changed = (): void => {
    if (isInteractive && !isPaused && !isClosed) frames.changed()
  }
  const printer = createPrinter(terminal, draw, calls.takeReads)
  const answer = createAnswerView(terminal, printer)

  /** Prints our own sentences, wrapped between words. */
  const print = (text: string, style: (text: string) => string): void => {
    const lines = text.split('\n')
    printer.lines(isInteractive ? lines.flatMap((line) => wrapLine(line, style, columns() - 1)) : lines.map(style))
  }
  const showThought = (row: AnswerRow): void => {
    const lines = thoughts.show(row)
    if (lines.length === 0) return
    answer.flush()
    printer.lines(lines)
  }
  const appendAnswer = (text: string): void => {
    hasAnswered ||= text !== ''
    answer.push(text)
  }
  const endTurn = (): void => {
    phase.idle()
    answer.finish()
  }
  /** Ends an incomplete turn: it stays on a terminal, but a pipe gets complete answers only. */
  const breakOff = (before: SessionView): void => {
    if (!terminal.isStdoutTerminal) {
      answer.drop()
      if (openAnswer(before)?.text) hasAnswered = false // the end of the run may print it
    }
    endTurn()
  }
  /** Ends a turn. The whole text may be longer than what was streamed. */
  const showAnswer = (row: AnswerRow, before: SessionView): void => {
    const { text, isInterrupted, error } = row
    showThought(row)
    if (isInterrupted || error !== undefined) {
      breakOff(before)
      return
    }
    const streamed = openAnswer(before)?.text ?? ''
    if (text.startsWith(streamed)) appendAnswer(text.slice(streamed.length))
    endTurn()
  }
  const endRun = (before: SessionView): void => {
    breakOff(before)
    printer.settle()
    printer.lines(calls.end(openCalls(view)))
    view = { ...emptyView, head: view.head }
  }
  const restart = (why: Extract<Provisional, { type: 'stream_void' }>): void => {
    const notice = retryNotice(why, answer.isPrinted)
    phase.asked(clock.now(), why.attempt)
    answer.drop()
    print(notice, paint.dim)
  }
  /** Without live lines, a line is printed from time to time while the model does not answer. */
  const remind = (): void => {
    stopReminding?.()
    const isWaiting = !isInteractive && !isClosed && phase.awaited(clock.now()) !== undefined
    stopReminding = isWaiting ? clock.timer(remindEveryMs, printReminder) : undefined
  }
  const printReminder = (): void => {
    print(`… ${phase.awaited(clock.now())}`, paint.dim)
    remind()
  }
  const showProvisional = (event: Provisional): void => {
    switch (event.type) {
      case 'turn_started':
        phase.asked(clock.now())
        break
      case 'text':
        phase.answering(clock.now())
        appendAnswer(event.delta)
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
    }
  }

  return {
    expect(open) {
      view = expectCalls(view, open)
      for (const row of openCalls(view)) calls.show(row)
    },
    show(event) {
      if (isClosed) return
      const before = view
      view = foldOnwards(before, event)
      if (view.run && view.run !== before.run) phase.model(view.run.model)
      const open = openAnswer(view)
      if (open) showThought(open)
      if (!event.durable && event.type !== 'child') showProvisional(event)
      for (const at of view.rows.changesSince(before.rows)) {
        const row = view.rows.at(at)!
        if (row.kind === 'answer' && !row.isOpen) showAnswer(row, before)
        if (row.kind !== 'call') continue
        const lines = calls.show(row)
        if (lines.length > 0) printer.lines(lines)
      }
      if (event.durable && event.entry.type === 'run_ended') endRun(before)
      remind()
      changed()
    },
    answer(text) {
      appendAnswer(text)
      endTurn()
      changed()
    },
    notice(text, kind = 'info') {
      const shown = visibleText(text).replaceAll('\r', '')
      answer.flush() // the text so far comes first
      if (kind !== 'info') print(`! ${shown}`, paint.yellow)
      else print(shown, paint.dim)
    },
    keepShowing(text) {
      warning = visibleText(text)
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
        appendAnswer(ending.stats.text)
        endTurn()
      }
      endRun(view)
      remind()
      frames.stop()
      terminal.live([])
      const why = endingLine(ending)
      if (why !== undefined) print(why, paint.yellow)
      for (const line of costLines(ending, columns())) print(line, paint.dim)
      if (warning !== undefined) print(`! ${warning}`, paint.yellow)
      hasAnswered = false // for the next run
    },
    pause() {
      printer.settle()
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
      breakOff(view)
      printer.settle()
      isClosed = true
      remind()
      frames.stop()
      terminal.close()
    },
  }
}

const remindEveryMs = 30_000
/** The width of lines that do not go to a terminal. */
const unknownWidth = 200
