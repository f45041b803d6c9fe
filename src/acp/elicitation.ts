import type { ChatPrompt } from '../chat/chat.ts'
import {
  type QuestionCard,
  questionOfPrompt,
  questionResponse,
  submitQuestion,
  toggleOption,
  writeAnswer,
} from '../chat/question-card.ts'
import type { InteractionResponse } from '../core/interaction.ts'
import { isRecord } from '../core/is-record.ts'
import { visibleText } from '../platform/visible-text.ts'
import type { AskContext } from './ask-person.ts'

/** Asks a question of a tool by a form of the client. */
export async function askQuestion(
  prompt: ChatPrompt,
  { client, sessionId }: Pick<AskContext, 'client' | 'sessionId'>,
): Promise<InteractionResponse> {
  const card = questionOfPrompt(prompt)
  const { questionId } = prompt.payload
  const answer = await client.request(
    'elicitation/create',
    {
      mode: 'form',
      sessionId,
      ...(typeof questionId === 'string' && { toolCallId: questionId }),
      message: visibleText(card.question),
      requestedSchema: formOf(card),
    },
    { cancellationSignal: prompt.signal, stopWaitingOnCancel: true },
  )
  if (answer.action !== 'accept') return { status: 'rejected', reason: 'declined' }
  const submitted = submitQuestion(filled(card, isRecord(answer.content) ? answer.content : {}))
  if (!submitted.isAccepted) return { status: 'rejected', reason: 'no answer was given' }
  return questionResponse(submitted.card) ?? { status: 'rejected', reason: 'no answer was given' }
}

/** `answer` has the chosen options or the text, `other` a text beside options. */
function formOf({ inputType, options, allowFreeform }: QuestionCard) {
  const choices = options.map(({ label, description }, i) => {
    return {
      const: String(i),
      title: visibleText(label),
      ...(description && { description: visibleText(description) }),
    }
  })
  const other = { other: { type: 'string', title: 'Another answer' } } as const
  const required = ['answer']
  if (inputType === 'text')
    return { type: 'object', properties: { answer: { type: 'string', title: 'Answer' } }, required } as const
  const answer =
    inputType === 'multi-select'
      ? ({ type: 'array', title: 'Answer', items: { anyOf: choices } } as const)
      : ({ type: 'string', title: 'Answer', oneOf: choices } as const)
  if (!allowFreeform) return { type: 'object', properties: { answer }, required } as const
  return { type: 'object', properties: { answer, ...other } } as const
}

function filled(card: QuestionCard, { answer, other }: Readonly<Record<string, unknown>>): QuestionCard {
  if (card.inputType === 'text') return writeAnswer(card, typeof answer === 'string' ? answer : '')
  const chosen = (Array.isArray(answer) ? answer : [answer]).filter((one) => typeof one === 'string' && one !== '')
  const selected = chosen.reduce<QuestionCard>((now, one) => toggleOption(now, Number(one)), card)
  return typeof other === 'string' && other.trim() !== '' ? writeAnswer(selected, other) : selected
}

/** Sends the person to a web page for a login. The page itself ends the question, by its `signal`. */
export async function openAddress(
  { payload, correlationId, signal }: ChatPrompt,
  { client, sessionId }: Pick<AskContext, 'client' | 'sessionId'>,
): Promise<InteractionResponse> {
  const over = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
  const { action } = await client.request(
    'elicitation/create',
    {
      mode: 'url',
      sessionId,
      elicitationId: correlationId,
      url: String(payload.url),
      message: visibleText(`Log in on this page. The code is ${String(payload.code)}`),
    },
    { cancellationSignal: signal, stopWaitingOnCancel: true },
  )
  if (action !== 'accept') return { status: 'rejected', reason: 'declined' }
  await over
  await client.notify('elicitation/complete', { elicitationId: correlationId })
  return { status: 'timeout' } // nothing waits for it any more
}
