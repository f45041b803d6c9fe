import type { ApprovalScope } from '../../../authority/grants/grants.ts'
import type { InteractionResponse } from '../../../core/interaction.ts'
import { fullyVisible } from '../../../platform/visible-text.ts'
import { cutToWidth } from '../text-width.ts'
import { type ApprovalCall, approvalCalls, approvalRows } from './approval-calls.ts'
import { type Choice, choose } from './choices.ts'
import type { DialogContext } from './dialog.ts'
import { readReason } from './questions.ts'

type Payload = Readonly<Record<string, unknown>>

/**
 * Asks whether calls may run. They are printed in full, except for the end of a long diff, and stay in the scrollback.
 * Anything but an explicit yes refuses them.
 */
export async function approve(payload: Payload, context: DialogContext): Promise<InteractionResponse> {
  const calls = approvalCalls(payload)
  const { terminal } = context
  const rows = calls.flatMap((call, i) => {
    const number = calls.length > 1 ? `${i + 1} of ${calls.length}. ` : ''
    return approvalRows({ ...call, title: `${number}${call.title}` }, terminal)
  })
  terminal.line(rows.join('\n'))
  return await decide(payload, calls, rows.length, context)
}

async function decide(
  payload: Payload,
  calls: readonly ApprovalCall[],
  shownRows: number,
  context: DialogContext,
): Promise<InteractionResponse> {
  const verdict = await chooseVerdict(payload, calls, shownRows, context)
  const summary = calls.map((call) => call.summary).join(', ')
  if (verdict === 'each') return await decideEach(calls, context)
  if (verdict === 'no') return refuse('', summary, context)
  if (verdict === 'reason') {
    const reason = await readReason(context)
    if (reason === undefined) return await decide(payload, calls, shownRows, { ...context, ignoreKeysMs: 0 })
    return refuse(reason.trim(), summary, context)
  }
  printLine(`${context.terminal.paint.green('✓')} allowed ${scopeLabels[verdict]}: ${summary}`, context)
  return { status: 'accepted', value: { scope: verdict } }
}

function chooseVerdict(
  { scopes }: Payload,
  calls: readonly ApprovalCall[],
  shownRows: number,
  context: DialogContext,
): Promise<Verdict> {
  const { terminal } = context
  const { paint } = terminal
  const isLong = shownRows > terminal.rows - 10
  const heading = calls.length > 1 ? `Allow these ${calls.length} calls?` : calls[0]!.title
  const title = [
    '',
    // A single call that fits the screen is still in sight: its title is not repeated.
    ...(isLong || calls.length > 1 ? [paint.bold(heading)] : []),
    ...(isLong ? [paint.yellow(`  ${shownRows} lines above: scroll up and read all of it`)] : []),
  ]
  return choose({ title, choices: scopeChoices(scopes, calls.length), initial: 'no' }, context)
}

/** Asks about each call: only those with a yes of their own are allowed. */
async function decideEach(calls: readonly ApprovalCall[], context: DialogContext): Promise<InteractionResponse> {
  const { terminal } = context
  const { paint } = terminal
  const verdicts: Record<string, 'allow' | 'deny'> = {}
  for (const [i, { id, summary }] of calls.entries()) {
    const title = [paint.bold(cutToWidth(`${i + 1} of ${calls.length}: ${summary}`, terminal.columns - 1))]
    const choices: Choice<'allow' | 'deny'>[] = [
      { key: 'y', label: 'yes, this once', value: 'allow' },
      { key: 'n', label: 'no', value: 'deny' },
    ]
    const verdict = await choose<'allow' | 'deny'>({ title, choices, initial: 'deny' }, context)
    verdicts[id] = verdict
    const mark = verdict === 'allow' ? `${paint.green('✓')} allowed once` : `${paint.red('✗')} not allowed`
    printLine(`${mark}: ${summary}`, context)
  }
  return { status: 'accepted', value: { calls: verdicts } }
}

function refuse(reason: string, summary: string, context: DialogContext): InteractionResponse {
  const because = reason === '' ? '' : ` (${fullyVisible(reason)})`
  printLine(`${context.terminal.paint.red('✗')} not allowed${because}: ${summary}`, context)
  return { status: 'rejected', reason }
}

/** Cut to one line: the whole call is printed above. */
function printLine(line: string, { terminal }: DialogContext): void {
  terminal.line(cutToWidth(line, terminal.columns - 1))
}

/** The answers to a call, or to several at once. */
type Verdict = ApprovalScope | 'no' | 'reason' | 'each'

const scopeLabels: Readonly<Record<ApprovalScope, string>> = {
  once: 'once',
  session: 'for this session',
  project: 'always, in this project',
  always: 'always, everywhere',
}

/** The choices for the offered scopes. The key `a` is the widest scope. */
function scopeChoices(offered: unknown, count: number): Choice<Verdict>[] {
  const has = (scope: ApprovalScope): boolean => Array.isArray(offered) && offered.includes(scope)
  const [all, none] = count > 1 ? [', all of them', ', none of them'] : ['', '']
  const yes = (key: string, scope: ApprovalScope, label: string): Choice<Verdict>[] =>
    has(scope) ? [{ key, label: `yes${all}, ${label}`, value: scope }] : []
  return [
    { key: 'y', label: `yes${all}, this once`, value: 'once' },
    ...yes('s', 'session', 'in this session, also for similar calls'),
    ...yes(has('always') ? 'p' : 'a', 'project', 'always in this project, also for similar calls'),
    ...yes('a', 'always', 'always and everywhere, also for similar calls'),
    ...(count > 1 ? [{ key: 'e', label: 'decide on each', value: 'each' as const }] : []),
    { key: 'n', label: `no${none}`, value: 'no' },
    { key: 'r', label: `no${none}, and say why`, value: 'reason' },
  ]
}
