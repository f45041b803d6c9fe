import type { Interactor } from '../../authority/interaction/interactor-queue.ts'
import type { Interact } from '../../core/interaction.ts'
import { isRecord } from '../../core/is-record.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { Waiting } from '../../workflow/index.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import { interactWith } from '../assembly/interact-with.ts'
import { requireAskedFolder } from './asked-folder.ts'
import { folderLines, questionIn, whyOf } from './waiting-words.ts'

/** What somebody said to what waits; for a workflow, which goes on with it. */
export interface Reply {
  /** The call that may be made now. */
  readonly allowed?: Waiting
  give(workflow: Workflow, agentId: string): ReturnType<Workflow['answerQuestion']>
}

interface AskOptions {
  readonly signal: AbortSignal
  /** Where an allowed call would run. */
  readonly cwd: string
}

/**
 * Asks the person at the terminal what an agent waits for; `undefined` is a person who does not want to say. Rejects
 * where a call is allowed that was asked for in another folder.
 */
export async function askPerson(
  person: Interactor,
  call: Waiting,
  { signal, cwd }: AskOptions,
): Promise<Reply | undefined> {
  const ask = await interactWith(person)
  if (call.isQuestion) {
    const words = await askForWords(ask, call, signal)
    if (words === undefined) return undefined
    return { give: (workflow, agentId) => workflow.answerQuestion(agentId, call.approvalId, words) }
  }
  const answer = await ask({ kind: kindOf(call), payload: payloadOf(call) }, signal)
  if (answer.status === 'timeout') return undefined
  const isAllowed = answer.status === 'accepted'
  const note = !isAllowed && answer.reason !== undefined && answer.reason !== '' ? { note: answer.reason } : {}
  if (isAllowed) requireAskedFolder(call, cwd)
  const decision = isAllowed ? 'allow' : 'deny'
  return {
    ...(isAllowed && { allowed: call }),
    give: (workflow, agentId) => workflow.resolveApproval(agentId, call.approvalId, decision, { by: 'user', ...note }),
  }
}

/** Enter alone is a slip more often than an answer: the question is put again. */
async function askForWords(ask: Interact, call: Waiting, signal: AbortSignal): Promise<string | undefined> {
  const payload = payloadOf(call)
  let hint = ''
  for (;;) {
    const prompt = `${payload.prompt}${hint}`
    const answer = await ask({ kind: kindOf(call), payload: { ...payload, prompt } }, signal)
    if (answer.status !== 'accepted') return undefined
    const words = wordsOf(answer.value)
    if (words.trim() !== '') return words
    hint = '\n(Nothing was typed. Type an answer, or leave it for later with Esc.)'
  }
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
    return {
      kind,
      prompt: `May the agent use ${fullyVisible(call.name)}?${whyOf(call)}\n${[...folderLines(call), args].join('\n')}`,
    }
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
