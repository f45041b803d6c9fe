import type { CallVerdict } from '../../authority/ask-person.ts'
import type { ProposedRule } from '../../authority/grants/grant-rule.ts'
import type { ApprovalOption } from '../../authority/interaction/approval-options.ts'
import type { ApprovalExtent } from '../../core/authority.ts'
import { denialsText, type EditDecision, isDenied } from '../../core/edit-outcomes.ts'
import type { InteractionResponse } from '../../core/interaction.ts'
import { isRecord } from '../../core/is-record.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { cutToWidth, wrapToWidth } from '../terminal/text-width.ts'
import { type ApprovalCall, approvalCalls, approvalRows, previewRows } from './approval-calls.ts'
import { boxed } from './boxed.ts'
import { type Choice, choose, chooseFromList } from './choices.ts'
import type { DialogContext } from './dialog.ts'
import { readReason } from './questions.ts'
import { whyAsked } from './why-asked.ts'

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
  if (verdict === 'except') {
    const answer = await allowAllExcept(calls, context)
    return answer ?? (await decide(payload, calls, shownRows, { ...context, ignoreKeysMs: 0 }))
  }
  if (verdict === 'edits') return await allowEdits(calls[0]!, context)
  if (verdict === 'no') return refuse('', summary, context)
  if (verdict === 'reason') {
    const reason = await readReason(context)
    if (reason === undefined) return await decide(payload, calls, shownRows, { ...context, ignoreKeysMs: 0 })
    return refuse(reason.trim(), summary, context)
  }
  const { terminal } = context
  if ('change' in verdict) {
    const { changeRule } = await import('./change-rule.ts') // reads rules, which few answers need
    const changed = await changeRule(verdict.change, context)
    if (!changed) return await decide(payload, calls, shownRows, { ...context, ignoreKeysMs: 0 })
    printKept(changed.words, context)
    return { status: 'accepted', value: { scope: 'project', rule: changed.rule } satisfies ApprovalExtent }
  }
  const { scope, where, words } = verdict
  if (scope === 'once') printLine(`${terminal.paint.green('✓')} allowed ${fullyVisible(words)}: ${summary}`, context)
  else printKept(words, context)
  return { status: 'accepted', value: { scope, ...(where && { where }) } satisfies ApprovalExtent }
}

async function chooseVerdict(
  payload: Payload,
  calls: readonly ApprovalCall[],
  shownRows: number,
  context: DialogContext,
  explained: readonly string[] = [],
): Promise<Exclude<Verdict, 'why'>> {
  const { terminal } = context
  const { paint } = terminal
  const isLong = shownRows > terminal.rows - 10
  const heading = calls.length > 1 ? `Allow these ${calls.length} calls?` : calls[0]!.title
  const title = [
    '',
    // A single call that fits the screen is still in sight: its title is not repeated.
    ...(isLong || calls.length > 1 ? [paint.bold(heading)] : []),
    ...(isLong ? [paint.yellow(`  ${shownRows} lines above: scroll up`)] : []),
    ...explained,
  ]
  const choices = verdictChoices(offeredBy(payload), calls)
  const verdict = await choose<Verdict>({ title, choices, initial: 'no' }, context)
  if (verdict !== 'why') return verdict
  // Explained in place: pressed again, the explanation goes.
  const lines = explained.length > 0 ? [] : [...boxed(whyAsked(payload), terminal), '']
  return await chooseVerdict(payload, calls, shownRows, { ...context, ignoreKeysMs: 0 }, lines)
}

/** Asks about each edit of the only call. */
async function allowEdits(call: ApprovalCall, context: DialogContext): Promise<InteractionResponse> {
  const edits = await decideEdits(call, context)
  printEdits(edits, call.summary, context)
  if (edits.every(isDenied)) return { status: 'rejected', reason: denialsText(edits) }
  return { status: 'accepted', value: { scope: 'once', edits } satisfies ApprovalExtent }
}

function printEdits(edits: readonly EditDecision[], summary: string, context: DialogContext): void {
  const allowed = edits.length - edits.filter(isDenied).length
  const mark = allowed > 0 ? context.terminal.paint.green('✓') : context.terminal.paint.red('✗')
  printLine(`${mark} allowed ${allowed} of ${edits.length} edits: ${summary}`, context)
}

/** Shows all calls in one list, in which the person marks those that are not allowed; `undefined` if they go back. */
async function allowAllExcept(
  calls: readonly ApprovalCall[],
  context: DialogContext,
): Promise<InteractionResponse | undefined> {
  const marked = await chooseFromList(
    {
      items: calls.map(({ summary }) => cutToWidth(summary, Math.max(8, context.terminal.columns - 12))),
      isMultiple: true,
      title: 'Mark the calls that are not allowed:',
      labels: { enter: 'allow the others once', escape: 'back' },
    },
    { ...context, ignoreKeysMs: 0 },
  )
  if (!marked) return undefined
  const { paint } = context.terminal
  const verdicts: Record<string, 'allow' | 'deny'> = {}
  for (const [i, { id, summary }] of calls.entries()) {
    const isAllowed = !marked.includes(i)
    verdicts[id] = isAllowed ? 'allow' : 'deny'
    printLine(
      `${isAllowed ? `${paint.green('✓')} allowed once` : `${paint.red('✗')} not allowed`}: ${summary}`,
      context,
    )
  }
  return { status: 'accepted', value: { calls: verdicts } }
}

/** Asks about each call: only those with a yes of their own are allowed. */
async function decideEach(calls: readonly ApprovalCall[], context: DialogContext): Promise<InteractionResponse> {
  const verdicts: Record<string, 'allow' | 'deny' | CallVerdict> = {}
  for (const [i, call] of calls.entries())
    verdicts[call.id] = await decideCall(call, `${i + 1} of ${calls.length}: ${call.summary}`, context)
  return { status: 'accepted', value: { calls: verdicts } }
}

async function decideCall(
  call: ApprovalCall,
  title: string,
  context: DialogContext,
): Promise<'allow' | 'deny' | CallVerdict> {
  const { summary } = call
  const { terminal } = context
  const choices: Choice<'allow' | 'edits' | 'no' | 'reason'>[] = [
    { key: 'y', label: 'yes, this once', value: 'allow' },
    ...(call.edits.length > 0 ? [{ ...decideEachEdit, value: 'edits' as const }] : []),
    { key: 'n', label: 'no', value: 'no' },
    { key: 'r', label: 'no, and say why', value: 'reason' },
  ]
  const heading = [terminal.paint.bold(cutToWidth(title, terminal.columns - 1))]
  const verdict = await choose({ title: heading, choices, initial: 'no' }, context)
  if (verdict === 'edits') {
    const edits = await decideEdits(call, context)
    printEdits(edits, summary, context)
    return { decision: 'allow', edits }
  }
  if (verdict === 'allow') {
    printLine(`${terminal.paint.green('✓')} allowed once: ${summary}`, context)
    return 'allow'
  }
  const reason = verdict === 'reason' ? await readReason(context) : ''
  if (reason === undefined) return await decideCall(call, title, { ...context, ignoreKeysMs: 0 })
  const { reason: note } = refuse(reason.trim(), summary, context)
  return note === '' ? 'deny' : { decision: 'deny', note }
}

function refuse(reason: string, summary: string, context: DialogContext): Refusal {
  const because = reason === '' ? '' : ` (${fullyVisible(reason)})`
  printLine(`${context.terminal.paint.red('✗')} not allowed${because}: ${summary}`, context)
  return { status: 'rejected', reason }
}

type Refusal = Extract<InteractionResponse, { status: 'rejected' }>

/** What is kept is read whole. */
function printKept(words: string, { terminal }: DialogContext): void {
  const rows = wrapToWidth(`allowed ${fullyVisible(words)}`, Math.max(8, terminal.columns - 3))
  terminal.line(rows.map((row, i) => `${i === 0 ? terminal.paint.green('✓') : ' '} ${row.trimStart()}`).join('\n'))
}

/** Cut to one line: the whole call is printed above. */
function printLine(line: string, { terminal }: DialogContext): void {
  terminal.line(cutToWidth(line, terminal.columns - 1))
}

/** The answers to a call, or to several at once. */
type Verdict =
  | ApprovalOption
  | { readonly change: ProposedRule }
  | 'no'
  | 'reason'
  | 'each'
  | 'except'
  | 'edits'
  | 'why'

/** What the question offers. It may come from any program; a choice that is not understood is left out. */
function offeredBy({ choices }: Payload): readonly ApprovalOption[] {
  const offered = Array.isArray(choices) ? choices.filter(isOption) : []
  return offered.length > 0 ? offered : [{ scope: 'once', words: 'once' }]
}

function isOption(value: unknown): value is ApprovalOption {
  if (!isRecord(value) || typeof value.words !== 'string') return false
  return keyOf(value) !== undefined
}

function isRule(value: unknown): value is ProposedRule {
  return (
    isRecord(value) && typeof value.rule === 'string' && typeof value.tool === 'string' && Array.isArray(value.examples)
  )
}

function verdictChoices(offered: readonly ApprovalOption[], calls: readonly ApprovalCall[]): Choice<Verdict>[] {
  const count = calls.length
  const hasEdits = count === 1 && calls[0]!.edits.length > 0
  const [all, none] = count > 1 ? [', all of them', ', none of them'] : ['', '']
  const yes = offered.map(
    (option): Choice<Verdict> => ({
      key: keyOf(option)!,
      label: `yes${all}, ${fullyVisible(option.words)}`,
      value: option,
    }),
  )
  return [
    // Where only `outside` is offered, it has the key of a plain yes.
    ...yes.map((one, i) => (i === 0 ? { ...one, key: 'y' } : one)),
    ...offered.flatMap(({ rule }): Choice<Verdict>[] =>
      isRule(rule)
        ? [{ key: 'c', label: `change what is always allowed: ${fullyVisible(rule.rule)}`, value: { change: rule } }]
        : [],
    ),
    ...(count > 1
      ? [
          { key: 'e', label: 'decide on each', value: 'each' as const },
          { key: 'x', label: 'yes, once, all except those you mark', value: 'except' as const },
        ]
      : []),
    ...(hasEdits ? [{ ...decideEachEdit, value: 'edits' as const }] : []),
    { key: 'n', label: `no${none}`, value: 'no' },
    { key: 'r', label: `no${none}, and say why`, value: 'reason' },
    { key: 'w', label: 'why am I asked', value: 'why' },
  ]
}

const decideEachEdit = { key: 'e', label: 'decide on each edit' }

function keyOf({ scope, where }: { readonly scope?: unknown; readonly where?: unknown }): string | undefined {
  if (scope === 'once') return where === 'outside' ? 'o' : 'y'
  if (scope === 'session') return 's'
  return scope === 'project' ? 'p' : undefined
}

/** Shows each edit of a call and asks about it: only those with a yes of their own are allowed. */
async function decideEdits(
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
