import { callTitle } from '../../chat/describe-call.ts'
import { type InteractionKind, type InteractionResponse, questionAbout } from '../../core/interaction.ts'
import type { PendingCall } from '../../core/store.ts'
import { visibleName } from '../../platform/visible-text.ts'
import { approvalCalls, approvalRows } from '../dialogs/approval-calls.ts'
import { DialogClosed, type DialogContext } from '../dialogs/dialog.ts'
import { isDialog, showDialog } from '../dialogs/person.ts'
import type { Paint } from '../terminal/paint.ts'
import { createListView } from './list.ts'
import type { View } from './viewer.ts'

/** A call of another session that waits for a person. */
export interface WaitingCall {
  readonly sessionId: string
  readonly title: string
  readonly folder?: string
  readonly call: Pick<PendingCall, 'callId' | 'name' | 'input' | 'request'> & { readonly reason?: string }
}

export interface WaitingOptions {
  /** What waits now. */
  list(): Promise<readonly WaitingCall[]>
  /** Stores the answer in its session. */
  answer(waiting: WaitingCall, response: InteractionResponse): Promise<void>
  /** Shows a view until it closes. */
  show<T>(view: View<T>): Promise<T | undefined>
  readonly paint: Paint
  /** Asks on the screen below. */
  dialog<T>(use: (context: DialogContext) => Promise<T>): Promise<T>
}

/** Shows what waits in other sessions, and asks about the one that the person opens, until they close it or none is left. */
export async function answerWaiting({ list, answer, show, paint, dialog }: WaitingOptions): Promise<void> {
  for (;;) {
    const waiting = await list()
    const chosen = await show(waitingView(waiting, paint))
    if (!chosen) return
    const response = await ask(chosen, dialog)
    if (response) await answer(chosen, response)
    if (waiting.length === 1) return
  }
}

/** The question of a waiting call, in the dialog of its kind; `undefined` if the person closes it. */
async function ask({ call }: WaitingCall, dialog: WaitingOptions['dialog']): Promise<InteractionResponse | undefined> {
  const { kind, payload } = questionOf(call)
  try {
    return await dialog((context) => showDialog(kind, payload, context))
  } catch (error) {
    if (error instanceof DialogClosed) return undefined
    throw error
  }
}

/** Without a request of its own a call is asked about with its arguments. */
function questionOf({ request, callId, name, input, reason }: WaitingCall['call']): {
  readonly kind: InteractionKind
  readonly payload: Readonly<Record<string, unknown>>
} {
  const payload = questionAbout(request, callId)
  const { kind } = payload
  if (isDialog(kind)) return { kind, payload }
  const description = `asked because: ${reason ?? 'it waits for a decision'}\narguments (as JSON):\n  ${JSON.stringify(input)}`
  return { kind: 'Approve', payload: { kind: 'Approve', toolId: name, approvalKey: name, description } }
}

function waitingView(waiting: readonly WaitingCall[], paint: Paint): View<WaitingCall | undefined> {
  const lineOf = ({ title, folder, call }: WaitingCall): string =>
    `${visibleName(call.name)} ${callTitle(call.input, folder ?? '')}  ${paint.dim(visibleName(title))}`
  return createListView<WaitingCall>({
    paint,
    title: () => 'Waiting for you',
    items: () => waiting,
    text: (one) => `${lineOf(one)} ${one.folder ?? ''} ${JSON.stringify(one.call.input)}`,
    line: lineOf,
    preview: ({ call }, columns) =>
      approvalCalls(questionOf(call).payload).flatMap((one) => approvalRows(one, { paint, columns, rows: 200 })),
    empty: 'nothing waits in other sessions',
    hint: 'Enter decides',
    press: (key, { selected }) => (key === 'enter' && selected ? { value: selected } : undefined),
  })
}
