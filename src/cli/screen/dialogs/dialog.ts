import type { Clock } from '../../../core/clock.ts'
import type { Key } from '../key-decoder.ts'
import type { Keyboard } from '../keyboard.ts'
import type { Terminal } from '../terminal.ts'

/** Where a dialog takes context, and how long it may. */
export interface DialogContext {
  readonly terminal: Terminal
  readonly keyboard: Keyboard
  readonly clock: Clock
  /** Aborted when the question is over: the dialog closes. */
  readonly signal?: AbortSignal
  /** When nobody waits for an answer any more, in ms since the epoch. The last seconds are shown. */
  readonly expiresAt?: number
  /**
   * Keys count only from so many ms after it opened: they were meant for something else. Whoever goes on typing is heard
   * only after a pause. Default 0.
   */
  readonly ignoreKeysMs?: number
}

/** What is seen of a dialog, and what keys do to it. */
export interface DialogView<T> {
  draw(): readonly string[]
  /** Which keys do what. It stands there as soon as they count. */
  hint(): string
  /** An outcome ends the dialog. */
  press(key: Key): { readonly value: T } | undefined
}

/** The dialog was closed without an answer: by Ctrl-C, or because it is over. */
export class DialogClosed extends Error {
  readonly why: 'interrupted' | 'over'
  constructor(why: 'interrupted' | 'over') {
    super(why === 'interrupted' ? 'somebody pressed Ctrl-C; run again to be asked again' : 'the question is over')
    this.name = 'AbortError'
    this.why = why
  }
}

/** Shows a dialog until a key ends it. Rejects with `DialogClosed` on Ctrl-C, which counts at any time, and on `signal`. */
export async function runDialog<T>(view: DialogView<T>, context: DialogContext): Promise<T> {
  const { terminal, keyboard, clock, signal, expiresAt, ignoreKeysMs = 0 } = context
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  let isDeaf = ignoreKeysMs > 0
  let deafHint = '…'
  let cancelTick = (): void => {}
  let cancelQuiet = (): void => {}

  const lines = (): string[] => [...view.draw(), terminal.paint.dim(`  ${isDeaf ? deafHint : view.hint()}`)]
  const draw = (): void => terminal.live([...lines(), ...countdown(expiresAt, context)])
  const listen = (): void => {
    isDeaf = false
    if (terminal.isInteractive) draw()
    else for (const line of lines()) terminal.line(line)
  }
  // What was typed before is read first, however late we come to it.
  const listenAfter = (ms: number): void => {
    cancelQuiet()
    let isDue = true
    const cancel = clock.timer(ms, () => void setImmediate(() => isDue && listen()))
    cancelQuiet = () => {
      isDue = false
      cancel()
    }
  }
  /** Somebody is in the middle of a word: one of its letters would be an answer. */
  const stayDeaf = (): void => {
    deafHint = '… keys do not count yet: stop typing for a moment'
    listenAfter(Math.max(ignoreKeysMs, pauseMs))
    draw()
  }
  const tick = (): void => {
    cancelTick = clock.timer(1000, () => {
      draw() // the seconds pass, and the screen may have another size
      tick()
    })
  }
  const close = (): void => {
    release()
    cancelTick()
    cancelQuiet()
    signal?.removeEventListener('abort', onOver)
    terminal.live([])
  }
  const onOver = (): void => {
    close()
    reject(new DialogClosed('over'))
  }
  const onKey = (key: Key): void => {
    try {
      if (key.type === 'ctrl' && key.key === 'c') throw new DialogClosed('interrupted')
      if (isDeaf) {
        stayDeaf()
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
  signal?.addEventListener('abort', onOver)
  if (isDeaf) listenAfter(ignoreKeysMs)
  else listen()
  draw()
  tick()
  return await promise
}

const shownMs = 30_000
/** Longer than between two letters of somebody who types. */
const pauseMs = 1000

function countdown(expiresAt: number | undefined, { clock, terminal }: DialogContext): string[] {
  if (expiresAt === undefined) return []
  const left = expiresAt - clock.now()
  if (left > shownMs) return []
  return [terminal.paint.yellow(`  ${Math.max(0, Math.ceil(left / 1000))} s left to answer`)]
}
