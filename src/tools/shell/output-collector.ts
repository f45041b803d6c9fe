import type { ExecResult } from '../../core/execution.ts'
import { visibleText } from '../../platform/visible-text.ts'
import { ProgressLines } from '../text/progress-lines.ts'
import { Tail } from '../text/tail.ts'

type Source = 'stdout' | 'stderr'

export interface OutputCollectorOptions {
  readonly maxBytes: number
  /** Only what went to stdout, as it is. */
  readonly bare?: boolean
  /** Hears the newest output now and then. */
  readonly progress?: (text: string) => void
}

export interface CollectedOutput {
  readonly text: string
  /** Bytes that came before `text` and were not kept. */
  readonly dropped: number
  /** States of progress bars that were left out. */
  readonly overwritten: number
}

/** Listens to a command: keeps the end of its output in bounded room, fit to be read, and tells how it goes on. */
export class OutputCollector {
  readonly #tail: Tail
  readonly #lines = new ProgressLines()
  readonly #bare: boolean
  readonly #ticker: ProgressReporter | undefined
  #isClosed = false
  #hasHeard = false

  constructor({ maxBytes, bare = false, progress }: OutputCollectorOptions) {
    this.#tail = new Tail(maxBytes > 0 ? Math.min(maxBytes, mostBytes) : mostBytes)
    this.#bare = bare
    this.#ticker = progress && new ProgressReporter(progress)
  }

  readonly receive = (text: string, from: Source): void => {
    if (this.#isClosed || text === '') return
    this.#hasHeard = true
    this.#ticker?.push(text)
    if (!this.#bare) this.#tail.push(this.#lines.push(text, from))
    else if (from === 'stdout') this.#tail.push(text)
  }

  /** A context that cannot tell output as it comes has it in the result. */
  receiveAll({ stdout, stderr }: ExecResult): void {
    if (this.#hasHeard) return
    this.receive(stdout, 'stdout')
    this.receive(stdout === '' || stdout.endsWith('\n') || stderr === '' ? stderr : `\n${stderr}`, 'stderr')
  }

  /** Nothing unread is there. */
  get isEmpty(): boolean {
    return this.#tail.seen === 0 && !this.#lines.isHolding
  }

  /** What was heard since the last time. */
  take(): CollectedOutput {
    this.#tail.push(this.#lines.flush())
    const { overwritten } = this.#lines
    this.#lines.overwritten = 0
    const { text, dropped } = this.#tail.take()
    // Made visible only now, so that a flood costs nothing; that makes it longer, so it is cut once more.
    this.#tail.push(visibleText(text))
    const shown = this.#tail.take()
    return { text: shown.text, dropped: dropped + shown.dropped, overwritten }
  }

  /** The last piece of progress is told; what comes later is not heard. */
  close(): void {
    this.#isClosed = true
    this.#ticker?.close()
  }
}

/** Where no limit was wanted: enough for any reader, and the memory still holds it. */
const mostBytes = 10 * 1024 * 1024
const tickMs = 50
const tickBytes = 4096

/** Gives on the newest text at most so often, however much there is. */
class ProgressReporter {
  readonly #tell: (text: string) => void
  readonly #newest = new Tail(tickBytes)
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(tell: (text: string) => void) {
    this.#tell = tell
  }

  push(text: string): void {
    this.#newest.push(text)
    if (this.#timer === undefined) this.#tick()
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#give()
  }

  #tick(): void {
    this.#give()
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      if (this.#newest.seen > 0) this.#tick()
    }, tickMs)
  }

  #give(): void {
    if (this.#newest.seen === 0) return
    const lines = new ProgressLines()
    const settled = lines.push(this.#newest.take().text, '') + lines.flush()
    this.#newest.push(visibleText(settled))
    this.#tell(this.#newest.take().text)
  }
}
