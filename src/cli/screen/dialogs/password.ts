import type { InteractionResponse } from '../../../core/interaction.ts'
import { readLine } from '../read-line.ts'
import type { DialogPlace } from './dialog.ts'
import { showAnswer, showQuestion, unanswered } from './question.ts'

/** Asks for a secret, which never appears on the screen. */
export async function password(
  payload: Readonly<Record<string, unknown>>,
  place: DialogPlace,
): Promise<InteractionResponse> {
  showQuestion('A tool asks for a password. It gets what you type:', payload.prompt, place)
  const { terminal, keyboard, ...rest } = place
  const value = await readLine(terminal, keyboard, { ...rest, prompt: 'password: ', isSecret: true })
  showAnswer(value === undefined ? '(no answer)' : '(given, not shown)', place)
  return value === undefined ? unanswered : { status: 'accepted', value }
}
