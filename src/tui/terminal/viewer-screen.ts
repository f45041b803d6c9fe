import type { ViewerTerminal } from '../viewers/viewer.ts'
import type { Output } from './output.ts'
import type { Paint } from './paint.ts'
import { alternateOff, alternateOn } from './sequences.ts'

/** The whole screen, for viewers. `close` leaves the alternate screen if a viewer is still on it. */
export function viewerScreen(output: Output, paint: Paint): ViewerTerminal & { close(): void } {
  let isAlternate = false
  return {
    paint,
    get columns() {
      return output.columns || 80
    },
    get rows() {
      return output.rows || 24
    },
    write(sequences) {
      if (sequences.includes(alternateOn)) isAlternate = true
      if (sequences.includes(alternateOff)) isAlternate = false
      output.write(sequences)
    },
    onResize(listener) {
      output.on('resize', listener)
      return () => void output.off('resize', listener)
    },
    close() {
      if (isAlternate) output.write(alternateOff)
      isAlternate = false
    },
  }
}
