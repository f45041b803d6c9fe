import { type Clock, systemClock } from '../../core/clock.ts'
import { type DialogContext, runDialog } from './dialogs/dialog.ts'
import type { Keyboard } from './keyboard.ts'
import { LineEditor } from './line-editor.ts'
import type { Terminal } from './terminal.ts'
import { textWidth } from './text-width.ts'

interface ReadLineOptions extends Partial<Pick<DialogContext, 'signal' | 'expiresAt' | 'ignoreKeysMs'>> {
  /** Default `› `. */
  readonly prompt?: string
  /** Text that is already in the line. */
  readonly initial?: string
  /** Shows nothing of the text, not even its length. */
  readonly isSecret?: boolean
  /** What Esc does, for the hint. Default `no answer`. */
  readonly escapeLabel?: string
  /** Esc clears the line, and only Ctrl-D ends without a text. */
  readonly isConversation?: boolean
  /** Earlier lines, oldest first, recalled by the arrow keys. */
  readonly history?: readonly string[]
  readonly clock?: Clock
}

/**
 * Asks for a line of text at the bottom of the screen. Resolves with `undefined` on Esc, or Ctrl-D in an empty line;
 * rejects with `DialogClosed` on Ctrl-C. Pasted text keeps its newlines, except at its end. The line is cleared at the
 * end; the caller prints what should stay.
 */
export async function readLine(
  terminal: Terminal,
  keyboard: Keyboard,
  options: ReadLineOptions = {},
): Promise<string | undefined> {
  const {
    prompt = '› ',
    initial = '',
    isSecret = false,
    escapeLabel = 'no answer',
    isConversation = false,
    history = [],
    clock = systemClock,
    ...rest
  } = options
  const { paint } = terminal
  let line = new LineEditor(initial)
  const lines = [...history, initial]
  let at = history.length

  /** Keeps the current text in the list, so that it can be recalled too. */
  function recall(index: number): void {
    if (lines[index] === undefined) return
    lines[at] = line.text
    at = index
    line = new LineEditor(lines[index])
  }

  function editable(): string {
    if (isSecret)
      return `${paint.dim(line.text === '' ? '(what you type is not shown)' : '(not shown)')}${underCursor(' ')}`
    const { before, under, after } = line.view(terminal.columns - textWidth(prompt) - 2)
    return `${before}${underCursor(under)}${after}`
  }

  return await runDialog<string | undefined>(
    {
      draw: () => [`${paint.cyan(prompt)}${editable()}`],
      hint: () => (isConversation ? 'Enter: send; Esc: clear; Ctrl-D: end' : `Enter: done; Esc: ${escapeLabel}`),
      press(key) {
        if (key.type === 'enter') return { value: line.text.replace(/\n+$/, '') }
        const isEnd = key.type === 'ctrl' && key.key === 'd' && line.text === ''
        if (isEnd || (key.type === 'escape' && !isConversation)) return { value: undefined }
        if (key.type === 'escape') line = new LineEditor()
        else if (key.type === 'up') recall(at - 1)
        else if (key.type === 'down') recall(at + 1)
        else line.press(key)
        return undefined
      },
    },
    { terminal, keyboard, clock, ...rest },
  )
}

/** A drawn cursor: the real one is hidden below the live lines. */
const underCursor = (text: string): string => `\x1b[7m${text}\x1b[27m`
