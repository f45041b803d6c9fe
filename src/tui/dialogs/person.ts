import type { Interactor, Prompt } from '../../authority/interaction/interactor-queue.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import type { InteractionKind, InteractionResponse } from '../../core/interaction.ts'
import type { Keyboard } from '../input/keyboard.ts'
import { oneAtATime } from '../one-at-a-time.ts'
import type { Screen } from '../one-shot/screen.ts'
import { own } from '../terminal/marks.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { approve } from './approve.ts'
import { DialogClosed, type DialogContext } from './dialog.ts'
import { confirmOrPlan } from './plan.ts'
import { ask, deviceCode, password, select } from './questions.ts'
import { trust } from './trust.ts'

export interface PersonOptions {
  readonly terminal: Terminal
  readonly keyboard: Keyboard
  readonly screen: Pick<Screen, 'pause' | 'resume'>
  /** Ctrl-C while a dialog is open. */
  readonly onInterrupt: () => void
  /** Whether the person is typing as a dialog opens: it then ignores keys for longer. */
  readonly isTyping?: () => boolean
  readonly clock?: Clock
  /** Lets the person change a text in their editor, such as a plan. */
  readonly editText?: DialogContext['editText']
}

/** The person at the terminal as an interactor: answers approvals, questions, choices, passwords, trust. */
export function createPerson(options: PersonOptions): Interactor {
  const { terminal, keyboard, screen, onInterrupt, isTyping, clock = systemClock, editText } = options
  /** A withdrawn dialog restores the screen before the next one opens. */
  const inTurn = oneAtATime()

  async function present({ kind, payload, signal, expiresAt }: Prompt): Promise<InteractionResponse> {
    if (signal.aborted) throw new DialogClosed('over') // aborted while the previous dialog closed
    const ignoreKeysMs = isTyping?.() ? typingMs : readingMs
    screen.pause()
    try {
      const context = { terminal, keyboard, clock, signal, expiresAt, ignoreKeysMs, ...(editText && { editText }) }
      return await showDialog(kind, payload, context)
    } catch (error) {
      if (!(error instanceof DialogClosed)) throw error
      const isLate = clock.now() >= expiresAt
      terminal.line(
        terminal.paint.yellow(`${own('–')} ${error.why === 'over' && isLate ? closings.late : closings[error.why]}`),
      )
      if (error.why === 'interrupted') onInterrupt()
      throw error
    } finally {
      screen.resume()
    }
  }

  return {
    name: 'user',
    present: (prompt) => inTurn(() => present(prompt)),
  }
}

/** A person cannot read and decide faster than this: an earlier key was meant for something else. */
const readingMs = 300
/** The same for a person in the middle of typing. */
const typingMs = 1000

const closings = {
  interrupted: 'interrupted',
  over: 'closed: it was answered elsewhere, or is no longer asked',
  late: 'closed: the time to answer is over, which counts as no',
}

/** Asks a question in the dialog of its kind. */
export function showDialog(
  kind: InteractionKind,
  payload: Prompt['payload'],
  context: DialogContext,
): Promise<InteractionResponse> {
  return dialogs[kind](payload, context)
}

/** Whether there is a dialog for this kind of question. */
export function isDialog(kind: unknown): kind is InteractionKind {
  return typeof kind === 'string' && Object.hasOwn(dialogs, kind)
}

type Dialog = (payload: Prompt['payload'], context: DialogContext) => Promise<InteractionResponse>

const dialogs: Readonly<Record<InteractionKind, Dialog>> = {
  Approve: approve,
  grantStageTool: approve,
  Ask: ask,
  Select: select,
  Confirm: confirmOrPlan,
  'Auth.Password': password,
  'Auth.DeviceCode': deviceCode,
  trustProject: trust,
}
