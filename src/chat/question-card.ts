import type { InteractionResponse } from '../core/interaction.ts'
import { isRecord } from '../core/is-record.ts'
import type { PendingAnswer, PendingCall } from '../core/store.ts'
import { type Card, type CardOutcome, closeCard, closedReason } from './card-status.ts'

/** A question of the agent, for a screen, with the person's selection and text so far. */
export interface QuestionCard extends Card {
  readonly question: string
  readonly inputType: 'single-select' | 'multi-select' | 'text'
  readonly options: readonly QuestionOption[]
  /** Whether free text is allowed beside the options. */
  readonly allowFreeform: boolean
  /** Indices into `options`, in their order. */
  readonly selected: readonly number[]
  readonly text: string
  /** Whether there is an answer to send. */
  readonly canSubmit: boolean
  /** The tool that asks, if known. */
  readonly tool?: string
  /** When it expires, in ms since the epoch, if known. */
  readonly expiresAt?: number
  /** Set when it is answered: the labels of the selected options, and free text, trimmed. */
  readonly answer?: { readonly selected: readonly string[]; readonly text?: string }
}

export interface QuestionOption {
  readonly label: string
  readonly description?: string
}

/** The card of a prompt of kind `Ask` or `Select`, as an interactor receives it. */
export function questionOfPrompt({
  correlationId,
  payload,
  expiresAt,
}: {
  readonly correlationId: string
  readonly payload: Readonly<Record<string, unknown>>
  readonly expiresAt?: number
}): QuestionCard {
  const asked = { ...payload, question: payload.prompt ?? payload.question }
  return cardOf(correlationId, asked, expiresAt === undefined ? {} : { expiresAt })
}

/** The card of a call of `ask-question` or `ask_user` that waits in a session (`session.pending`). */
export function questionOfPending({
  callId,
  name,
  input,
}: Pick<PendingCall, 'callId' | 'name' | 'input'>): QuestionCard {
  return cardOf(callId, input, { tool: name })
}

/** Selects or deselects an option. A single selection replaces the previous one and the free text. */
export function toggleOption(card: QuestionCard, index: number): QuestionCard {
  if (card.isDisabled || !card.options[index]) return card
  const others = card.selected.filter((one) => one !== index)
  const isChosen = others.length === card.selected.length
  if (card.inputType === 'multi-select')
    return changed(card, { selected: isChosen ? [...others, index].sort((a, b) => a - b) : others })
  return changed(card, { selected: isChosen ? [index] : [], ...(isChosen && { text: '' }) })
}

/** Sets the free text. It replaces a single selection, and is added to a multiple one. */
export function writeAnswer(card: QuestionCard, text: string): QuestionCard {
  if (card.isDisabled || !takesText(card)) return card
  const isInPlace = card.inputType === 'single-select' && text.trim() !== ''
  return changed(card, { text, ...(isInPlace && { selected: [] }) })
}

/** Submits the answer, once. */
export function submitQuestion(card: QuestionCard): CardOutcome<QuestionCard> {
  const closed = closedReason(card)
  if (closed !== undefined) return { isAccepted: false, card, reason: closed }
  if (!card.canSubmit) return { isAccepted: false, card, reason: whatIsMissing(card) }
  const text = card.text.trim()
  const answer: QuestionCard['answer'] = Object.freeze({
    selected: card.selected.map((index) => card.options[index]!.label),
    ...(text !== '' && { text }),
  })
  return { isAccepted: true, answer, card: closeCard({ ...card, answer, canSubmit: false }, 'answered') }
}

/** The argument for `respond` of a prompt, of an answered card: a text, a label, or a list. */
export function questionResponse({ answer, inputType }: QuestionCard): InteractionResponse | undefined {
  if (!answer) return undefined
  const all = [...answer.selected, ...(answer.text === undefined ? [] : [answer.text])]
  return { status: 'accepted', value: inputType === 'multi-select' ? all : (all[0] ?? '') }
}

/** The argument for `session.answer`, of an answered card. */
export function questionPendingAnswer({ answer, inputType, tool }: QuestionCard): PendingAnswer | undefined {
  if (!answer) return undefined
  const { selected, text = '' } = answer
  if (inputType === 'text') return { content: text }
  // Free text may look like a label or like JSON, so `ask-question` gets an unambiguous form.
  if (tool === 'ask-question') return { content: JSON.stringify({ selected, ...(text !== '' && { text }) }) }
  return { content: [...selected, ...(text === '' ? [] : [text])].join(', ') }
}

/** The model's input is not trusted to have any form. */
function cardOf(
  id: string,
  asked: Readonly<Record<string, unknown>>,
  more: Pick<QuestionCard, 'tool' | 'expiresAt'>,
): QuestionCard {
  const options = Array.isArray(asked.options) ? asked.options.flatMap(optionOf) : []
  const inputType = inputTypeOf(asked, options.length)
  return Object.freeze({
    id,
    status: 'open',
    isDisabled: false,
    question: typeof asked.question === 'string' ? asked.question : '',
    inputType,
    options: Object.freeze(inputType === 'text' ? [] : options),
    allowFreeform: asked.allowFreeform !== false,
    selected: [],
    text: '',
    canSubmit: false,
    ...more,
  })
}

/** Without options the type is always text. */
function inputTypeOf(
  { inputType, multiSelect }: Readonly<Record<string, unknown>>,
  options: number,
): QuestionCard['inputType'] {
  if (options === 0 || inputType === 'text') return 'text'
  return inputType === 'multi-select' || multiSelect === true ? 'multi-select' : 'single-select'
}

function optionOf(option: unknown): QuestionOption[] {
  if (typeof option === 'string') return [{ label: option }]
  if (!isRecord(option) || typeof option.label !== 'string') return []
  const { label, description } = option
  return [{ label, ...(typeof description === 'string' && { description }) }]
}

const takesText = ({ inputType, allowFreeform }: QuestionCard): boolean => inputType === 'text' || allowFreeform

function changed(card: QuestionCard, change: Partial<QuestionCard>): QuestionCard {
  const next = { ...card, ...change }
  return Object.freeze({ ...next, canSubmit: next.selected.length > 0 || next.text.trim() !== '' })
}

function whatIsMissing(card: QuestionCard): string {
  if (card.inputType === 'text') return 'There is nothing to send yet; write an answer.'
  const how = card.inputType === 'multi-select' ? 'one or more options' : 'an option'
  return `There is nothing to send yet; choose ${how}${takesText(card) ? ', or write an answer' : ''}.`
}
