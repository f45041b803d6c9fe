import type { ToolCheck, ToolDef } from '../../core/tool.ts'
import { type AskUserOption, askUser, optionsSchema } from '../../tools/ask-user.ts'
import { answerText } from '../../tools/interaction.ts'
import { definePlugin, type PluginDefinition } from '../plugin.ts'
import { withMarks } from '../tool-marks.ts'
import { type AskedQuestion, inputTypes, type QuestionInputType, readAnswer } from './question-answer.ts'

const description = `Asks the user a question and waits for the answer, however long it takes. For decisions that only the user can make; never for what you can find out yourself.
Offer options where there are clear choices; unless allowFreeform is false the user may also answer in his own words.`

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
  replay: 'keyed', // after a crash the question is put again
  effects: ['ask'],
  deriveApprovalKey: () => 'ask-question',
  timeoutMs: 0,
  check: checkQuestion,
  execute(input, { answer, callId, suspend }) {
    // The question is the open call itself: it stands in the log, and outlives this process.
    if (!answer) return suspend('question')
    const { question, inputType = 'single-select', options = [] } = input
    const { words, value } = readAnswer(input, answerText(answer))
    return { output: words, details: { questionId: callId, question, inputType, options, answer: value } }
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
  const options: readonly AskUserOption[] = Array.isArray(input.options) ? input.options : []
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
