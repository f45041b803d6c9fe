import { type Clock, systemClock } from '../../core/clock.ts'
import { type DialogPlace, runDialog } from './dialogs/dialog.ts'
import type { Keyboard } from './keys.ts'
import { LineEditor } from './line-editor.ts'
import type { Terminal } from './terminal.ts'
import { textWidth } from './text-width.ts'

export interface ReadLineOptions extends Partial<Pick<DialogPlace, 'signal' | 'expiresAt' | 'quietMs'>> {
  /** Stands before what is typed. Default `› `. */
  readonly prompt?: string
  /** Stands there as if it had been typed. */
  readonly initial?: string
  /** For keys and passwords: nothing of it is shown, not even how long it is. */
  readonly isSecret?: boolean
  /** What Esc does, in a word or two. Default `no answer`. */
  readonly escapeSays?: string
  readonly clock?: Clock
}

/**
 * Asks for a line of text at the bottom of the screen; undefined means Esc. Ctrl-C rejects with an `AbortError`. What
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
    escapeSays = 'no answer',
    clock = systemClock,
    ...rest
  } = options
  const { paint } = terminal
  const line = new LineEditor(initial)

  function editable(): string {
    if (isSecret)
      return `${paint.dim(line.text === '' ? '(what you type is not shown)' : '(not shown)')}${underCursor(' ')}`
    const { before, under, after } = line.view(terminal.columns - textWidth(prompt) - 2)
    return `${before}${underCursor(under)}${after}`
  }

  return await runDialog<string | undefined>(
    {
      draw: () => [`${paint.cyan(prompt)}${editable()}`],
      hint: () => `Enter: done; Esc: ${escapeSays}`,
      press(key) {
        if (key.type === 'enter') return { value: line.text.replace(/\n+$/, '') }
        const isEnd = key.type === 'ctrl' && key.key === 'd' && line.text === ''
        if (key.type === 'escape' || isEnd) return { value: undefined }
        line.press(key)
        return undefined
      },
    },
    { terminal, keyboard, clock, ...rest },
  )
}

/** Drawn, since the real cursor waits below all lines. */
const underCursor = (text: string): string => `\x1b[7m${text}\x1b[27m`
