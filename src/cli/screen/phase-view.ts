import { lastWords } from './last-words.ts'
import type { Paint } from './paint.ts'

/** What the model, or what it needs, is at while nothing of it can be shown otherwise: a line that does not stay. */
interface PhaseView {
  asked(now: number): void
  /** Something else has to come first. */
  waiting(text: string, now: number): void
  thinking(delta: string): void
  /** Something of it is shown, or nothing is expected. */
  idle(): void
  live(now: number, spinner: string): string[]
  readonly isBusy: boolean
}

export function createPhaseView(paint: Paint): PhaseView {
  let phase: 'idle' | 'asked' | 'thinking' | 'waiting' = 'idle'
  let awaited = ''
  let askedAt = 0
  let thought = ''
  const words = (now: number): string => {
    if (phase === 'thinking') return `thinking… ${lastWords(thought)}`
    const seconds = Math.floor((now - askedAt) / 1000)
    const what = phase === 'waiting' ? awaited : 'asking the model'
    return seconds > 0 ? `${what}, ${seconds} s` : what
  }
  return {
    asked(now) {
      phase = 'asked'
      askedAt = now
      thought = ''
    },
    waiting(text, now) {
      if (phase !== 'waiting') askedAt = now
      phase = 'waiting'
      awaited = text
    },
    thinking(delta) {
      phase = 'thinking'
      thought = (thought + delta).slice(-keptThought)
    },
    idle() {
      phase = 'idle'
      thought = ''
    },
    live: (now, spinner) => (phase === 'idle' ? [] : [`${paint.cyan(spinner)} ${paint.dim(words(now))}`]),
    get isBusy() {
      return phase !== 'idle'
    },
  }
}

const keptThought = 400
