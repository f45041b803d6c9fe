import { visibleText } from '../../platform/visible-text.ts'
import { createBlockStream, type Piece } from './markdown/block-stream.ts'
import { codeLines } from './markdown/blocks.ts'
import { createMarkdownRenderer } from './markdown/render-markdown.ts'
import { wrapLine } from './markdown/spans.ts'
import type { Terminal } from './terminal.ts'

/** What the model says, on its way to stdout: as it is into a pipe, turn by turn; rendered block by block for a person. */
interface AnswerView {
  push(delta: string): void
  /** Nothing more of this block will come, though perhaps more of the answer. */
  flush(): void
  /** The answer, or what there was of it, is over. */
  finish(): void
  /** What is not finished yet, in at most so many lines. */
  live(most: number): string[]
  /** Whether anything of it is on the screen or in the pipe for good. */
  readonly isPrinted: boolean
  /** Forgets what was not printed; what was cannot be taken back. */
  drop(): void
}

/** `block` writes whole lines, set apart from what stood before; `more` goes on with them. */
export interface AnswerOutput {
  block(text: string): void
  more(text: string): void
}

export function createAnswerView(terminal: Terminal, out: AnswerOutput): AnswerView {
  return terminal.isStdoutTerminal ? renderedAnswer(terminal, out) : pipedAnswer(out)
}

/**
 * In a pipe text is data: byte for byte what came, and a newline at its end. It is written when all of it is there: what
 * is in a pipe cannot be taken back, and an attempt that breaks off is no part of the answer.
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

/** Rendered lines longer than this tire the eye. */
const widest = 120

function renderedAnswer(terminal: Terminal, out: AnswerOutput): AnswerView {
  const { answerPaint: paint } = terminal
  let blocks = createBlockStream()
  let renderer: ReturnType<typeof createMarkdownRenderer> | undefined
  let isPrinted = false
  let before: Piece | undefined

  const print = (piece: Piece): void => {
    const isMore = before?.kind === 'plain'
    if (piece.kind === 'plain') {
      const text = visibleText(piece.text).replaceAll('\r', '')
      if (isMore) out.more(text)
      else out.block(text)
    } else if (piece.kind === 'code') {
      if (isMore) endPlain()
      const text = `${codeLines(piece.text.replace(/\n$/, ''), piece.lang, paint).join('\n')}\n`
      if (piece.isFirst) out.block(text)
      else out.more(text)
    } else {
      if (isMore) endPlain()
      renderer ??= createMarkdownRenderer(paint)
      const lines = renderer.render(piece.text, Math.min(terminal.columns - 1, widest))
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
    renderer = undefined
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
      // A line that fills the screen and more is wrapped from near its end.
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

/** Puts what stays on the screen in order: answers and lines set apart by a blank line, and nothing while it is held. */
interface Printer extends AnswerOutput {
  /** Lines about the run, to stderr. */
  lines(lines: readonly string[]): void
  hold(): void
  release(): void
  /** Whether a blank line would stand between what was printed last and this. */
  needsBlankLine(kind: 'answer' | 'line'): boolean
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
  const needsBlankLine = (kind: 'answer' | 'line'): boolean =>
    kind === 'answer' ? last !== 'nothing' : last === 'answer' && terminal.isStdoutTerminal
  return {
    block: (text) =>
      now(() => {
        terminal.answer(needsBlankLine('answer') ? `\n${text}` : text)
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
        terminal.line(`${needsBlankLine('line') ? '\n' : ''}${lines.join('\n')}`)
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
    needsBlankLine,
  }
}
