import { visibleName } from '../../platform/visible-text.ts'
import type { Paint } from '../terminal/paint.ts'

/** A live line about the model, shown while nothing of its answer can be: waiting, thinking, stalled. */
export function createPhaseView(paint: Paint) {
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
    if (phase === 'asked' && seconds >= longWaitS) {
      const tries = attempt > 1 ? ` · attempt ${attempt}` : ''
      return `waiting for ${model} · ${seconds} s${tries} · Ctrl-C to stop`
    }
    const what = phase === 'waiting' ? awaited : 'asking the model'
    return seconds > 0 ? `${what}, ${seconds} s` : what
  }
  return {
    model(name: string): void {
      model = visibleName(name)
    },
    asked(now: number, which = 1): void {
      phase = 'asked'
      attempt = which
      askedAt = now
      thought = ''
    },
    /** Something else must be ready before the model is asked. */
    waiting(text: string, now: number): void {
      if (phase !== 'waiting') askedAt = now
      phase = 'waiting'
      awaited = text
    },
    thinking(delta: string): void {
      phase = 'thinking'
      thought = (thought + delta).slice(-keptThought)
    },
    /** A part of the answer is shown, and more is expected. */
    answering(now: number): void {
      phase = 'answering'
      askedAt = now
      thought = ''
    },
    /** Nothing is expected of the model. */
    idle(): void {
      phase = 'idle'
      thought = ''
    },
    live(now: number, spinner: string): string[] {
      // No line is needed while the answer grows.
      const isStill = phase === 'idle' || (phase === 'answering' && now - askedAt < stalledMs)
      return isStill ? [] : [`${paint.cyan(spinner)} ${paint.dim(words(now))}`]
    },
    get isBusy(): boolean {
      return phase !== 'idle'
    },
    /** The line to show while the model has been asked and has not answered yet. */
    awaited: (now: number): string | undefined => (phase === 'asked' ? words(now) : undefined),
  }
}

const keptThought = 400
/** After a pause of this length the answer counts as stalled. */
const stalledMs = 2000
/** From here on the line names the model and how to stop. */
const longWaitS = 5

/** The end of a growing text, on one line. */
export function textTail(text: string): string {
  const words = text.replace(/\s+/g, ' ').trim()
  if (words.length <= 60) return visibleName(words)
  const cut = words.slice(-60)
  return visibleName(`…${cut.slice(cut.indexOf(' ') + 1)}`)
}

/** The frames of the mark that turns while the agent works. */
export const spinners = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
