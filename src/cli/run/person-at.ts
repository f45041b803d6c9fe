import type { Io } from '../io.ts'
import type { Screen } from '../screen/screen.ts'
import type { Terminal } from '../screen/terminal.ts'
import type { TerminalUser } from './terminal-user.ts'

export interface TerminalUserOptions {
  readonly io: Io
  readonly cwd: string
  readonly terminal: Terminal
  readonly screen: Screen
  readonly onInterrupt: () => void
}

/** The person at a terminal; nobody where there is no keyboard. */
export async function openTerminalUser({ io, ...place }: TerminalUserOptions): Promise<TerminalUser | undefined> {
  const { openKeyboard } = await import('../screen/keyboard.ts')
  const keyboard = openKeyboard(io)
  if (!keyboard) return undefined
  const { createTerminalUser } = await import('./terminal-user.ts')
  const { isForeground, suspend } = await import('./hold-keyboard.ts')
  return createTerminalUser({ ...place, keyboard, isForeground, suspend })
}

/** Whoever quits at once, and says why, leaves a terminal behind that somebody goes on with. */
export function restoringTerminal(io: Io, leave: () => void): Io {
  const after =
    <T>(does: (what: T) => void) =>
    (what: T): void => {
      leave()
      does(what)
    }
  return Object.create(io, { quit: { value: after(io.quit) }, err: { value: after(io.err) } })
}
