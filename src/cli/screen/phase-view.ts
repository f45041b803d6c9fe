import { visibleName } from '../../platform/visible-text.ts'
import type { Paint } from './paint.ts'

/** What the model, or what it needs, is at while nothing of it can be shown otherwise: a line that does not stay. */
interface PhaseView {
  /** `attempt` counts from 1. */
  asked(now: number, attempt?: number): void
  /** Which model it is that is asked. */
  model(name: string): void
  /** Something else has to come first. */
  waiting(text: string, now: number): void
  thinking(delta: string): void
  /** Something of its answer has come and is shown, and more is expected. */
  answering(now: number): void
  /** Nothing is expected of it. */
  idle(): void
  live(now: number, spinner: string): string[]
  readonly isBusy: boolean
  /** What is waited for, where the model has been asked and has said nothing yet. */
  awaited(now: number): string | undefined
}

export function createPhaseView(paint: Paint): PhaseView {
  let phase: 'idle' | 'asked' | 'thinking' | 'waiting' | 'answering' = 'idle'
  let awaited = ''
  let askedAt = 0
  let attempt = 1
  let model = 'the model'
  let thought = ''
  const words = (now: number): string => {
    if (phase === 'thinking') return `thinking… ${textTail(thought)}`
    const seconds = Math.floor((now - askedAt) / 1000)
    if (phase === 'answering') return `waiting for ${model} to go on · ${seconds} s · Ctrl-C to stop`
    if (phase === 'asked' && seconds >= patienceS) return waitingWords({ model, seconds, attempt })
    const what = phase === 'waiting' ? awaited : 'asking the model'
    return seconds > 0 ? `${what}, ${seconds} s` : what
  }
  return {
    model(name) {
      model = visibleName(name)
    },
    asked(now, which = 1) {
      phase = 'asked'
      attempt = which
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
    answering(now) {
      phase = 'answering'
      askedAt = now
      thought = ''
    },
    idle() {
      phase = 'idle'
      thought = ''
    },
    live(now, spinner) {
      // While the answer moves it is its own sign of life.
      const isStill = phase === 'idle' || (phase === 'answering' && now - askedAt < stalledMs)
      return isStill ? [] : [`${paint.cyan(spinner)} ${paint.dim(words(now))}`]
    },
    get isBusy() {
      return phase !== 'idle'
    },
    awaited: (now) => (phase === 'asked' ? words(now) : undefined),
  }
}

const keptThought = 400
/** A pause that long is no part of an answer that moves. */
const stalledMs = 2000
/** From here on a person wonders what is going on. */
const patienceS = 5

/** Says what is waited for, for how long, and what can be done about it. */
function waitingWords({ model, seconds, attempt }: Waiting): string {
  const tries = attempt > 1 ? ` · attempt ${attempt}` : ''
  return `waiting for ${model} · ${seconds} s${tries} · Ctrl-C to stop`
}

interface Waiting {
  readonly model: string
  readonly seconds: number
  readonly attempt: number
}

/** The end of a text that grows, on one line. */
export function textTail(text: string, most = 60): string {
  const words = text.replace(/\s+/g, ' ').trim()
  if (words.length <= most) return visibleName(words)
  const cut = words.slice(-most)
  return visibleName(`…${cut.slice(cut.indexOf(' ') + 1)}`)
}
