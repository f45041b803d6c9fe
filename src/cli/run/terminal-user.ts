import type { Interactor } from '../../authority/interaction/interactor-queue.ts'
import type { SessionSummary } from '../../core/store.ts'
import { visibleName, visibleText } from '../../platform/visible-text.ts'
import { interactWith } from '../assembly/workspace.ts'
import type { Io } from '../io.ts'
import { DialogClosed } from '../screen/dialogs/dialog.ts'
import { timeAgo } from '../screen/format.ts'
import { type Keyboard, openKeyboard } from '../screen/keyboard.ts'
import { createPerson } from '../screen/person.ts'
import { readLine } from '../screen/read-line.ts'
import type { Screen } from '../screen/screen.ts'
import type { Terminal } from '../screen/terminal.ts'
import { realFolder } from '../sessions/session-folder.ts'
import { titlesFor } from '../sessions/session-title.ts'
import { statusLabel } from '../sessions/status-label.ts'
import { holdKeyboard, isForeground, suspend } from './hold-keyboard.ts'

/** The person at the terminal: answers prompts, enters tasks, picks sessions. */
export interface TerminalUser {
  readonly interactor: Interactor
  /** The next task; `undefined` when the person ends the conversation. */
  ask(): Promise<string | undefined>
  pick(sessions: readonly SessionSummary[]): Promise<string | undefined>
  close(): void
}

interface TerminalUserOptions {
  readonly io: Io
  /** The folder in which the agent works. */
  readonly cwd: string
  readonly terminal: Terminal
  readonly screen: Screen
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
  const history: string[] = []
  const ask = async (typedAhead: string): Promise<string | undefined> => {
    terminal.line('')
    const task = await readTaskLine(terminal, keyboard, history, typedAhead)
    if (task === undefined) return undefined
    if (task !== history.at(-1)) history.push(task)
    terminal.line(`${terminal.paint.cyan('you ›')} ${visibleText(task).replaceAll('\n', '\n      ')}`)
    return task
  }
  return {
    interactor,
    ask: () => (held ? held.lend(ask) : ask('')),
    pick: (sessions) => pickSession(interactor, sessions, { currentFolder: realFolder(cwd), env: io.env }),
    close() {
      held?.close()
      keyboard.close()
    },
  }
}

/** A task that is not blank. The first Ctrl-C only warns, since it may be a slip; the second in a row ends. */
async function readTaskLine(
  terminal: Terminal,
  keyboard: Keyboard,
  history: readonly string[],
  typedAhead: string,
): Promise<string | undefined> {
  let initial = typedAhead
  let isWarned = false
  for (;;) {
    try {
      const task = await readLine(terminal, keyboard, { history, initial, prompt: 'you › ', isConversation: true })
      if (task === undefined || task.trim() !== '') return task
      isWarned = false
    } catch (error) {
      if (!(error instanceof DialogClosed)) throw error
      if (isWarned || error.why === 'over') return undefined
      isWarned = true
      terminal.line(terminal.paint.dim('Ctrl-C again ends the conversation, and so does Ctrl-D.'))
    }
    initial = ''
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
