import { visibleText } from '../../platform/visible-text.ts'
import { createBlockStream, type Piece } from '../markdown/block-stream.ts'
import { codeLines, codePainter } from '../markdown/blocks.ts'
import type { CodePainter } from '../markdown/code-painter.ts'
import { createMarkdownRenderer, type MarkdownRenderer } from '../markdown/render-markdown.ts'
import { wrapLine } from '../markdown/spans.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** Writes the model's answer to stdout: unchanged and turn by turn into a pipe, rendered block by block on a terminal. */
interface AnswerView {
  push(delta: string): void
  /** Prints the current block; more of the answer may follow. */
  flush(): void
  /** Prints the rest of the answer. */
  finish(): void
  /** The unfinished block, in at most `most` lines. */
  live(most: number): string[]
  /** Whether a part of the answer is already printed. */
  readonly isPrinted: boolean
  /** Drops the part that is not printed yet. */
  drop(): void
}

/** `block` writes whole lines after a blank line; `more` continues them. */
interface AnswerOutput {
  block(text: string): void
  more(text: string): void
}

export function createAnswerView(terminal: Terminal, out: AnswerOutput): AnswerView {
  return terminal.isStdoutTerminal ? renderedAnswer(terminal, out) : pipedAnswer(out)
}

/**
 * Into a pipe the text is written unchanged, with a newline at its end, and only when it is complete: an attempt that
 * fails is not part of the answer, and a pipe cannot be undone.
 */
function pipedAnswer(out: AnswerOutput): AnswerView {
  let deltas: string[] = []
  return {
    push(delta) {
      deltas.push(delta)
    },
    flush() {},
    finish() {
      const text = deltas.join('')
      deltas = []
      if (text !== '') out.more(text.endsWith('\n') ? text : `${text}\n`)
    },
    live: () => [],
    isPrinted: false,
    drop() {
      deltas = []
    },
  }
}

/** Longer lines are hard to read. */
const widest = 120

function renderedAnswer(terminal: Terminal, out: AnswerOutput): AnswerView {
  const { answerPaint: paint } = terminal
  let blocks = createBlockStream()
  let render: MarkdownRenderer | undefined
  let isPrinted = false
  let before: Piece | undefined
  /** Of the code block that is printed: a comment may go on in its next piece. */
  let painter: CodePainter | undefined

  const print = (piece: Piece): void => {
    const isMore = before?.kind === 'plain'
    if (piece.kind === 'plain') {
      const text = visibleText(piece.text).replaceAll('\r', '')
      if (isMore) out.more(text)
      else out.block(text)
    } else if (piece.kind === 'code') {
      if (isMore) endPlain()
      if (piece.isFirst || !painter) painter = codePainter(piece.lang, paint)
      const text = `${codeLines(piece.text.replace(/\n$/, ''), piece.lang, paint, painter).join('\n')}\n`
      if (piece.isFirst) out.block(text)
      else out.more(text)
    } else {
      if (isMore) endPlain()
      render ??= createMarkdownRenderer(paint)
      const lines = render(piece.text, Math.min(terminal.columns - 1, widest))
      if (lines.length > 0) out.block(`${lines.join('\n')}\n`)
    }
    before = piece
    isPrinted = true
  }
  const endPlain = (): void => {
    if (before?.kind === 'plain' && !before.text.endsWith('\n')) out.more('\n')
    before = undefined
  }
  const flush = (): void => {
    for (const piece of blocks.finish()) print(piece)
    endPlain()
  }
  const reset = (): void => {
    blocks = createBlockStream()
    before = undefined
    render = undefined
    isPrinted = false
  }
  return {
    push(delta) {
      for (const piece of blocks.push(delta)) print(piece)
    },
    flush,
    finish() {
      flush()
      reset()
    },
    live(most) {
      if (most < 1) return []
      const { columns } = terminal
      // Only the end of a very long line is wrapped.
      const lines = blocks.tail(most).map((line) => line.slice(-most * columns).trimEnd())
      while (lines.at(-1) === '') lines.pop()
      return lines.flatMap((line) => wrapLine(line, plain, columns - 1)).slice(-most)
    },
    get isPrinted() {
      return isPrinted
    },
    drop() {
      endPlain()
      reset()
    },
  }
}

const plain = (text: string): string => text

/**
 * Prints answers and lines about the run, with blank lines between them. Calls `prepare` before it prints, so that the
 * same text is not live at the same time. `takeHeld` gives lines that wait for the next print, and come before it.
 */
export function createPrinter(
  terminal: Terminal,
  prepare: () => void = () => {},
  takeHeld: () => readonly string[] = () => [],
) {
  let last: 'nothing' | 'answer' | 'line' = 'nothing'
  let queue: (() => void)[] | undefined
  const printOrQueue = (print: () => void): void => {
    const held = takeHeld()
    const printAll = (): void => {
      printLines(held)
      print()
    }
    if (queue) queue.push(printAll)
    else {
      prepare()
      printAll()
    }
  }
  const printLines = (lines: readonly string[]): void => {
    if (lines.length === 0) return
    terminal.line(`${needsBlankLine('line') ? '\n' : ''}${lines.join('\n')}`)
    last = 'line'
  }
  const needsBlankLine = (kind: 'answer' | 'line'): boolean =>
    kind === 'answer' ? last !== 'nothing' : last === 'answer' && terminal.isStdoutTerminal
  return {
    /** Starts a block of the answer. */
    block: (text: string): void =>
      printOrQueue(() => {
        terminal.answer(needsBlankLine('answer') ? `\n${text}` : text)
        last = 'answer'
      }),
    /** Continues the answer. */
    more: (text: string): void =>
      printOrQueue(() => {
        terminal.answer(text)
        last = 'answer'
      }),
    /** Prints lines about the run to stderr. */
    lines(lines: readonly string[]): void {
      if (lines.length > 0) printOrQueue(() => printLines(lines))
    },
    /** Prints the lines that wait for the next print. */
    settle: (): void => printOrQueue(() => {}),
    /** Queues everything until `release`. */
    hold(): void {
      queue ??= []
    },
    release(): void {
      const queued = queue ?? []
      queue = undefined
      for (const print of queued) print()
    },
    /** Whether a blank line separates the last output from output of this kind. */
    needsBlankLine,
  }
}
