import type { ChatState } from '../chat/chat.ts'
import { oneLine } from '../core/text.ts'
import { fullyVisible } from '../platform/visible-text.ts'
import type { SessionView } from '../view/session-view.ts'
import type { Output, TerminalStreams } from './terminal/output.ts'

interface AnnouncerOptions {
  readonly env: TerminalStreams['env']
  /** Whether to notify while the terminal has no focus. Default true. */
  readonly notify?: boolean | undefined
}

/** Tells the person what happens while they look elsewhere: the title of the window, its progress, notifications. */
export function createAnnouncer(output: Output, { env, notify = true }: AnnouncerOptions) {
  let isFocused = true
  let title = ''
  let isBusy = false
  output.write(saveTitle)

  const tell = (text: string): void => {
    if (!isFocused && notify) output.write(notification(text, env))
  }
  return {
    set isFocused(focused: boolean) {
      isFocused = focused
    },
    tell,
    update({ phase, view }: ChatState): void {
      const now = view.details.title ?? firstWords(view)
      if (now !== title) output.write(titleOf(`libero · ${fullyVisible(now)}`))
      title = now
      const wasBusy = isBusy
      isBusy = phase === 'running' || phase === 'stopping'
      if (isBusy && !wasBusy) output.write(progressOn)
      if (!wasBusy || isBusy) return
      output.write(progressOff)
      tell('Libero is done')
    },
    close: (): void => void output.write(`${progressOff}${restoreTitle}`),
  }
}

/** A session without a title is called by its first message, as in lists. */
function firstWords({ rows }: SessionView): string {
  const first = rows.at(0)
  if (first?.kind !== 'message') return ''
  const [block] = first.content
  return block?.type === 'text' ? oneLine(block.text, 60) : ''
}

/**
 * The sequence that tells the person of something while they look elsewhere: a notification where the terminal has them,
 * and the bell. The text must not contain control characters.
 */
function notification(text: string, env: TerminalStreams['env']): string {
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
const titleOf = (title: string): string => `\x1b]2;${title.replace(/\p{Cc}/gu, ' ').slice(0, 100)}\x07`
const progressOn = '\x1b]9;4;3\x07'
const progressOff = '\x1b]9;4;0\x07'
/** The terminal keeps the title that it had, and gets it back. */
const saveTitle = '\x1b[22;2t'
const restoreTitle = '\x1b[23;2t'
