import type { Chat, ChatState } from '../../chat/chat.ts'
import type { Clock } from '../../core/clock.ts'
import type { Composer } from './composer.ts'

interface DraftForecastOptions {
  readonly chat: Chat
  readonly composer: Composer
  readonly clock: Clock
  readonly onChange: () => void
}

/** What the next model call costs with what is typed. It is counted a moment after the last key: a paste may be large. */
export function createDraftForecast({ chat, composer, clock, onChange }: DraftForecastOptions) {
  let found: ChatState['forecast']
  let cancel = (): void => {}
  async function count(): Promise<void> {
    const draft = composer.editor.fullText
    found = await chat.forecast(draft).catch(() => undefined) // a screen can do without
    if (composer.isEmpty) found = undefined
    onChange()
  }
  return {
    /** Undefined while nothing is typed, and without prices. */
    get now() {
      return found
    },
    /** To be called after each key. */
    typed(): void {
      cancel()
      if (composer.isEmpty) found = undefined
      else if (chat.state.forecast) cancel = clock.timer(pauseMs, () => void count())
    },
    stop: (): void => cancel(),
  }
}

const pauseMs = 250
