import type { Clock } from '../core/clock.ts'
import { DialogClosed, type DialogContext } from './dialogs/dialog.ts'
import type { KeyRouter } from './input/key-router.ts'
import { oneAtATime } from './one-at-a-time.ts'
import type { Pace } from './terminal/pace.ts'
import type { Surface } from './terminal/surface.ts'
import type { Terminal } from './terminal/terminal.ts'
import type { ViewerContext } from './viewers/viewer.ts'

interface ForegroundOptions {
  readonly surface: Surface
  readonly terminal: Terminal
  readonly keyboard: KeyRouter
  readonly clock: Clock
  readonly pace: Pick<Pace, 'settled'>
  /** Viewers get it, with the keyboard. */
  readonly viewer: Omit<ViewerContext, 'keyboard' | 'clock' | 'signal'>
  draw(): void
}

/**
 * What takes the screen or the keyboard from the input: viewers, dialogs, other programs. Viewers and dialogs are open one
 * at a time: a question that comes while something else is in sight waits, so that no key answers what is not shown.
 */
export function createForeground({ surface, terminal, keyboard, clock, pace, viewer, draw }: ForegroundOptions) {
  const queue = oneAtATime()
  const ending = new AbortController()
  const { signal } = ending
  let away = 0
  const inTurn = <T>(work: () => Promise<T>): Promise<T> =>
    queue(async () => {
      if (signal.aborted) throw new DialogClosed('over')
      return await work()
    })

  /** The live lines are gone while `use` runs. */
  async function leave<T>(use: () => Promise<T>): Promise<T> {
    if (away++ === 0 && !signal.aborted) surface.clear()
    try {
      return await use()
    } finally {
      away--
      surface.invalidate()
      draw()
    }
  }

  return {
    /** Whether the live lines are not to be drawn. */
    get isAway() {
      return away > 0
    },
    /** Shows viewers on the whole screen. */
    view: <T>(use: (viewer: ViewerContext) => Promise<T>): Promise<T> =>
      queue(() => leave(() => use({ ...viewer, keyboard, clock, signal }))),
    /** Asks in place of the input. */
    dialog: <T>(use: (context: DialogContext) => Promise<T>): Promise<T> =>
      inTurn(() => use({ terminal, keyboard, clock, signal })),
    /** For a dialog that has its own context; rejects with `DialogClosed` if the app ends before its turn. */
    inTurn,
    /** Gives the terminal as it was before to another program, also from within a dialog. */
    outside: <T>(use: () => Promise<T>): Promise<T> =>
      leave(async () => {
        await pace.settled()
        const again = keyboard.release()
        try {
          return await use()
        } finally {
          if (!signal.aborted) again()
        }
      }),
    /** Closes what is open. What would come later draws nothing. */
    async end(): Promise<void> {
      ending.abort()
      await new Promise((resolve) => setImmediate(resolve)) // a viewer leaves its screen
      away++
    },
  }
}
