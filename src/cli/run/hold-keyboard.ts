import type { Keyboard } from '../screen/keyboard.ts'
import { LineEditor } from '../screen/line-editor.ts'
import type { Screen } from '../screen/screen.ts'

/** Keys that are typed while nobody asks: a terminal would put them into the middle of what is shown. */
interface HeldKeyboard {
  /** The screen as a dialog should have it: while it is paused, the keyboard is free. */
  readonly screen: Pick<Screen, 'pause' | 'resume'>
  /** Frees the keyboard for as long as this takes, which gets what was typed so far. */
  lend<T>(use: (typed: string) => Promise<T>): Promise<T>
  /** Whether somebody typed just now: the next key may still be meant for the same. */
  isTyping(): boolean
  close(): void
}

export interface HoldOptions {
  readonly keyboard: Keyboard
  readonly screen: Pick<Screen, 'pause' | 'resume'>
  /** Ctrl-C: with the keyboard held it is a key, and no signal. */
  readonly onInterrupt: () => void
  /** Ctrl-Z: resolves when the process goes on. Without it the key does nothing. */
  readonly suspend?: () => Promise<void>
  /** Whoever takes the keyboard in the background is stopped by the system. */
  readonly isForeground?: () => boolean
  /** A clock in ms. */
  readonly now?: () => number
}

/** Holds the keyboard from now on, but for when somebody else needs it. */
export function holdKeyboard(options: HoldOptions): HeldKeyboard {
  const { keyboard, screen, onInterrupt, suspend, isForeground, now = () => performance.now() } = options
  let typedAt = Number.NEGATIVE_INFINITY
  let typed = new LineEditor()
  let release: (() => void) | undefined
  let users = 0
  let isClosed = false

  function hold(): void {
    if (isClosed || users > 0 || release || isForeground?.() === false) return
    release = keyboard.read((key) => {
      typedAt = now()
      if (key.type === 'ctrl' && key.key === 'c') onInterrupt()
      else if (key.type === 'ctrl' && key.key === 'z') void stop()
      else if (typed.text.length < mostTyped || key.type !== 'text') typed.press(key)
    })
  }
  function free(): void {
    users++
    release?.()
    release = undefined
  }
  function done(): void {
    users--
    hold()
  }
  async function stop(): Promise<void> {
    if (!suspend) return
    paused.pause()
    await suspend()
    paused.resume()
  }

  const paused = {
    pause(): void {
      free()
      screen.pause()
    },
    resume(): void {
      if (users === 1) screen.resume()
      done()
    },
  }
  hold()
  return {
    screen: paused,
    async lend(use) {
      const text = typed.text
      typed = new LineEditor()
      free()
      try {
        return await use(text)
      } finally {
        done()
      }
    },
    isTyping: () => now() - typedAt < pauseMs,
    close() {
      isClosed = true
      free()
    },
  }
}

/** Nobody types more ahead than this; a cat on the keyboard does. */
const mostTyped = 100_000
/** Whoever types pauses for less than this between two words. */
const pauseMs = 2000
