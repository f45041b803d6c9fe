import type { Interactor } from '../../authority/interaction/interactor-line.ts'
import { isRecord } from '../../core/is-record.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { Waiting } from '../../workflow/index.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import { interactWith } from '../run/interact-with.ts'
import { questionIn, whyOf } from './waiting-words.ts'

/** What somebody said to what waits; for a workflow, which goes on with it. */
export type Reply = (workflow: Workflow, agentId: string) => ReturnType<Workflow['answerQuestion']>

/** Asks the person at the terminal what an agent waits for; `undefined` is a person who does not want to say. */
export async function askPerson(person: Interactor, call: Waiting, signal: AbortSignal): Promise<Reply | undefined> {
  const ask = await interactWith(person)
  const answer = await ask({ kind: kindOf(call), payload: payloadOf(call) }, signal)
  if (call.isQuestion) {
    if (answer.status !== 'accepted') return undefined
    const words = wordsOf(answer.value)
    return (workflow, agentId) => workflow.answerQuestion(agentId, call.approvalId, words)
  }
  if (answer.status === 'timeout') return undefined
  const isAllowed = answer.status === 'accepted'
  const note = !isAllowed && answer.reason !== undefined && answer.reason !== '' ? { note: answer.reason } : {}
  return (workflow, agentId) =>
    workflow.resolveApproval(agentId, call.approvalId, isAllowed ? 'allow' : 'deny', { by: 'user', ...note })
}

function kindOf({ isQuestion, input }: Waiting): 'Confirm' | 'Select' | 'Ask' {
  if (!isQuestion) return 'Confirm'
  const hasOptions = Array.isArray(input.options) && input.options.length > 0
  return hasOptions && input.inputType !== 'text' ? 'Select' : 'Ask'
}

function payloadOf(call: Waiting): Record<string, unknown> {
  const { input, callId: questionId } = call
  const kind = kindOf(call)
  if (kind === 'Confirm') {
    const args = fullyVisible(JSON.stringify(input, null, 2), { lines: 'kept' })
    return { kind, prompt: `May the agent use ${fullyVisible(call.name)}?${whyOf(call)}\n${args}` }
  }
  if (kind === 'Ask') return { kind, prompt: questionIn(input), questionId }
  const multiSelect = input.inputType === 'multi-select'
  const allowFreeform = input.allowFreeform !== false
  return { kind, prompt: questionIn(input), options: input.options, multiSelect, allowFreeform, questionId }
}

/** As `ask-question` reads it: a label, own words, or a list of both. */
function wordsOf(value: unknown): string {
  if (Array.isArray(value)) return JSON.stringify(value.map(labelOf))
  return labelOf(value)
}

const labelOf = (option: unknown): string =>
  isRecord(option) && typeof option.label === 'string' ? option.label : String(option)
