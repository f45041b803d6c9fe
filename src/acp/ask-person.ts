import {
  type ApprovalCard,
  type ApprovalChoice,
  answerApproval,
  approvalOfPrompt,
  approvalResponse,
} from '../chat/approval-card.ts'
import { fenced } from '../chat/attached-text.ts'
import type { ChatPrompt } from '../chat/chat.ts'
import {
  type QuestionCard,
  questionOfPrompt,
  questionResponse,
  submitQuestion,
  toggleOption,
  writeAnswer,
} from '../chat/question-card.ts'
import { messageOf } from '../core/errors.ts'
import type { InteractionResponse } from '../core/interaction.ts'
import { isRecord } from '../core/is-record.ts'
import { oneLine } from '../core/text.ts'
import { fullyVisible, visibleText } from '../platform/visible-text.ts'
import type { AgentContext, ClientCapabilities, PermissionOption, ToolCallContent, ToolCallUpdate } from './protocol.ts'
import { kindOf, previewContent, textContent, titleOf } from './tool-call.ts'

export interface AskContext {
  readonly client: AgentContext
  readonly capabilities: ClientCapabilities
  readonly sessionId: string
  readonly cwd: string
  /** A call that the client knows, as it was last sent. */
  readonly callOf?: (callId: string) => ToolCallUpdate | undefined
}

/** The client answers a permission with this outcome after it has cancelled the prompt. */
export type Answer = InteractionResponse | 'cancelled'

/** Puts a question of the authority or of a tool to the person at the client. Never rejects. */
export async function askPerson(prompt: ChatPrompt, context: AskContext): Promise<Answer> {
  try {
    return await ask(prompt, context)
  } catch (error) {
    return { status: 'rejected', reason: `the editor could not ask: ${oneLine(visibleText(messageOf(error)), 300)}` }
  }
}

function ask(prompt: ChatPrompt, context: AskContext): Promise<Answer> {
  switch (prompt.kind) {
    case 'Approve':
    case 'grantStageTool':
      return askApproval(prompt, context)
    case 'Confirm':
      return askYesOrNo(prompt, context)
    case 'Ask':
    case 'Select':
      return context.capabilities.elicitation?.form ? askQuestion(prompt, context) : refused(noText)
    case 'Auth.DeviceCode':
      return context.capabilities.elicitation?.url ? openAddress(prompt, context) : refused(noAddress)
    default:
      return refused(noSecrets)
  }
}

async function refused(reason: string): Promise<Answer> {
  return { status: 'rejected', reason }
}

const noAddress = 'this editor cannot open a web page for a login; log in with libero in a terminal'
const noSecrets = 'this cannot be asked in an editor; run libero in a terminal'
const noText = 'this editor cannot ask questions; put the question into your answer, and end your turn with it'

async function askApproval(prompt: ChatPrompt, context: AskContext): Promise<Answer> {
  const card = approvalOfPrompt(prompt)
  const { options, choiceOf } = permissionOptions(card)
  const [call] = card.calls
  const parameters = call?.parameters ?? {}
  const lines = card.calls.flatMap(({ lines, reason }) => (lines.length > 0 ? lines : [reason]))
  const changes = card.calls.flatMap(({ preview }) => (preview ? previewContent(preview, context.cwd) : []))
  const { toolCallId, title, kind, locations, rawInput }: ToolCallUpdate = context.callOf?.(call?.callId ?? '') ?? {
    toolCallId: call?.callId ?? prompt.correlationId, // one that a tool or a sub-agent makes
    title: titleOf(call?.tool ?? 'a tool', parameters, context.cwd),
    kind: kindOf(call?.tool ?? ''),
    locations: [],
    rawInput: parameters,
  }
  const words = textContent(fenced(fullyVisible(lines.join('\n'), { lines: 'kept' })))
  const about = { toolCallId, title: title ?? '', kind: kind ?? 'other', locations: locations ?? [], rawInput }
  const chosen = await request(prompt, context, options, { ...about, content: [...changes, words] })
  if (chosen === 'cancelled') return chosen
  const outcome = answerApproval(card, choiceOf(chosen))
  return outcome.isAccepted ? approvalResponse(outcome.answer) : { status: 'rejected', reason: outcome.reason }
}

/** A yes or no, which may be about a plan. */
async function askYesOrNo(prompt: ChatPrompt, context: AskContext): Promise<Answer> {
  const { plan, questionId, prompt: question } = prompt.payload
  const isPlan = typeof plan === 'string'
  const options: PermissionOption[] = [
    { optionId: 'yes', name: isPlan ? 'Yes, carry out this plan' : 'Yes', kind: 'allow_once' },
    { optionId: 'no', name: isPlan ? 'No, keep planning' : 'No', kind: 'reject_once' },
  ]
  const chosen = await request(prompt, context, options, {
    toolCallId: typeof questionId === 'string' ? questionId : prompt.correlationId,
    title: oneLine(visibleText(isPlan ? 'Go ahead with this plan?' : String(question)), 200),
    kind: isPlan ? 'switch_mode' : 'other',
    content: [textContent(visibleText(isPlan ? plan : String(question)))],
  })
  if (chosen === 'cancelled') return chosen
  return chosen === 'yes' ? { status: 'accepted', value: true } : { status: 'rejected', reason: '' }
}

/** Asks for a permission; resolves with the option that the person chose. */
async function request(
  { signal }: ChatPrompt,
  { client, sessionId }: AskContext,
  options: PermissionOption[],
  toolCall: ToolCallUpdate & { readonly content: ToolCallContent[] },
): Promise<string | 'cancelled'> {
  const { outcome } = await client.request(
    'session/request_permission',
    { sessionId, toolCall: { status: 'pending', ...toolCall }, options },
    { cancellationSignal: signal, stopWaitingOnCancel: true },
  )
  return outcome.outcome === 'selected' ? outcome.optionId : 'cancelled'
}

/** The choices of an approval as options of a client, each with what it covers in words. */
function permissionOptions({ choices, words }: Pick<ApprovalCard, 'choices' | 'words'>): {
  readonly options: PermissionOption[]
  /** An option that was not offered is no. */
  choiceOf(optionId: string): ApprovalChoice
} {
  return {
    options: choices.map((choice) => {
      const covers = words[choice]
      const name = covers === undefined ? names[choice] : `Allow ${fullyVisible(covers)}`
      return { optionId: choice, name: oneLine(name, longestName), kind: kinds[choice] }
    }),
    choiceOf: (optionId) => choices.find((choice) => choice === optionId) ?? 'deny',
  }
}

const longestName = 300

/** If the authority has no words of its own. */
const names: Readonly<Record<ApprovalChoice, string>> = {
  allow: 'Allow once',
  'allow-outside': 'Allow once, outside of the sandbox',
  'allow-session': 'Allow for this session',
  'allow-project': 'Allow for this project',
  deny: 'Deny',
}

const kinds: Readonly<Record<ApprovalChoice, PermissionOption['kind']>> = {
  allow: 'allow_once',
  'allow-outside': 'allow_once',
  'allow-session': 'allow_always',
  'allow-project': 'allow_always',
  deny: 'reject_once',
}

/** Asks a question of a tool by a form of the client. */
async function askQuestion(
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
async function openAddress(
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
