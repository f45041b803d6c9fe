import type { InteractionResponse } from '../../../core/interaction.ts'
import { fullyVisible } from '../../../platform/visible-text.ts'
import { type DialogPlace, runDialog } from './dialog.ts'
import { showAnswer, unanswered } from './question.ts'

/** Shows where to enter a code, and waits until that is done. */
export async function deviceCode(
  payload: Readonly<Record<string, unknown>>,
  place: DialogPlace,
): Promise<InteractionResponse> {
  const { terminal } = place
  const { paint } = terminal
  const [url, code] = [fullyVisible(String(payload.url)), fullyVisible(String(payload.code))]
  // Not in a box, nor wrapped: it is there to be copied or clicked.
  terminal.line(
    ['', paint.bold(paint.cyan('? Sign in: open')), `  ${url}`, '  and enter the code', `  ${paint.bold(code)}`].join(
      '\n',
    ),
  )
  const isDone = await runDialog<boolean>(
    {
      draw: () => ['  Waiting for you there.'],
      hint: () => 'Enter: done there; Esc: leave it',
      press(key) {
        if (key.type === 'enter') return { value: true }
        return key.type === 'escape' ? { value: false } : undefined
      },
    },
    place,
  )
  showAnswer(isDone ? 'done' : 'left', place)
  return isDone ? { status: 'accepted', value: true } : unanswered
}
