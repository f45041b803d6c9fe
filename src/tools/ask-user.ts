import type { InteractionResponse } from '../core/interaction.ts'
import type { ToolCheck, ToolContext, ToolDef } from '../core/tool.ts'
import { answerText, createInteractionTool } from './interaction.ts'

const description = `Asks the user a question and waits for the answer. For decisions that only the user can make; never for what you can find out yourself.
Offer options where there are clear choices; the user may also answer in free text.`

/** The schema of the options to choose from. */
export const optionsSchema = {
  type: 'array',
  items: {
    type: 'object',
    properties: { label: { type: 'string' }, description: { type: 'string' } },
    required: ['label'],
  },
}

const schema = {
  type: 'object',
  properties: {
    question: { type: 'string' },
    options: optionsSchema,
    multiSelect: { type: 'boolean', description: 'Several options may be chosen.' },
    allowFreeform: { type: 'boolean', description: 'Default true.' },
  },
  required: ['question'],
}

/** A tool with which the model asks the user a question. */
export function createAskUserTool({
  onRequest = askThroughAgent,
}: {
  /** Puts the question to a person. The model receives the returned text or object. Default: asks through the agent. */
  readonly onRequest?: (
    input: {
      readonly question: string
      readonly options?: readonly {
        readonly label: string
        readonly description?: string
      }[]
      /** Several options may be chosen. */
      readonly multiSelect?: boolean
      /** Default true: a free-text answer is allowed too. */
      readonly allowFreeform?: boolean
    },
    ctx: ToolContext,
  ) => unknown
} = {}): ToolDef {
  return createInteractionTool<AskUserInput>({
    name: 'ask_user',
    description,
    schema,
    check: checkQuestion,
    onRequest,
    replay: 'keyed', // after a crash the question is put again
  })
}

export const askUser: ToolDef = createAskUserTool()

const maxOptions = 20

function checkQuestion(input: Record<string, unknown>): ToolCheck | undefined {
  const { question, options } = input
  if (String(question).trim() === '') return { valid: false, error: '"question" is empty; say what you want to know' }
  if (!Array.isArray(options)) return undefined
  if (options.length > maxOptions)
    return { valid: false, error: `${options.length} options are too many; offer at most ${maxOptions}` }
  const read = options.map((option) => (typeof option === 'string' ? { label: option } : option))
  const wrong = read.findIndex((option) => typeof option?.label !== 'string' || option.label.trim() === '')
  if (wrong >= 0) return { valid: false, error: `options[${wrong}] needs a "label", a short text to choose` }
  return { valid: true, input: { ...input, options: read } }
}

export type AskUserInput = Parameters<NonNullable<NonNullable<Parameters<typeof createAskUserTool>[0]>['onRequest']>>[0]

async function askThroughAgent(input: AskUserInput, ctx: ToolContext): Promise<string> {
  const { interact, signal, callId, answer } = ctx
  if (answer) return inWords({ status: 'accepted', value: answerText(answer) })
  if (!interact) return `There is no user to answer. ${assume}`
  const { question, options = [], multiSelect = false, allowFreeform = true } = input
  const kind = options.length > 0 ? 'Select' : 'Ask'
  const choice = options.length > 0 && { options, multiSelect, allowFreeform }
  const payload = { kind, prompt: question, questionId: callId, ...choice }
  return inWords(await interact({ kind, payload }, signal))
}

function inWords(response: InteractionResponse): string {
  if (response.status === 'timeout') return `The user did not answer in time. ${assume}`
  if (response.status === 'rejected')
    return `The user did not answer: ${response.reason || 'no reason given'}. ${assume}`
  const answer = textOf(response.value)
  return answer.trim() === '' ? `The user gave an empty answer. ${assume}` : `The user answered: ${answer}`
}

const assume = 'Go on with the assumption that fits best, and say which one you made.'

function textOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (Array.isArray(value)) return value.map(textOf).join(', ')
  if (typeof value !== 'object') return String(value)
  return 'label' in value && typeof value.label === 'string' ? value.label : JSON.stringify(value)
}
