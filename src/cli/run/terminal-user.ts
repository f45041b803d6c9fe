import type { Interactor } from '../../authority/interaction/interactor-queue.ts'
import { visibleName, visibleText } from '../../platform/visible-text.ts'
import { interactWith } from '../assembly/workspace.ts'
import { DialogClosed } from '../screen/dialogs/dialog.ts'
import { timeAgo } from '../screen/format.ts'
import type { Keyboard } from '../screen/keyboard.ts'
import { createPerson } from '../screen/person.ts'
import { type ReadLineOptions, readLine } from '../screen/read-line.ts'
import type { Screen } from '../screen/screen.ts'
import type { Terminal } from '../screen/terminal.ts'
import { realFolder } from '../sessions/session-folder.ts'
import { stateLabels } from '../sessions/session-state.ts'
import type { SessionSummary } from '../sessions/summary.ts'
import { holdKeyboard } from './hold-keyboard.ts'

/** The person at the terminal, with everything they can be asked. */
export interface TerminalUser {
  readonly interactor: Interactor
  /** The next task; `undefined` where there is none. */
  ask(): Promise<string | undefined>
  pick(sessions: readonly SessionSummary[]): Promise<string | undefined>
  close(): void
}

export function createTerminalUser(options: {
  readonly terminal: Terminal
  readonly keyboard: Keyboard
  readonly screen: Screen
  readonly onInterrupt: () => void
  /** Where the agent works: sessions of other folders are told apart. */
  readonly cwd: string
  readonly suspend: () => Promise<void>
  readonly isForeground: () => boolean
}): TerminalUser {
  const { terminal, keyboard, cwd } = options
  // Where the answer goes elsewhere, a pager for one, somebody else may want the keys.
  const held = terminal.isStdoutTerminal ? holdKeyboard(options) : undefined
  const interactor = createPerson({ ...options, ...(held && { screen: held.screen, isTyping: held.isTyping }) })
  const history: string[] = []
  const ask = async (initial: string): Promise<string | undefined> => {
    terminal.line('')
    const task = await taskOf({ terminal, keyboard, history, initial })
    if (task === undefined) return undefined
    if (task !== history.at(-1)) history.push(task)
    terminal.line(`${terminal.paint.cyan('you ›')} ${visibleText(task).replaceAll('\n', '\n      ')}`)
    return task
  }
  return {
    interactor,
    ask: () => (held ? held.lend(ask) : ask('')),
    pick: (sessions) => pickSession(interactor, sessions, realFolder(cwd)),
    close() {
      held?.close()
      keyboard.close()
    },
  }
}

interface Asking extends Pick<ReadLineOptions, 'history' | 'initial'> {
  readonly terminal: Terminal
  readonly keyboard: Keyboard
}

/** Something that was typed. One Ctrl-C is a slip; two in a row are meant. */
async function taskOf({ terminal, keyboard, ...options }: Asking): Promise<string | undefined> {
  let initial = options.initial ?? ''
  let isWarned = false
  for (;;) {
    try {
      const task = await readLine(terminal, keyboard, { ...options, initial, prompt: 'you › ', isKept: true })
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
  here: string,
): Promise<string | undefined> {
  const ask = await interactWith(person)
  const now = Date.now()
  const options = sessions.map(({ id, title, updatedAt, state, cwd }) => {
    const facts = [
      ...(updatedAt === undefined ? [] : [timeAgo(updatedAt, now)]),
      stateLabels[state],
      ...(cwd === undefined || cwd === here ? [] : [`in ${visibleName(cwd)}`]),
    ]
    return `${id}  ${title} (${facts.join(', ')})`
  })
  const payload = { kind: 'Select', prompt: 'Which session?', options }
  const answer = await ask({ kind: 'Select', payload }, new AbortController().signal)
  return answer.status === 'accepted' ? sessions[options.indexOf(String(answer.value))]?.id : undefined
}
