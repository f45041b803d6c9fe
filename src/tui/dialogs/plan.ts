import type { InteractionResponse } from '../../core/interaction.ts'
import { createMarkdownRenderer } from '../markdown/render-markdown.ts'
import { own } from '../terminal/marks.ts'
import { type Choice, choose } from './choices.ts'
import type { DialogContext } from './dialog.ts'
import { confirm, readReason } from './questions.ts'

type Verdict = 'yes' | 'edit' | 'no' | 'reason'

/** A question for yes or no; one that carries a plan is about that plan. */
export function confirmOrPlan(
  payload: Readonly<Record<string, unknown>>,
  context: DialogContext,
): Promise<InteractionResponse> {
  return typeof payload.plan === 'string' ? approvePlan(payload.plan, context) : confirm(payload, context)
}

/**
 * Shows a plan of the model as Markdown behind a margin, and asks whether to build it. The person may change it in their
 * editor: the model then gets the changed plan, approved. Esc refuses.
 */
async function approvePlan(plan: string, context: DialogContext): Promise<InteractionResponse> {
  printPlan('The agent presents a plan:', plan, context)
  return await decide(plan, plan, context)
}

async function decide(plan: string, presented: string, context: DialogContext): Promise<InteractionResponse> {
  const { terminal, editText } = context
  const { paint } = terminal
  const choices: Choice<Verdict>[] = [
    { key: 'y', label: 'yes, build it', value: 'yes' },
    ...(editText ? [{ key: 'c', label: 'change it in your editor', value: 'edit' as const }] : []),
    { key: 'n', label: 'no', value: 'no' },
    { key: 'r', label: 'no, and say why', value: 'reason' },
  ]
  const again = { ...context, ignoreKeysMs: 0 }
  const verdict = await choose({ title: [''], choices, initial: 'no' }, context)
  if (verdict === 'edit') {
    const changed = await editText!(plan)
    if (changed === undefined || changed.trim() === '' || changed === plan) return await decide(plan, presented, again)
    printPlan('The plan as you changed it:', changed, context)
    return await decide(changed, presented, again)
  }
  if (verdict === 'yes') {
    terminal.line(`${paint.green('✓')} plan approved${plan === presented ? '' : ', as you changed it'}`)
    return { status: 'accepted', value: plan === presented ? true : { plan } }
  }
  const reason = verdict === 'reason' ? await readReason(context) : ''
  if (reason === undefined) return await decide(plan, presented, again)
  terminal.line(`${paint.red('✗')} plan not approved`)
  return { status: 'rejected', reason: reason.trim() }
}

/** The margin marks what others wrote. */
function printPlan(heading: string, plan: string, { terminal }: DialogContext): void {
  const { paint, columns } = terminal
  const rows = createMarkdownRenderer(paint)(plan, Math.min(100, columns - 3))
  const boxed = rows.map((row) => `${paint.dim(own('│'))} ${row}`)
  terminal.line(['', paint.bold(paint.cyan(`? ${heading}`)), ...boxed].join('\n'))
}
