import { keyboardModes } from '../input/keyboard.ts'
import { end, showCursor, wrap } from './sequences.ts'

/** Restores the terminal whatever state a crash left; harmless if nothing was switched on. */
export const modesOff = [
  end, // of an unfinished frame
  keyboardModes.all.off,
  wrap,
  showCursor,
  '\x1b[0m',
].join('')
