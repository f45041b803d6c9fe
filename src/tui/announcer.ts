import type { ChatState } from '../chat/chat.ts'
import { fullyVisible } from '../platform/visible-text.ts'
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
      const now = view.details.title ?? ''
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
