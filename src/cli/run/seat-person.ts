import type { Interactor } from '../../authority/interaction/interactor-line.ts'
import { visibleText } from '../../platform/visible-text.ts'
import { DialogClosed } from '../screen/dialogs/dialog.ts'
import type { Keyboard } from '../screen/keys.ts'
import { createPerson } from '../screen/person.ts'
import { readLine } from '../screen/read-line.ts'
import type { Screen } from '../screen/screen.ts'
import type { Terminal } from '../screen/terminal.ts'
import type { SessionSummary } from '../sessions/summary.ts'
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
}): Seat {
  const { terminal, keyboard } = options
  const interactor = createPerson(options)
  return {
    interactor,
    async ask() {
      try {
        const task = await readLine(terminal, keyboard, { prompt: 'you › ', escapeSays: 'end' })
        if (task !== undefined) terminal.line(`${terminal.paint.cyan('you ›')} ${visibleText(task)}`)
        return task
      } catch (error) {
        if (error instanceof DialogClosed) return undefined
        throw error
      }
    },
    pick: (sessions) => pickSession(interactor, sessions),
    close: () => keyboard.close(),
  }
}

async function pickSession(person: Interactor, sessions: readonly SessionSummary[]): Promise<string | undefined> {
  const ask = await interactWith(person)
  const options = sessions.map(({ id, title }) => `${id}  ${title}`)
  const payload = { kind: 'Select', prompt: 'Which session?', options }
  const answer = await ask({ kind: 'Select', payload }, new AbortController().signal)
  return answer.status === 'accepted' ? sessions[options.indexOf(String(answer.value))]?.id : undefined
}
