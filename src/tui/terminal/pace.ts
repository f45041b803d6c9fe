import type { Clock } from '../../core/clock.ts'

/** Asks the terminal where its cursor is. It answers when it has drawn all that came before. */
export const askCursor = '\x1b[6n'

/**
 * Keeps the terminal at most a few kilobytes behind. Between a program and a slow terminal, such as one over a slow
 * connection, lie buffers that take far more than a person would wait for. So the terminal is asked from time to time how
 * far it is, and while it owes an answer for too much, nothing more is written. A terminal that does not answer is written
 * to as fast as it takes it.
 */
export interface Pace {
  /** Whether the terminal is too far behind for another frame. */
  readonly isBehind: boolean
  /** Called with each write. What it returns is written at its end. */
  wrote(text: string): string
  /** The terminal has answered. Returns whether it is the first answer. */
  answered(): boolean
  /** Resolves when no answer is on its way, so that none reaches another program; not after a moment. */
  settled(): Promise<void>
}

/** `onCaughtUp` is called when frames may be written again. The first answer, to a question of the caller, turns it on. */
export function createPace(clock: Clock, onCaughtUp: () => void): Pace {
  let answers = false
  let wasAnswered = false
  /** Characters since the last question, and whether its answer is still to come. */
  let unasked = 0
  let isOwed = false
  let cancel = (): void => {}
  let settle = (): void => {}

  function end(): void {
    cancel()
    isOwed = false
    settle()
    onCaughtUp()
  }
  return {
    get isBehind() {
      return isOwed && unasked >= mostUnasked
    },
    wrote(text) {
      unasked += text.length
      if (!answers || isOwed || unasked < mostUnasked) return ''
      isOwed = true
      unasked = 0
      cancel = clock.timer(patienceMs, () => {
        answers = false
        end()
      })
      return askCursor
    },
    answered() {
      const isFirst = !wasAnswered
      answers = wasAnswered = true
      end()
      return isFirst
    },
    async settled() {
      if (!isOwed) return
      await new Promise<void>((resolve) => {
        const stop = clock.timer(leavingMs, resolve)
        settle = () => {
          stop()
          resolve()
        }
      })
    },
  }
}

const mostUnasked = 2048
/** Longer than a slow terminal takes for what lies between two questions. */
const patienceMs = 5000
const leavingMs = 1000
