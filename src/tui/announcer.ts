import type { ChatState } from '../chat/chat.ts'
import { oneLine } from '../core/text.ts'
import { fullyVisible } from '../platform/visible-text.ts'
import type { SessionView } from '../view/session-view.ts'
import { notification, progressOff, progressOn, restoreTitle, saveTitle, titleOf } from './terminal/notify.ts'
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
