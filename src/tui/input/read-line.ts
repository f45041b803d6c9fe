import { type Clock, systemClock } from '../../core/clock.ts'
import { type DialogContext, runDialog } from '../dialogs/dialog.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { textWidth } from '../terminal/text-width.ts'
import type { Piece } from './attachments.ts'
import { Editor, type EditorLayout } from './editor.ts'
import type { Keyboard } from './keyboard.ts'

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
 * Asks for text at the bottom of the screen. Resolves with `undefined` on Esc, or Ctrl-D in an empty line;
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
  // Without redrawing a whole line is typed: it replaces the text, and an empty one keeps it.
  const kept = terminal.isInteractive ? '' : initial
  const editor = new Editor(kept === '' ? initial : '')
  const texts: (string | readonly Piece[])[] = [...history, initial]
  let at = history.length

  /** Keeps the current text in the list, so that it can be recalled too. */
  function recall(index: number): void {
    const text = texts[index]
    if (text === undefined || index === at) return
    texts[at] = editor.pieces()
    at = index
    editor.set(text)
  }

  const layout = (): Pick<EditorLayout, 'rows' | 'caret'> => {
    const room = Math.max(1, Math.min(mostRows, terminal.rows - 4))
    if (!isSecret) return editor.layout(terminal.columns - textWidth(prompt) - 1, room)
    const note = editor.isEmpty ? '(what you type is not shown)' : '(not shown)'
    return { rows: [paint.dim(note)], caret: { row: 0, column: note.length } }
  }
  const indent = ' '.repeat(textWidth(prompt))

  return await runDialog<string | undefined>(
    {
      draw: () => layout().rows.map((row, i) => `${i === 0 ? paint.cyan(prompt) : indent}${row}`),
      caret() {
        const { row, column } = layout().caret
        return { row, column: column + textWidth(prompt) }
      },
      hint() {
        if (kept !== '') return `a line and Enter; Enter alone: ${kept}`
        return isConversation ? 'Enter: send; Esc: clear; Ctrl-D: end' : `Enter: done; Esc: ${escapeLabel}`
      },
      press(key) {
        const isCtrl = (letter: string): boolean => key.type === 'ctrl' && key.key === letter
        if ((key.type === 'enter' && !key.shift) || isCtrl('j'))
          return { value: editor.isEmpty ? kept : editor.fullText.replace(/\n+$/, '') }
        if ((isCtrl('d') && editor.isEmpty) || (key.type === 'escape' && !isConversation)) return { value: undefined }
        // Of a secret nothing is seen, so Ctrl+U removes all of it, not the last line.
        if (key.type === 'escape' || (isSecret && isCtrl('u'))) editor.set('')
        else if (!editor.press(key)) recall(at + (steps[key.type] ?? 0))
        return undefined
      },
    },
    { terminal, keyboard, clock, ...rest },
  )
}

/** Keys that the editor leaves alone at its first and last row recall other texts. */
const steps: Readonly<Record<string, number>> = { up: -1, down: 1 }

/** The most rows that a long text takes. */
const mostRows = 8
