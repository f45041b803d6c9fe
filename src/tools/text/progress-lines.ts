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
