import { isRecord } from '../../core/is-record.ts'
import type { ToolCheck, ToolDef } from '../../core/tool.ts'
import { type AskUserInput, askUser, optionsSchema } from '../../tools/ask-user.ts'
import { answerText } from '../../tools/interaction.ts'
import { definePlugin, type PluginDefinition } from '../plugin.ts'
import { withMarks } from '../tool-marks.ts'

const description = `Asks the user a question and waits for the answer, however long it takes. For decisions that only the user can make; never for what you can find out yourself.
Offer options where there are clear choices; unless allowFreeform is false the user may also answer in free text.`

const inputTypes = ['single-select', 'multi-select', 'text'] as const
type QuestionInputType = (typeof inputTypes)[number]

const inputSchema = {
  type: 'object',
  properties: {
    question: { type: 'string' },
    inputType: {
      type: 'string',
      enum: inputTypes,
      description: 'Default single-select; text where there are no options.',
    },
    options: optionsSchema,
    allowFreeform: { type: 'boolean', description: 'Default true.' },
  },
  required: ['question'],
}

const askQuestionTool: ToolDef<AskedQuestion> = {
  spec: { name: 'ask-question', description, inputSchema },
  isConcurrencySafe: false,
  replay: 'keyed', // after a crash the question is asked again
  effects: ['ask'],
  deriveApprovalKey: () => 'ask-question',
  timeoutMs: 0,
  check: checkQuestion,
  execute(input, { answer, callId, suspend }) {
    // The open call is the question: it is in the log, and outlives this process.
    if (!answer) return suspend('question')
    const { question, inputType = 'single-select', options = [] } = input
    const { output, value } = readAnswer(input, answerText(answer))
    return { output, details: { questionId: callId, question, inputType, options, answer: value } }
  },
}

/** Lets the model ask a person; the answer is the result of the same call. */
export const askQuestionPlugin: PluginDefinition = definePlugin({
  toolId: 'ask-question',
  displayName: 'Questions',
  description: 'Asks the user, with options to choose from, and waits for the answer.',
  tools: () => [withMarks(askQuestionTool, { duration: 3 })],
})

function checkQuestion(raw: Record<string, unknown>): ToolCheck | undefined {
  const checked = askUser.check?.(raw)
  if (checked?.valid === false) return checked
  const input = checked?.input ?? raw
  const { inputType = 'single-select', allowFreeform = true } = input as Partial<AskedQuestion>
  const options: NonNullable<AskUserInput['options']> = Array.isArray(input.options) ? input.options : []
  if (!inputTypes.includes(inputType))
    return {
      valid: false,
      error: `"inputType" must be one of ${inputTypes.join(', ')}, got ${JSON.stringify(inputType)}`,
    }
  const labels = options.map(({ label }) => label.trim().toLowerCase())
  const twice = labels.findIndex((label, i) => labels.indexOf(label) < i)
  if (twice >= 0) return { valid: false, error: `options[${twice}] has the label of another one; give each its own` }
  if (options.length > 0 || inputType === 'text') return { valid: true, input }
  if (!allowFreeform)
    return { valid: false, error: 'there are no options and no free answer is allowed; offer options, or allow one' }
  const asText: QuestionInputType = 'text'
  return { valid: true, input: { ...input, inputType: asText } }
}

export interface AskedQuestion {
  readonly question: string
  /** Default `single-select`. */
  readonly inputType?: QuestionInputType
  readonly options?: NonNullable<AskUserInput['options']>
  /** Default true: the answer may be free text. */
  readonly allowFreeform?: boolean
}

interface ReadAnswer {
  /** For the model. */
  readonly output: string
  /** For screens. */
  readonly value: QuestionAnswer
}

interface QuestionAnswer {
  readonly text: string
  /** Labels of the options that were chosen. */
  readonly selected?: readonly string[]
}

/** Reads an answer: labels (alone, in a list, as `{"selected":[…], "text":"…"}`), or free text. */
export function readAnswer(question: AskedQuestion, answer: string): ReadAnswer {
  const { inputType = 'single-select', options = [], allowFreeform = true } = question
  const text = answer.trim()
  if (text === '') return { output: `The user gave an empty answer. ${assume}`, value: { text } }
  if (inputType === 'text') return { output: `The user answered: ${text}`, value: { text } }
  const { selected, freeText } = partsOf(text, options, inputType)
  if (inputType === 'single-select' && selected.length > 1)
    return refused(selected.join(', '), 'only one option may be chosen', options)
  if (freeText !== '' && !allowFreeform) return refused(freeText, 'that is none of the options', options)
  const all = [...selected, freeText].filter((part) => part !== '').join(', ')
  return { output: outputOf(selected, freeText), value: { text: all, selected } }
}

const assume = 'Go on with the assumption that fits best, and say which one you made.'

function refused(text: string, why: string, options: NonNullable<AskUserInput['options']>): ReadAnswer {
  const labels = options.map(({ label }) => label).join(', ')
  const output = `The user answered: ${text}. But ${why} (${labels}); ask again, or offer what was meant.`
  return { output, value: { text } }
}

function outputOf(selected: readonly string[], freeText: string): string {
  if (selected.length === 0)
    return freeText === '' ? 'The user chose none of the options.' : `The user answered in free text: ${freeText}`
  const more = freeText === '' ? '' : `\nand said: ${freeText}`
  return `The user chose: ${selected.join(', ')}${more}`
}

interface Parts {
  readonly selected: readonly string[]
  readonly freeText: string
}

function partsOf(text: string, options: NonNullable<AskUserInput['options']>, inputType: QuestionInputType): Parts {
  const labelOf = (piece: string): string | undefined =>
    options.find(({ label }) => plain(label) === plain(piece))?.label
  const given = jsonOf(text)
  const list = isRecord(given) ? given.selected : given
  if (isTexts(list)) {
    const said = isRecord(given) && typeof given.text === 'string' ? given.text.trim() : ''
    const unknown = list.filter((piece) => labelOf(piece) === undefined)
    return { selected: known(list), freeText: [...unknown, said].filter((part) => part !== '').join(', ') }
  }
  const pieces = inputType === 'multi-select' ? text.split(/[,;\n]/).filter((piece) => piece.trim() !== '') : []
  if (labelOf(text) !== undefined) return { selected: known([text]), freeText: '' }
  if (pieces.length > 0 && pieces.every(labelOf)) return { selected: known(pieces), freeText: '' }
  return { selected: [], freeText: text }

  /** The labels as they were offered, each once. */
  function known(chosen: readonly string[]): string[] {
    return [...new Set(chosen.map(labelOf).filter((label) => label !== undefined))]
  }
}

const plain = (text: string): string => text.trim().toLowerCase()

function jsonOf(text: string): unknown {
  if (!/^[{[]/.test(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined // free text may begin with a bracket
  }
}

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')
