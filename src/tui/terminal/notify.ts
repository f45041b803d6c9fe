import type { TerminalStreams } from './output.ts'

/**
 * The sequence that tells the person of something while they look elsewhere: a notification where the terminal has them,
 * and the bell. The text must not contain control characters.
 */
export function notification(text: string, env: TerminalStreams['env']): string {
  const said = text.replace(/\p{Cc}/gu, ' ').slice(0, 200)
  const sequence = notificationOf(said, env)
  // tmux passes a sequence on only if it is wrapped, with each ESC doubled.
  const wrapped = env.TMUX && sequence ? `\x1bPtmux;${sequence.replaceAll('\x1b', '\x1b\x1b')}\x1b\\` : sequence
  return `${wrapped}\x07`
}

function notificationOf(text: string, { TERM = '', TERM_PROGRAM = '' }: TerminalStreams['env']): string {
  if (TERM.startsWith('xterm-kitty')) return `\x1b]99;;${text}\x1b\\`
  if (TERM.startsWith('rxvt') || TERM_PROGRAM === 'ghostty' || TERM.startsWith('foot'))
    return `\x1b]777;notify;Libero;${text}\x1b\\`
  return `\x1b]9;${text}\x07`
}

/** The title of the window, and a mark in the task bar while something works; empty resets both. */
export const titleOf = (title: string): string => `\x1b]2;${title.replace(/\p{Cc}/gu, ' ').slice(0, 100)}\x07`
export const progressOn = '\x1b]9;4;3\x07'
export const progressOff = '\x1b]9;4;0\x07'
/** The terminal keeps the title that it had, and gets it back. */
export const saveTitle = '\x1b[22;2t'
export const restoreTitle = '\x1b[23;2t'
