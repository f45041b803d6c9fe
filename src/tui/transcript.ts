import { isShellLine } from '../chat/shell-line-meta.ts'
import type { SessionContentBlock } from '../core/turn.ts'
import { visibleText } from '../platform/visible-text.ts'
import type { AnswerRow, CallRow, MessageRow, NoticeRow, Row } from '../view/rows.ts'
import { emptyView, type SessionView } from '../view/session-view.ts'
import { wrapLine } from './markdown/spans.ts'
import { createAnswerView, createPrinter } from './rows/answer-view.ts'
import { createCallsView } from './rows/calls-view.ts'
import { pluralize } from './rows/format.ts'
import { retryNotice } from './rows/retry-notice.ts'
import { createThoughtView } from './rows/thought-view.ts'
import { linesTerminal } from './terminal/lines-terminal.ts'
import { own } from './terminal/marks.ts'
import type { Paint } from './terminal/paint.ts'

interface TranscriptOptions {
  readonly paint: Paint
  /** Where tools run, to show paths relative to it. */
  readonly cwd: string
  readonly columns: () => number
  readonly now: () => number
  /** Whether questions about calls are asked at this terminal. Default: they are. */
  readonly isAskedHere?: () => boolean
  /** Thinking is printed whole, not folded to one line. */
  readonly showThinking?: boolean
  /** Messages of the person are marked, so that the terminal can jump from one to the next. */
  readonly marksPrompts?: boolean
  /** Adds lines to the scrollback. */
  readonly commit: (lines: readonly string[]) => void
}

/** Prints a session into the scrollback: each row once, when it is complete, and an answer block by block. */
export function createTranscript(options: TranscriptOptions) {
  const { paint, columns, now, commit } = options
  const calls = createCallsView(options)
  const thoughts = createThoughtView({ paint, now, columns, isWhole: options.showThinking ?? false })
  const terminal = linesTerminal({ paint, columns, commit })
  const printer = createPrinter(terminal, undefined, calls.takeReads)
  const answer = createAnswerView(terminal, printer)
  let shown = emptyView
  /** The answer that streams, and how much of its text the answer view has. */
  let streaming: { readonly id: string; readonly length: number } | undefined

  function update(view: SessionView): void {
    const before = shown
    shown = view
    for (const at of view.rows.changesSince(before.rows)) {
      const row = view.rows.at(at)
      if (row) show(row, before.rows.at(at))
    }
    if (streaming && !isStreaming(view, streaming.id)) breakOff(view)
    if (!view.run && before.run) printer.settle()
  }

  function show(row: Row, before: Row | undefined): void {
    if (row.kind === 'answer') showAnswer(row, before)
    else if (row.kind === 'call') {
      if (before?.kind === 'call' && before.id === row.id && before.result) return
      if (row.state !== 'streaming') answer.flush()
      printer.lines(calls.show(row))
    } else if (before?.id !== row.id) print(chunkOf(row)) // a view that was read anew has the same rows
  }

  /** Lines follow each other; a block has a blank line before and after it. */
  function print({ isBlock, lines }: Chunk): void {
    if (isBlock) printer.block(`${lines.join('\n')}\n`)
    else printer.lines(lines)
  }

  function showAnswer(row: AnswerRow, before: Row | undefined): void {
    const { id, text, isOpen, isInterrupted, error } = row
    if (streaming?.id !== id) {
      if (!isOpen && before?.kind === 'answer' && before.id === id && !before.isOpen) return
      if (streaming) breakOff(shown)
      streaming = { id, length: 0 }
    }
    const thought = thoughts.show(row)
    if (thought.length > 0) {
      answer.flush()
      printer.lines(thought)
    }
    if (text.length > streaming.length) answer.push(text.slice(streaming.length))
    streaming = { id, length: text.length }
    if (isOpen) return
    answer.finish()
    streaming = undefined
    if (isInterrupted) printer.lines([paint.dim(own('· interrupted'))])
    if (error !== undefined) printer.lines(note(`the model call failed: ${error}`, paint.red))
  }

  /** The answer is requested again: the printed text stays, and a line below it says that it does not count. */
  function breakOff({ retry }: SessionView): void {
    const wasPrinted = answer.isPrinted
    answer.drop()
    streaming = undefined
    if (retry) printer.lines(note(retryNotice(retry, wasPrinted), paint.dim))
  }

  function chunkOf(row: Exclude<Row, { kind: 'answer' | 'call' }>): Chunk {
    if (row.kind === 'message') return { isBlock: !row.isNote, lines: messageLines(row) }
    if (row.kind === 'compaction')
      return line(note('earlier messages are replaced by a summary from here on', paint.dim))
    return line(note(row.text, isBad(row) ? paint.red : paint.dim))
  }

  const messageLines = (row: MessageRow): string[] => {
    const text = messageText(row)
    if (row.isNote) return note(text, paint.dim)
    const rows = text.split('\n').flatMap((line, i) => wrapped(line, i === 0 ? paint.cyan('›') : ' ', plain))
    return options.marksPrompts ? markPrompt(rows) : rows
  }
  const note = (text: string, style: (text: string) => string): string[] =>
    visibleText(text.replace(/^(?:[ \t]*\r?\n)+/, '')) // output may begin with empty lines
      .split('\n')
      .flatMap((line, i) => wrapped(line, style(i === 0 ? own('·') : ' '), style))
  const wrapped = (line: string, mark: string, style: (text: string) => string): string[] =>
    wrapLine(line, style, columns() - 3).map((row, i) => `${i === 0 ? mark : ' '} ${row}`)

  return {
    /** Prints what is new since the last view. */
    update,
    /**
     * Begins with another session: prints the end of its rows, about `most` lines, and how much is above. Rows that still
     * stream are printed by the next `update`.
     */
    open(view: SessionView, { most, earlier = 0 }: { readonly most: number; readonly earlier?: number }): void {
      printer.settle()
      answer.drop()
      streaming = undefined
      shown = emptyView
      const collected: Chunk[] = []
      const { committed } = view.fold
      let from = committed
      let calledAfter: CallRow[] = []
      const count = (): number => collected.reduce((sum, { lines }) => sum + lines.length + 1, calledAfter.length)
      while (from > 0 && count() < most) {
        const row = view.rows.at(--from)!
        const chunks = row.kind === 'call' ? [] : settledChunks(row)
        if (row.kind === 'call') calledAfter.unshift(row)
        if (chunks.length === 0) continue
        collected.unshift(...chunks, line(calls.settled(calledAfter)))
        calledAfter = []
      }
      collected.unshift(line(calls.settled(calledAfter)))
      const hidden = turnsIn(view, from) + earlier
      if (hidden > 0)
        printer.lines([paint.dim(own(`· ${pluralize(hidden, 'earlier message')}; ctrl+t shows everything`))])
      for (const chunk of collected) print(chunk)
      shown = { ...view, rows: view.rows.take(committed) }
      update(view)
    },
    /** Prints lines that are not part of the session. */
    print(text: string, kind: 'info' | 'warning' | 'failure' = 'info'): void {
      answer.flush()
      const style = { info: paint.dim, warning: paint.yellow, failure: paint.red }[kind]
      printer.lines(kind === 'info' ? note(text, style) : note(text, style).map((line) => line.replace(own('·'), '!')))
    },
    /** Prints what waits for more of its kind, such as files that were read. */
    settle: printer.settle,
    /** Prints lines as they are: of a dialog. */
    lines: (lines: readonly string[]): void =>
      printer.lines(lines[0] === '' && printer.needsBlankLine('line') ? lines.slice(1) : lines),
    /** Whether a blank line belongs between what is printed and lines about the run. */
    needsBlankLine: (): boolean => printer.needsBlankLine('line'),
    /** The unfinished end of the answer, in at most so many lines. */
    tail(most: number): string[] {
      const begun = terminal.open(most)
      const lines = [...begun, ...answer.live(most)]
      if (lines.length === 0) return []
      return (begun.length === 0 && printer.needsBlankLine('answer') ? ['', ...lines] : lines).slice(-Math.max(0, most))
    },
    /** The calls at work, as live lines. */
    calls,
  }

  /** A complete row, for the beginning of a resumed session. */
  function settledChunks(row: Exclude<Row, { kind: 'call' }>): Chunk[] {
    if (row.kind !== 'answer') return [chunkOf(row)]
    const lines: string[] = []
    const collector = linesTerminal({ paint, columns, commit: (more) => void lines.push(...more) })
    const view = createAnswerView(collector, createPrinter(collector))
    view.push(row.text)
    view.finish()
    return [line(thoughts.settled(row)), ...(row.text === '' ? [] : [{ isBlock: true, lines }])].filter(
      ({ lines }) => lines.length > 0,
    )
  }
}

interface Chunk {
  readonly isBlock: boolean
  readonly lines: readonly string[]
}

const line = (lines: readonly string[]): Chunk => ({ isBlock: false, lines })

const plain = (text: string): string => text

const isBad = ({ run }: NoticeRow): boolean => run?.status === 'error'

/** Messages of the person among the rows before an index; counting stops at 10,000 rows, so that a long session does not slow down the screen. */
function turnsIn({ rows }: SessionView, end: number): number {
  let count = 0
  for (const row of rows.slice(0, Math.min(end, 10_000))) if (row.kind === 'message' && !row.isNote) count++
  return count
}

function isStreaming({ rows, fold }: SessionView, id: string): boolean {
  const row = rows.at(fold.committed)
  return row?.kind === 'answer' && row.id === id
}

/**
 * The rows of a message with the marks of shell integration (OSC 133), by which terminals jump from prompt to prompt and
 * select the output of one. What follows the message is its output.
 */
function markPrompt(rows: readonly string[]): string[] {
  return rows.map((row, i) => `${i === 0 ? promptBegins : ''}${row}${i === rows.length - 1 ? outputBegins : ''}`)
}

const promptBegins = '\x1b]133;A\x1b\\'
const outputBegins = '\x1b]133;C\x1b\\'

/** What a message shows in the scrollback: its own text, with long pastes and attached files folded. Ctrl+T shows it whole. */
export function messageText(row: Pick<MessageRow, 'content' | 'isNote' | 'meta'>): string {
  const [own, ...attached] = row.content.map(blockText)
  const text = row.isNote && isShellLine(row) ? forPerson(withoutHead(own ?? '')) : (own ?? '')
  return [folded(text, mostOwn), ...attached.map((more) => folded(more, mostAttached))].join('\n')
}

const mostOwn = 20
/** An attached file is named by its first line. */
const mostAttached = 1

function folded(text: string, most: number): string {
  const lines = visibleText(text).replaceAll('\r', '').trimEnd().split('\n')
  // A fold that hides one line saves none.
  if (lines.length <= most + 1) return lines.join('\n')
  return [...lines.slice(0, most), `… ${pluralize(lines.length - most, 'line')} more; ctrl+t shows them`].join('\n')
}

/** The output of a `!` line begins with words for the model. */
const withoutHead = (text: string): string => text.slice(text.indexOf('\n') + 1)

/** Without the code of an error, which is for programs. */
const forPerson = (text: string): string => text.replace(/^Blocked: (?:\w+\/\w+: )?/, 'Not allowed: ')

const blockText = (block: SessionContentBlock): string => (block.type === 'text' ? block.text : `[${block.type}]`)
