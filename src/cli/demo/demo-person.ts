import { setTimeout as pause } from 'node:timers/promises'
import type { Interactor } from '../../authority/interaction/interactor-line.ts'
import { askedCalls, askedRows } from '../screen/dialogs/asked-calls.ts'
import type { Screen } from '../screen/screen.ts'
import type { Terminal } from '../screen/terminal.ts'

interface DemoPersonOptions {
  readonly terminal: Terminal
  readonly screen: Pick<Screen, 'pause' | 'resume'>
  /** Milliseconds in which somebody can read the question. */
  readonly readingMs: number
}

/** Stands in for the person at the terminal: shows the question as it would be shown, and says yes, once. */
export function createDemoPerson({ terminal, screen, readingMs }: DemoPersonOptions): Interactor {
  const { paint } = terminal
  return {
    name: 'the demo',
    kinds: ['Approve'],
    async present({ payload, signal }) {
      screen.pause()
      try {
        const [call] = askedCalls(payload)
        const { about } = call!
        terminal.line(askedRows(call!, terminal).join('\n'))
        await pause(readingMs, undefined, { signal }).catch(() => {}) // nobody has to read what was withdrawn
        terminal.line(
          `${paint.green('✓')} allowed once: ${about} ${paint.dim('(answered by the demo; here you would choose)')}`,
        )
        return 'once'
      } finally {
        screen.resume()
      }
    },
  }
}
