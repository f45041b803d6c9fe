/**
 * Of a line that overwrites itself (a progress bar) only the last state is worth reading. Text goes in as it comes; what
 * comes out is final. The line that is still being written is held back, up to a limit.
 */
export class ProgressLines {
  /** How many states were left out. */
  overwritten = 0
  #held = ''
  #source = ''

  push(text: string, source: string): string {
    const before = source === this.#source ? '' : this.flush()
    this.#source = source
    return before + this.#hold(this.#settle(this.#held + text))
  }

  get isHolding(): boolean {
    return this.#held !== ''
  }

  /** The line that is still being written, as far as it is. */
  flush(): string {
    const rest = this.#held
    this.#held = ''
    return rest.endsWith('\r') ? `${withoutLastReturns(rest)}\n` : rest
  }

  /** Gives all complete lines and keeps the rest back. */
  #hold(text: string): string {
    const lineStart = text.lastIndexOf('\n') + 1
    const end = text.length - lineStart > longestLine ? text.length : lineStart
    this.#held = text.slice(end)
    return text.slice(0, end)
  }

  #settle(text: string): string {
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
    // Whether the CR at the end of an unfinished line belongs to a CRLF is not known yet.
    return isComplete || written === line ? state : `${state}\r`
  }
}

/** Nothing that overwrites itself is longer; what is, is given out as it stands. */
const longestLine = 4096

function withoutLastReturns(text: string): string {
  let end = text.length
  while (text[end - 1] === '\r') end--
  return text.slice(0, end)
}
