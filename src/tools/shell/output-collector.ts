import type { ExecResult } from '../../core/execution.ts'
import { visibleText } from '../../platform/visible-text.ts'
import { Tail } from '../text/tail.ts'

type Source = 'stdout' | 'stderr'

interface OutputCollectorOptions {
  readonly maxBytes: number
  /** Collect only stdout, unchanged. */
  readonly bare?: boolean
  /** Called with the newest output at intervals. */
  readonly progress?: (text: string) => void
}

export interface CollectedOutput {
  readonly text: string
  /** Bytes that came before `text` and were not kept. */
  readonly dropped: number
  /** States of progress bars that were left out. */
  readonly overwritten: number
}

/** Collects the output of a command: keeps its end in bounded memory, made readable, and reports progress. */
export class OutputCollector {
  readonly #tail: Tail
  readonly #lines = new ProgressLines()
  readonly #bare: boolean
  readonly #reporter: ProgressReporter | undefined
  #isClosed = false
  #hasReceived = false

  constructor({ maxBytes, bare = false, progress }: OutputCollectorOptions) {
    this.#tail = new Tail(maxBytes > 0 ? Math.min(maxBytes, maxKeptBytes) : maxKeptBytes)
    this.#bare = bare
    this.#reporter = progress && new ProgressReporter(progress)
  }

  readonly receive = (text: string, from: Source): void => {
    if (this.#isClosed || text === '') return
    this.#hasReceived = true
    this.#reporter?.push(text)
    if (!this.#bare) this.#tail.push(this.#lines.push(text, from))
    else if (from === 'stdout') this.#tail.push(text)
  }

  /** Takes the output from the result, for contexts that do not stream it. */
  receiveAll({ stdout, stderr }: ExecResult): void {
    if (this.#hasReceived) return
    this.receive(stdout, 'stdout')
    this.receive(stdout === '' || stdout.endsWith('\n') || stderr === '' ? stderr : `\n${stderr}`, 'stderr')
  }

  /** Whether there is no unread output. */
  get isEmpty(): boolean {
    return this.#tail.seen === 0 && !this.#lines.isHolding
  }

  /** The output since the last call. */
  take(): CollectedOutput {
    this.#tail.push(this.#lines.flush())
    const { overwritten } = this.#lines
    this.#lines.overwritten = 0
    const { text, dropped } = this.#tail.take()
    // Control characters are escaped only here, to save work; that makes the text longer, so it is cut again.
    this.#tail.push(visibleText(text))
    const shown = this.#tail.take()
    return { text: shown.text, dropped: dropped + shown.dropped, overwritten }
  }

  /** Reports the last progress; later output is ignored. */
  close(): void {
    this.#isClosed = true
    this.#reporter?.close()
  }
}

/** The limit if none was requested. */
const maxKeptBytes = 10 * 1024 * 1024
const tickMs = 50
const tickBytes = 4096

/** Reports the newest text at a limited rate. */
class ProgressReporter {
  readonly #report: (text: string) => void
  readonly #newest = new Tail(tickBytes)
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(report: (text: string) => void) {
    this.#report = report
  }

  push(text: string): void {
    this.#newest.push(text)
    if (this.#timer === undefined) this.#tick()
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#flush()
  }

  #tick(): void {
    this.#flush()
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      if (this.#newest.seen > 0) this.#tick()
    }, tickMs)
  }

  #flush(): void {
    if (this.#newest.seen === 0) return
    const lines = new ProgressLines()
    const lastStates = lines.push(this.#newest.take().text, '') + lines.flush()
    this.#newest.push(visibleText(lastStates))
    this.#report(this.#newest.take().text)
  }
}

/**
 * Reduces lines that overwrite themselves (progress bars) to their last state. The returned text is final; an incomplete line
 * is held back, up to a limit.
 */
export class ProgressLines {
  /** The number of dropped states. */
  overwritten = 0
  #held = ''
  #source = ''

  push(text: string, source: string): string {
    const before = source === this.#source ? '' : this.flush()
    this.#source = source
    return before + this.#hold(this.#reduce(this.#held + text))
  }

  get isHolding(): boolean {
    return this.#held !== ''
  }

  /** Returns the incomplete line. */
  flush(): string {
    const rest = this.#held
    this.#held = ''
    return rest.endsWith('\r') ? `${withoutLastReturns(rest)}\n` : rest
  }

  /** Returns all complete lines and holds back the rest. */
  #hold(text: string): string {
    const lineStart = text.lastIndexOf('\n') + 1
    const end = text.length - lineStart > maxLineLength ? text.length : lineStart
    this.#held = text.slice(end)
    return text.slice(0, end)
  }

  #reduce(text: string): string {
    if (!text.includes('\r')) return text
    const lines = text.split('\n')
    const last = lines.length - 1
    return lines.map((line, i) => this.#lastState(line, i < last)).join('\n')
  }

  #lastState(line: string, isComplete: boolean): string {
    if (!line.includes('\r')) return line
    const written = withoutLastReturns(line)
    const states = written.split('\r')
    const state = states.pop()!
    this.overwritten += states.filter((one) => one !== '').length
    // A CR at the end of an incomplete line may belong to a CRLF.
    return isComplete || written === line ? state : `${state}\r`
  }
}

/** Longer lines are no progress bars and are returned unchanged. */
const maxLineLength = 4096

function withoutLastReturns(text: string): string {
  let end = text.length
  while (text[end - 1] === '\r') end--
  return text.slice(0, end)
}
