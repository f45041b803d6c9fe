import type { Io } from '../io.ts'
import type { Screen } from '../screen/screen.ts'
import type { Terminal } from '../screen/terminal.ts'
import type { Seat } from './seat-person.ts'

export interface PersonPlace {
  readonly io: Io
  readonly cwd: string
  readonly terminal: Terminal
  readonly screen: Screen
  readonly onInterrupt: () => void
}

/** The person at a terminal; nobody where there is no keyboard. */
export async function personAt({ io, ...place }: PersonPlace): Promise<Seat | undefined> {
  const { openKeyboard } = await import('../screen/keyboard.ts')
  const keyboard = openKeyboard(io)
  if (!keyboard) return undefined
  const { seatPerson } = await import('./seat-person.ts')
  const { isForeground, suspend } = await import('./foreground.ts')
  return seatPerson({ ...place, keyboard, isForeground, suspend })
}

/** Whoever quits at once, and says why, leaves a terminal behind that somebody goes on with. */
export function leavingFirst(io: Io, leave: () => void): Io {
  const after =
    <T>(does: (what: T) => void) =>
    (what: T): void => {
      leave()
      does(what)
    }
  return Object.create(io, { quit: { value: after(io.quit) }, err: { value: after(io.err) } })
}
