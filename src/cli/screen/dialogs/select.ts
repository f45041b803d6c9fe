import type { InteractionResponse } from '../../../core/interaction.ts'
import { isRecord } from '../../../core/is-record.ts'
import { visibleName } from '../../../platform/visible-text.ts'
import { readLine } from '../read-line.ts'
import { listView } from './choices.ts'
import { type DialogContext, runDialog } from './dialog.ts'
import { questionHeading, showAnswer, showQuestion, unanswered } from './questions.ts'

/** Asks for one of several options, or some of them, or for own words where they are welcome. */
export async function select(
  payload: Readonly<Record<string, unknown>>,
  context: DialogContext,
): Promise<InteractionResponse> {
  showQuestion(questionHeading(payload), payload.prompt, context)
  return await decide(payload, context)
}

async function decide(
  payload: Readonly<Record<string, unknown>>,
  context: DialogContext,
): Promise<InteractionResponse> {
  const options = Array.isArray(payload.options) ? payload.options : []
  const isMultiple = payload.multiSelect === true
  const labels = options.map(labelOf)
  const isFree = payload.allowFreeform === true
  const items = isFree ? [...labels, 'something else, in your own words'] : labels
  const { terminal, keyboard, ignoreKeysMs: _, ...rest } = context
  const chosen = items.length === 0 ? undefined : await runDialog(listView({ items, isMultiple }, terminal), context)
  if (chosen?.includes(options.length)) {
    const value = await readLine(terminal, keyboard, { ...rest, escapeLabel: 'back' })
    if (value === undefined) return await decide(payload, { ...context, ignoreKeysMs: 0 })
    const also = chosen.filter((i) => i < options.length)
    showAnswer([...also.map((i) => labels[i]), value].join(', '), context)
    return { status: 'accepted', value: isMultiple ? [...also.map((i) => options[i]), value] : value }
  }
  if (!chosen) {
    showAnswer('(no answer)', context)
    return unanswered
  }
  showAnswer(chosen.map((i) => labels[i]).join(', ') || '(none)', context)
  return { status: 'accepted', value: isMultiple ? chosen.map((i) => options[i]) : options[chosen[0]!] }
}

function labelOf(option: unknown): string {
  if (!isRecord(option)) return visibleName(typeof option === 'string' ? option : (JSON.stringify(option) ?? ''))
  const { label, description } = option
  if (typeof label !== 'string') return visibleName(JSON.stringify(option))
  return visibleName(typeof description === 'string' ? `${label}: ${description}` : label)
}
