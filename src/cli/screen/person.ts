import type { Interactor, Prompt } from '../../authority/interaction/interactor-queue.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import type { InteractionKind, InteractionResponse } from '../../core/interaction.ts'
import { approve } from './dialogs/approve.ts'
import { confirm } from './dialogs/confirm.ts'
import { DialogClosed, type DialogContext } from './dialogs/dialog.ts'
import { ask, deviceCode, password } from './dialogs/questions.ts'
import { select } from './dialogs/select.ts'
import { trust } from './dialogs/trust.ts'
import type { Keyboard } from './keyboard.ts'
import type { Screen } from './screen.ts'
import type { Terminal } from './terminal.ts'

export interface PersonOptions {
  readonly terminal: Terminal
  readonly keyboard: Keyboard
  readonly screen: Pick<Screen, 'pause' | 'resume'>
  /** Ctrl-C while a dialog is open. */
  readonly onInterrupt: () => void
  /** Whether somebody was typing when a dialog opens: then it takes a pause until keys count. */
  readonly isTyping?: () => boolean
  readonly clock?: Clock
}

/** The person at the terminal, as somebody an authority can ask: approvals, questions, choices, passwords, trust. */
export function createPerson(options: PersonOptions): Interactor {
  const { terminal, keyboard, screen, onInterrupt, isTyping, clock = systemClock } = options
  let before: Promise<unknown> = Promise.resolve()

  async function present({ kind, payload, signal, expiresAt }: Prompt): Promise<InteractionResponse> {
    if (signal.aborted) throw new DialogClosed('over') // while the one before was closing
    const ignoreKeysMs = isTyping?.() ? typingMs : readingMs
    screen.pause()
    try {
      return await dialogs[kind](payload, { terminal, keyboard, clock, signal, expiresAt, ignoreKeysMs })
    } catch (error) {
      if (!(error instanceof DialogClosed)) throw error
      const isLate = clock.now() >= expiresAt
      terminal.line(terminal.paint.yellow(`– ${error.why === 'over' && isLate ? closings.late : closings[error.why]}`))
      if (error.why === 'interrupted') onInterrupt()
      throw error
    } finally {
      screen.resume()
    }
  }

  return {
    name: 'user',
    present(prompt) {
      // One that was withdrawn puts everything back before the next one opens.
      const shown = before.then(() => present(prompt))
      before = shown.catch(() => {})
      return shown
    },
  }
}

/** Nobody reads and decides faster than this: earlier keys were meant for something else. */
const readingMs = 300
/** Nor does anybody who is in the middle of a sentence. */
const typingMs = 1000

const closings = {
  interrupted: 'interrupted',
  over: 'closed: it was answered elsewhere, or is not asked any more',
  late: 'closed: the time to answer is over, which counts as no',
}

type Dialog = (payload: Prompt['payload'], place: DialogContext) => Promise<InteractionResponse>

const dialogs: Readonly<Record<InteractionKind, Dialog>> = {
  Approve: approve,
  grantStageTool: approve,
  Ask: ask,
  Select: select,
  Confirm: confirm,
  'Auth.Password': password,
  'Auth.DeviceCode': deviceCode,
  trustProject: trust,
}
