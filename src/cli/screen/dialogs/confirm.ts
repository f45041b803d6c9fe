import type { InteractionResponse } from '../../../core/interaction.ts'
import { readLine } from '../read-line.ts'
import { choicesView } from './choices.ts'
import { type DialogContext, runDialog } from './dialog.ts'
import { questionHeading, showAnswer, showQuestion } from './questions.ts'

/** Asks for a yes or a no; a no may come with what should be different. */
export async function confirm(
  payload: Readonly<Record<string, unknown>>,
  context: DialogContext,
): Promise<InteractionResponse> {
  showQuestion(questionHeading(payload), payload.prompt, context)
  return await decide(context)
}

async function decide(context: DialogContext): Promise<InteractionResponse> {
  const { terminal, keyboard, ignoreKeysMs: _, ...rest } = context
  const verdict = await runDialog(
    choicesView<'yes' | 'no' | 'reason'>(
      {
        title: [],
        choices: [
          { key: 'y', label: 'yes', value: 'yes' },
          { key: 'n', label: 'no', value: 'no' },
          { key: 'r', label: 'no, and say why', value: 'reason' },
        ],
        initial: 'no',
        onEscape: 'no',
        escapeLabel: 'no',
      },
      terminal,
    ),
    context,
  )
  const reason =
    verdict === 'reason'
      ? await readLine(terminal, keyboard, { ...rest, prompt: 'No, because: ', escapeLabel: 'back' })
      : ''
  if (reason === undefined) return await decide({ ...context, ignoreKeysMs: 0 })
  showAnswer(verdict === 'yes' ? 'yes' : `no${reason === '' ? '' : `, because: ${reason}`}`, context)
  return verdict === 'yes' ? { status: 'accepted', value: true } : { status: 'rejected', reason: reason.trim() }
}
