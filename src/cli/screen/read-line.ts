import { type Clock, systemClock } from '../../core/clock.ts'
import { type DialogContext, runDialog } from './dialogs/dialog.ts'
import type { Keyboard } from './keyboard.ts'
import { LineEditor } from './line-editor.ts'
import type { Terminal } from './terminal.ts'
import { textWidth } from './text-width.ts'

export interface ReadLineOptions extends Partial<Pick<DialogContext, 'signal' | 'expiresAt' | 'ignoreKeysMs'>> {
  /** Stands before what is typed. Default `› `. */
  readonly prompt?: string
  /** Stands there as if it had been typed. */
  readonly initial?: string
  /** For keys and passwords: nothing of it is shown, not even how long it is. */
  readonly isSecret?: boolean
  /** What Esc does, in a word or two. Default `no answer`. */
  readonly escapeLabel?: string
  /** Esc clears the line, and Ctrl-D leaves: for a line that is asked for again and again. */
  readonly isConversation?: boolean
  /** Earlier lines, oldest first: the arrows bring them back. */
  readonly history?: readonly string[]
  readonly clock?: Clock
}

/**
 * Asks for a line of text at the bottom of the screen; undefined means Esc, or Ctrl-D on an empty line. Ctrl-C rejects with an `AbortError`. What
 * was pasted keeps its newlines, but for those at its end. Nothing of it stays on the screen: who asks shows what is to be seen.
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

  /** What was typed and not sent is found again further down. */
  function recall(place: number): void {
    if (lines[place] === undefined) return
    lines[at] = line.text
    at = place
    line = new LineEditor(lines[place])
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

/** Drawn, since the real cursor waits below all lines. */
const underCursor = (text: string): string => `\x1b[7m${text}\x1b[27m`
