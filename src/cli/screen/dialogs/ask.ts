import type { InteractionResponse } from '../../../core/interaction.ts'
import { readLine } from '../read-line.ts'
import type { DialogPlace } from './dialog.ts'
import { showAnswer, showQuestion, unanswered, whoAsks } from './question.ts'

/** Asks for an answer in words. */
export async function ask(
  payload: Readonly<Record<string, unknown>>,
  place: DialogPlace,
): Promise<InteractionResponse> {
  showQuestion(whoAsks(payload), payload.prompt, place)
  const { terminal, keyboard, ...rest } = place
  const value = await readLine(terminal, keyboard, rest)
  showAnswer(value ?? '(no answer)', place)
  return value === undefined ? unanswered : { status: 'accepted', value }
}
