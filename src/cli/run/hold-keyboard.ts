import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
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

/** Whether this process is the one that the terminal belongs to; true where nobody can say. */
export function isForeground(): boolean {
  if (process.platform === 'win32') return true
  try {
    const [own, terminals] = process.platform === 'linux' ? groupsByFile() : groupsByProgram()
    return own === terminals
  } catch {
    return true
  }
}

/** The name of a program, in parentheses, may hold anything; what follows are state, parent, group, session, terminal, its group. */
function groupsByFile(): (string | undefined)[] {
  const stat = readFileSync('/proc/self/stat', 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return [fields[2], fields[5]]
}

function groupsByProgram(): (string | undefined)[] {
  const args = ['-o', 'pgid=,tpgid=', '-p', String(process.pid)]
  return execFileSync('ps', args, { encoding: 'utf8', timeout: 1000 }).trim().split(/\s+/)
}

/** Stops the process, and what the shell started with it, as Ctrl-Z does. Resolves when it goes on, also if it could not be stopped. */
export function suspend(): Promise<void> {
  if (process.platform !== 'win32') process.kill(0, 'SIGTSTP')
  return new Promise((resolve) => setTimeout(resolve, signalMs))
}

/** Time for a signal to arrive; the rest passes while nothing runs. */
const signalMs = 100
