import type { Key } from './key-decoder.ts'
import type { Keyboard } from './keyboard.ts'

/** Gives keys to the topmost reader: a dialog on top of the input line, a viewer on top of both. */
export interface KeyRouter extends Keyboard {
  /** Whether a reader is on top of the first one. */
  readonly isCovered: boolean
  /** Gives a key to the topmost reader, as if it were pressed. */
  pass(key: Key): void
  /** Stops reading, for another program that uses the terminal. Returns a function that goes on. */
  release(): () => void
}

/** `onReport` gets the column of the cursor, when the terminal was asked for it. */
export function createKeyRouter(keyboard: Keyboard, onReport: (column: number) => void = () => {}): KeyRouter {
  const readers: ((key: Key) => void)[] = []
  const press = (key: Key): void => {
    if (key.type === 'report') onReport(key.column)
    // Whether the terminal has the focus concerns the app, whatever is on top of it.
    else readers.at(key.type === 'focus' ? 0 : -1)?.(key)
  }
  let stop: (() => void) | undefined

  return {
    pass: press,
    read(listener) {
      readers.push(listener)
      stop ??= keyboard.read(press)
      return () => {
        const at = readers.lastIndexOf(listener)
        if (at >= 0) readers.splice(at, 1)
      }
    },
    get isCovered() {
      return readers.length > 1
    },
    release() {
      stop?.()
      stop = undefined
      return () => {
        stop ??= keyboard.read(press)
      }
    },
    close() {
      readers.length = 0
      stop?.()
      stop = undefined
      keyboard.close()
    },
  }
}
