import type { Interactor } from '../../authority/interaction/interactor-line.ts'
import { visibleText } from '../../platform/visible-text.ts'
import { DialogClosed } from '../screen/dialogs/dialog.ts'
import type { Keyboard } from '../screen/keys.ts'
import { createPerson } from '../screen/person.ts'
import { readLine } from '../screen/read-line.ts'
import type { Screen } from '../screen/screen.ts'
import type { Terminal } from '../screen/terminal.ts'
import type { SessionSummary } from '../sessions/summary.ts'
import { holdKeyboard } from './hold-keyboard.ts'
import { interactWith } from './interact-with.ts'

/** The person at the terminal, with everything they can be asked. */
export interface Seat {
  readonly interactor: Interactor
  /** The next task; `undefined` where there is none. */
  ask(): Promise<string | undefined>
  pick(sessions: readonly SessionSummary[]): Promise<string | undefined>
  close(): void
}

export function seatPerson(options: {
  readonly terminal: Terminal
  readonly keyboard: Keyboard
  readonly screen: Screen
  readonly onInterrupt: () => void
  readonly suspend: () => Promise<void>
  readonly isForeground: () => boolean
}): Seat {
  const { terminal, keyboard } = options
  // Where the answer goes elsewhere, a pager for one, somebody else may want the keys.
  const held = terminal.isAnswerShown ? holdKeyboard(options) : undefined
  const interactor = createPerson({ ...options, ...(held && { screen: held.screen }) })
  const ask = async (initial: string): Promise<string | undefined> => {
    try {
      const task = await readLine(terminal, keyboard, { prompt: 'you › ', initial, escapeSays: 'end' })
      if (task !== undefined) terminal.line(`${terminal.paint.cyan('you ›')} ${visibleText(task)}`)
      return task
    } catch (error) {
      if (error instanceof DialogClosed) return undefined
      throw error
    }
  }
  return {
    interactor,
    ask: () => (held ? held.lend(ask) : ask('')),
    pick: (sessions) => pickSession(interactor, sessions),
    close() {
      held?.close()
      keyboard.close()
    },
  }
}

async function pickSession(person: Interactor, sessions: readonly SessionSummary[]): Promise<string | undefined> {
  const ask = await interactWith(person)
  const options = sessions.map(({ id, title }) => `${id}  ${title}`)
  const payload = { kind: 'Select', prompt: 'Which session?', options }
  const answer = await ask({ kind: 'Select', payload }, new AbortController().signal)
  return answer.status === 'accepted' ? sessions[options.indexOf(String(answer.value))]?.id : undefined
}
