import { pageWhere } from '../../sessions/session-query.ts'
import { openKeyboard } from '../../tui/input/keyboard.ts'
import { lastRows } from '../../tui/open-lists.ts'
import { createPaint, hasColours } from '../../tui/terminal/paint.ts'
import { createTerminal } from '../../tui/terminal/terminal.ts'
import { modesOff } from '../../tui/terminal/terminal-modes.ts'
import { viewerScreen } from '../../tui/terminal/viewer-screen.ts'
import { sessionsView } from '../../tui/viewers/sessions.ts'
import { runViewer } from '../../tui/viewers/viewer.ts'
import { exitCodes } from '../cli-error.ts'
import type { Io } from '../io.ts'
import { isResumable, type OpenSessionOptions } from '../sessions/open-session.ts'
import { realFolder } from '../sessions/session-folder.ts'

type Pick = NonNullable<OpenSessionOptions['pick']>
interface Place {
  readonly io: Io
  readonly cwd: string
}

/** Lets the person choose a session in the viewer of sessions: those of this folder first, with search and preview. */
export function pickInViewer({ io, cwd }: Place): Pick {
  return async (sessions, store) => {
    const keyboard = openKeyboard({ ...io, stderr: io.stdout }, { modes: 'all' })
    if (!keyboard) return undefined
    const here = realFolder(cwd)
    const paint = createPaint({ colours: hasColours(io.stdout, io.env) })
    const screen = viewerScreen(io.stdout, paint)
    const view = sessionsView({
      paint,
      now: () => Date.now(),
      ...(sessions.some(({ folder }) => folder === here) && { folder: here }),
      list: (query) => pageWhere(store, query, isResumable),
      lastRows: (id) => lastRows(store, id),
    })
    try {
      return (await runViewer(view, { terminal: screen, keyboard }))?.id
    } finally {
      screen.close()
      keyboard.close()
      io.stdout.write(modesOff)
    }
  }
}

/** The same as a list of lines, for plain mode. */
export function pickByNumber({ io, cwd }: Place): Pick {
  return async (sessions) => {
    const { openTerminalUser } = await import('../run/terminal-user.ts')
    const terminal = createTerminal(io)
    const screen = { pause() {}, resume() {} }
    const person = openTerminalUser({ io, cwd, terminal, screen, onInterrupt: () => io.quit(exitCodes.interrupted) })
    try {
      return await person?.pick(sessions)
    } finally {
      person?.close()
      terminal.close()
    }
  }
}
