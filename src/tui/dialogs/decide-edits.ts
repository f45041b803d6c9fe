import { type EditDecision, isDenied } from '../../core/edit-outcomes.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { cutToWidth } from '../terminal/text-width.ts'
import { type ApprovalCall, previewRows } from './approval-calls.ts'
import { type Choice, choose } from './choices.ts'
import type { DialogContext } from './dialog.ts'
import { readReason } from './questions.ts'

/** Shows each edit of a call and asks about it: only those with a yes of their own are allowed. */
export async function decideEdits(
  { edits, summary }: Pick<ApprovalCall, 'edits' | 'summary'>,
  context: DialogContext,
): Promise<readonly EditDecision[]> {
  const { terminal } = context
  const { paint } = terminal
  const decisions: EditDecision[] = []
  for (const [i, edit] of edits.entries()) {
    const name = `Edit ${i + 1} of ${edits.length}`
    const { added = 0, removed = 0 } = edit
    const heading = cutToWidth(`${name}: +${added} −${removed}, ${summary}`, terminal.columns - 1)
    const note = decisions.some(isDenied) ? [paint.dim('  shown with the denied ones before it')] : []
    terminal.line(['', paint.bold(heading), ...note, ...previewRows(edit, terminal)].join('\n'))
    const decision = await decideEdit(name, context)
    decisions.push(decision)
    const because = decision.note === undefined ? '' : ` (${fullyVisible(decision.note)})`
    const said =
      decision.decision === 'allow' ? `${paint.green('✓')} allowed` : `${paint.red('✗')} not allowed${because}`
    terminal.line(cutToWidth(`${said}: ${name.toLowerCase()}`, terminal.columns - 1))
  }
  return decisions
}

async function decideEdit(name: string, context: DialogContext): Promise<EditDecision> {
  const choices: Choice<'allow' | 'deny' | 'reason'>[] = [
    { key: 'y', label: `yes, make ${name.toLowerCase()}`, value: 'allow' },
    { key: 'n', label: 'no, leave it out', value: 'deny' },
    { key: 'r', label: 'no, and say why', value: 'reason' },
  ]
  const verdict = await choose<'allow' | 'deny' | 'reason'>({ choices, initial: 'deny' }, context)
  if (verdict !== 'reason') return { decision: verdict }
  const reason = await readReason(context)
  if (reason === undefined) return decideEdit(name, { ...context, ignoreKeysMs: 0 })
  return { decision: 'deny', ...(reason.trim() !== '' && { note: reason.trim() }) }
}
