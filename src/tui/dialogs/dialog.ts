import type { Clock } from '../../core/clock.ts'
import type { Key } from '../input/key-decoder.ts'
import type { Keyboard } from '../input/keyboard.ts'
import type { Caret } from '../terminal/surface.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** What a dialog draws on, reads from, and when it closes. */
export interface DialogContext {
  readonly terminal: Terminal
  readonly keyboard: Keyboard
  readonly clock: Clock
  /** Aborted when the question is withdrawn; closes the dialog. */
  readonly signal?: AbortSignal
  /** When the question expires, in ms since the epoch. The last seconds are counted down. */
  readonly expiresAt?: number
  /**
   * Keys are ignored for this many ms after the dialog opened, since they were meant for something else. While the
   * person keeps typing they are ignored further, until a pause. Default 0.
   */
  readonly ignoreKeysMs?: number
  /** Lets the person change a text in their editor; `undefined` if they left it as it was. Absent if there is no editor. */
  readonly editText?: (text: string) => Promise<string | undefined>
}

/** The lines of a dialog, and its reaction to keys. */
export interface DialogView<T> {
  draw(): readonly string[]
  /** Where the cursor stands after `draw`, counted from its first line. Without it there is no cursor. */
  caret?(): Caret
  /** What the keys do. Shown once keys are no longer ignored. */
  hint(): string
  /** A returned value ends the dialog. */
  press(key: Key): { readonly value: T } | undefined
}

/** The dialog was closed without an answer: by Ctrl-C (`interrupted`), or because the question was withdrawn (`over`). */
export class DialogClosed extends Error {
  readonly why: 'interrupted' | 'over'
  constructor(why: 'interrupted' | 'over') {
    super(why === 'interrupted' ? 'Ctrl-C was pressed; run again to be asked again' : 'the question is over')
    this.name = 'AbortError'
    this.why = why
  }
}

/** Shows a dialog until a key ends it. Rejects with `DialogClosed` on Ctrl-C, which is never ignored, and on `signal`. */
export async function runDialog<T>(view: DialogView<T>, context: DialogContext): Promise<T> {
  const { terminal, keyboard, clock, signal, ignoreKeysMs = 0 } = context
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  let ignoresKeys = ignoreKeysMs > 0
  let ignoringHint = '…'
  let cancelTick = (): void => {}
  let cancelAccept = (): void => {}

  const lines = (): string[] => [...view.draw(), terminal.paint.dim(`  ${ignoresKeys ? ignoringHint : view.hint()}`)]
  const draw = (): void => terminal.live([...lines(), ...countdown(context)], view.caret?.())
  const acceptKeys = (): void => {
    ignoresKeys = false
    if (terminal.isInteractive) draw()
    else for (const line of lines()) terminal.line(line)
  }
  // Keys typed before the timer fires are delivered first, even if the process is slow.
  const acceptKeysAfter = (ms: number): void => {
    cancelAccept()
    let isDue = true
    const cancel = clock.timer(ms, () => void setImmediate(() => isDue && acceptKeys()))
    cancelAccept = () => {
      isDue = false
      cancel()
    }
  }
  /** The person is in the middle of a word, and one of its letters could be taken for an answer. */
  const keepIgnoring = (): void => {
    ignoringHint = '… keys are ignored until you stop typing for a moment'
    acceptKeysAfter(Math.max(ignoreKeysMs, pauseMs))
    draw()
  }
  const tick = (): void => {
    cancelTick = clock.timer(1000, () => {
      draw() // updates the countdown, and follows a resize
      tick()
    })
  }
  const close = (): void => {
    release()
    cancelTick()
    cancelAccept()
    signal?.removeEventListener('abort', onAbort)
    terminal.live([])
  }
  const onAbort = (): void => {
    close()
    reject(new DialogClosed('over'))
  }
  const onKey = (key: Key): void => {
    if (key.type === 'focus') return
    try {
      if (key.type === 'ctrl' && key.key === 'c') throw new DialogClosed('interrupted')
      if (ignoresKeys) {
        keepIgnoring()
        return
      }
      const outcome = view.press(key)
      if (!outcome) draw()
      else {
        close()
        resolve(outcome.value)
      }
    } catch (error) {
      close()
      reject(error)
    }
  }

  if (signal?.aborted) throw new DialogClosed('over')
  const release = keyboard.read(onKey)
  signal?.addEventListener('abort', onAbort)
  if (ignoresKeys) acceptKeysAfter(ignoreKeysMs)
  else acceptKeys()
  draw()
  tick()
  return await promise
}

const countdownMs = 30_000
/** Longer than a person pauses between two letters. */
const pauseMs = 1000

/** The line about the time that is left, once it is short. */
export function countdown({ expiresAt, clock, terminal }: DialogContext): string[] {
  if (expiresAt === undefined) return []
  const left = expiresAt - clock.now()
  if (left > countdownMs) return []
  return [terminal.paint.yellow(`  ${Math.max(0, Math.ceil(left / 1000))} s left to answer`)]
}
