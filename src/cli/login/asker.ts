import type { Io } from '../io.ts'
import { openKeyboard } from '../screen/keyboard.ts'
import { readLine } from '../screen/read-line.ts'
import { createTerminal } from '../screen/terminal.ts'

/** Somebody at a terminal who can be asked for a line. */
export interface Asker {
  say(text: string): void
  /** Undefined where there is no answer; Ctrl-C rejects with an `AbortError`. */
  ask(
    prompt: string,
    options?: { readonly isSecret?: boolean; readonly signal?: AbortSignal },
  ): Promise<string | undefined>
  close(): void
}

/** Undefined where nobody can type. */
export function openAsker(io: Io): Asker | undefined {
  const keyboard = openKeyboard(io)
  if (!keyboard) return undefined
  const terminal = createTerminal(io)
  return {
    say: (text) => terminal.line(text),
    ask: (prompt, options = {}) => readLine(terminal, keyboard, { prompt, escapeLabel: 'leave', ...options }),
    close() {
      keyboard.close()
      terminal.close()
    },
  }
}
