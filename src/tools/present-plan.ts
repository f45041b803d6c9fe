import type { InteractionResponse } from '../core/interaction.ts'
import { isRecord } from '../core/is-record.ts'
import type { ToolContext, ToolDef } from '../core/tool.ts'
import { answerText, createInteractionTool } from './interaction.ts'

const description = `Shows the user what you are going to do and waits for a yes or no. Before work that is long or hard to undo.
The plan is Markdown: the steps, the files they touch, and what is left open.`

/** A tool with which the model asks the user to approve a plan. */
export function createPresentPlanTool({
  onRequest = showThroughAgent,
}: {
  /** Shows the plan to a person. The model receives the returned text or object. Default: asks through the agent. */
  readonly onRequest?: (input: { readonly plan: string }, ctx: ToolContext) => unknown
} = {}): ToolDef {
  return createInteractionTool<{ readonly plan: string }>({
    name: 'present_plan',
    description,
    schema: { type: 'object', properties: { plan: { type: 'string' } }, required: ['plan'] },
    check: ({ plan }) =>
      String(plan).trim() === '' ? { valid: false, error: '"plan" is empty; write down the steps' } : undefined,
    onRequest,
    replay: 'keyed', // after a crash the plan is shown again
  })
}

export const presentPlan: ToolDef = createPresentPlanTool()

async function showThroughAgent({ plan }: { readonly plan: string }, ctx: ToolContext): Promise<string> {
  const { interact, signal, callId, answer } = ctx
  if (answer) return inWords({ status: 'accepted', value: answerText(answer) })
  if (!interact) return 'The plan could not be shown: there is no user to approve it. Do only what you were asked for.'
  const payload = { kind: 'Confirm', prompt: `Go ahead with this plan?\n\n${plan}`, plan, questionId: callId }
  return inWords(await interact({ kind: 'Confirm', payload }, signal))
}

function inWords(response: InteractionResponse): string {
  if (response.status === 'timeout') return `The user did not answer in time. ${notApproved}`
  if (response.status === 'rejected') return refused(response.reason)
  const { value } = response
  if (value === false) return refused('')
  if (isRecord(value) && typeof value.plan === 'string')
    return `The user approved the plan with changes. Carry out this version:\n\n${value.plan}`
  // A text instead of a yes is a comment on the plan.
  if (typeof value === 'string' && value.trim() !== '') return `The user answered: ${value}`
  return 'The user approved the plan. Go ahead.'
}

const notApproved = 'The plan is not approved: do not carry it out.'

function refused(reason: string): string {
  return `${notApproved} ${reason ? `The user says: ${reason}` : 'Ask what should be different, or present another one.'}`
}
