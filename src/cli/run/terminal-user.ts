import type { Interactor } from '../../authority/interaction/interactor-queue.ts'
import type { SessionSummary } from '../../core/store.ts'
import { visibleName } from '../../platform/visible-text.ts'
import { createPerson } from '../../tui/dialogs/person.ts'
import { openKeyboard } from '../../tui/input/keyboard.ts'
import type { Screen } from '../../tui/one-shot/screen.ts'
import { timeAgo } from '../../tui/rows/format.ts'
import { suspend } from '../../tui/terminal/suspend.ts'
import type { Terminal } from '../../tui/terminal/terminal.ts'
import { interactWith } from '../assembly/workspace.ts'
import type { Io } from '../io.ts'
import { realFolder } from '../sessions/session-folder.ts'
import { titlesFor } from '../sessions/session-title.ts'
import { statusLabel } from '../sessions/status-label.ts'
import { holdKeyboard, isForeground } from './hold-keyboard.ts'

/** The person at the terminal: answers prompts and picks sessions. */
export interface TerminalUser {
  readonly interactor: Interactor
  pick(sessions: readonly SessionSummary[]): Promise<string | undefined>
  close(): void
}

interface TerminalUserOptions {
  readonly io: Io
  /** The folder in which the agent works. */
  readonly cwd: string
  readonly terminal: Terminal
  readonly screen: Pick<Screen, 'pause' | 'resume'>
  readonly onInterrupt: () => void
}

/** `undefined` when there is no keyboard. */
export function openTerminalUser({ io, cwd, ...options }: TerminalUserOptions): TerminalUser | undefined {
  const keyboard = openKeyboard(io)
  if (!keyboard) return undefined
  const { terminal } = options
  // When stdout goes to another program, a pager for instance, that program may need the keyboard.
  const held = terminal.isStdoutTerminal ? holdKeyboard({ ...options, keyboard, isForeground, suspend }) : undefined
  const interactor = createPerson({
    ...options,
    keyboard,
    ...(held && { screen: held.screen, isTyping: held.isTyping }),
  })
  return {
    interactor,
    pick: (sessions) => pickSession(interactor, sessions, { currentFolder: realFolder(cwd), env: io.env }),
    close() {
      held?.close()
      keyboard.close()
    },
  }
}

async function pickSession(
  person: Interactor,
  sessions: readonly SessionSummary[],
  { currentFolder, env }: { readonly currentFolder: string; readonly env: Io['env'] },
): Promise<string | undefined> {
  const ask = await interactWith(person)
  const now = Date.now()
  const title = titlesFor(env)
  const options = sessions.map((session) => {
    const { id, updatedAt, folder = currentFolder } = session
    const facts = [
      timeAgo(updatedAt, now),
      statusLabel(session),
      ...(folder === currentFolder ? [] : [`in ${visibleName(folder)}`]),
    ]
    return `${visibleName(id)}  ${title(session)} (${facts.join(', ')})`
  })
  const payload = { kind: 'Select', prompt: 'Which session?', options }
  const answer = await ask({ kind: 'Select', payload }, new AbortController().signal)
  return answer.status === 'accepted' ? sessions[options.indexOf(String(answer.value))]?.id : undefined
}
