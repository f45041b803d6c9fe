import type { AnswerOut } from './answer-view.ts'
import type { Terminal } from './terminal.ts'

/** Puts what stays on the screen in order: answers and lines set apart by a blank line, and nothing while it is held. */
interface Printer extends AnswerOut {
  /** Lines about the run, to stderr. */
  lines(lines: readonly string[]): void
  hold(): void
  release(): void
  /** Whether a blank line would stand between what was printed last and this. */
  isApart(kind: 'answer' | 'line'): boolean
}

/** `prepare` is called before anything is printed, so that what is live is not what is about to be printed as well. */
export function createPrinter(terminal: Terminal, prepare: () => void = () => {}): Printer {
  let last: 'nothing' | 'answer' | 'line' = 'nothing'
  let held: (() => void)[] | undefined
  const now = (print: () => void): void => {
    if (held) held.push(print)
    else {
      prepare()
      print()
    }
  }
  const isApart = (kind: 'answer' | 'line'): boolean =>
    kind === 'answer' ? last !== 'nothing' : last === 'answer' && terminal.isAnswerShown
  return {
    block: (text) =>
      now(() => {
        terminal.answer(isApart('answer') ? `\n${text}` : text)
        last = 'answer'
      }),
    more: (text) =>
      now(() => {
        terminal.answer(text)
        last = 'answer'
      }),
    lines: (lines) =>
      now(() => {
        if (lines.length === 0) return
        terminal.line(`${isApart('line') ? '\n' : ''}${lines.join('\n')}`)
        last = 'line'
      }),
    hold() {
      held ??= []
    },
    release() {
      const waiting = held ?? []
      held = undefined
      for (const print of waiting) print()
    },
    isApart,
  }
}
