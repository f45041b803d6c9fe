import type { InteractionResponse } from '../../../core/interaction.ts'
import { readLine } from '../read-line.ts'
import { choicesView } from './choices.ts'
import { type DialogPlace, runDialog } from './dialog.ts'
import { showAnswer, showQuestion, whoAsks } from './question.ts'

/** Asks for a yes or a no; a no may come with what should be different. */
export async function confirm(
  payload: Readonly<Record<string, unknown>>,
  place: DialogPlace,
): Promise<InteractionResponse> {
  showQuestion(whoAsks(payload), payload.prompt, place)
  return await decide(place)
}

async function decide(place: DialogPlace): Promise<InteractionResponse> {
  const { terminal, keyboard, quietMs: _, ...rest } = place
  const verdict = await runDialog(
    choicesView<'yes' | 'no' | 'reason'>(
      {
        title: [],
        choices: [
          { key: 'y', says: 'yes', value: 'yes' },
          { key: 'n', says: 'no', value: 'no' },
          { key: 'r', says: 'no, and say why', value: 'reason' },
        ],
        initial: 'no',
        onEscape: 'no',
        escapeSays: 'no',
      },
      terminal,
    ),
    place,
  )
  const reason =
    verdict === 'reason'
      ? await readLine(terminal, keyboard, { ...rest, prompt: 'No, because: ', escapeSays: 'back' })
      : ''
  if (reason === undefined) return await decide({ ...place, quietMs: 0 })
  showAnswer(verdict === 'yes' ? 'yes' : `no${reason === '' ? '' : `, because: ${reason}`}`, place)
  return verdict === 'yes' ? { status: 'accepted', value: true } : { status: 'rejected', reason: reason.trim() }
}
