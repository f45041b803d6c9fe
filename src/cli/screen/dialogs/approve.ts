import type { ApprovalScope } from '../../../authority/grants/grants.ts'
import type { InteractionResponse } from '../../../core/interaction.ts'
import { fullyVisible } from '../../../platform/visible-text.ts'
import { readLine } from '../read-line.ts'
import { cutToWidth } from '../text-width.ts'
import { type AskedCall, askedCalls, askedRows } from './asked-calls.ts'
import { type Choice, choicesView } from './choices.ts'
import { type DialogContext, runDialog } from './dialog.ts'

type Payload = Readonly<Record<string, unknown>>

/**
 * Asks whether a call may run: it is shown and stays in the scrollback, and only a clear yes is one. All of it is shown,
 * but for the end of a long diff.
 */
export async function approve(payload: Payload, context: DialogContext): Promise<InteractionResponse> {
  const calls = askedCalls(payload)
  const { terminal } = context
  const rows = calls.flatMap((call, i) => {
    const number = calls.length > 1 ? `${i + 1} of ${calls.length}. ` : ''
    return askedRows({ ...call, title: `${number}${call.title}` }, terminal)
  })
  terminal.line(rows.join('\n'))
  return await decide(payload, calls, rows.length, context)
}

async function decide(
  payload: Payload,
  calls: readonly AskedCall[],
  shownRows: number,
  context: DialogContext,
): Promise<InteractionResponse> {
  const verdict = await choose(payload, calls, shownRows, context)
  const about = calls.map((call) => call.summary).join(', ')
  if (verdict === 'each') return await decideEach(calls, context)
  if (verdict === 'no') return refused('', about, context)
  if (verdict !== 'reason') {
    const { paint } = context.terminal
    say(`${paint.green('✓')} allowed ${scopeWords[verdict]}: ${about}`, context)
    return { status: 'accepted', value: { scope: verdict } }
  }
  const { terminal, keyboard, ignoreKeysMs: _, ...rest } = context
  const reason = await readLine(terminal, keyboard, { ...rest, prompt: 'No, because: ', escapeLabel: 'back' })
  if (reason === undefined) return await decide(payload, calls, shownRows, { ...context, ignoreKeysMs: 0 })
  return refused(reason.trim(), about, context)
}

async function choose(
  { scopes }: Payload,
  calls: readonly AskedCall[],
  shownRows: number,
  context: DialogContext,
): Promise<Verdict> {
  const { terminal } = context
  const { paint } = terminal
  const isLong = shownRows > terminal.rows - 10
  const heading = calls.length > 1 ? `Allow these ${calls.length} calls?` : calls[0]!.title
  const title = [
    '',
    // What is asked is still in sight where it is one thing that fits the screen.
    ...(isLong || calls.length > 1 ? [paint.bold(heading)] : []),
    ...(isLong ? [paint.yellow(`  ${shownRows} lines above: scroll up and read all of it`)] : []),
  ]
  const choices = scopeChoices(scopes, calls.length)
  return await runDialog(
    choicesView({ title, choices, initial: 'no', onEscape: 'no', escapeLabel: 'no' }, terminal),
    context,
  )
}

/** Call by call: what is not allowed by its own yes is not allowed. */
async function decideEach(calls: readonly AskedCall[], context: DialogContext): Promise<InteractionResponse> {
  const { terminal } = context
  const { paint } = terminal
  const verdicts: Record<string, 'allow' | 'deny'> = {}
  for (const [i, { id, summary: about }] of calls.entries()) {
    const verdict = await runDialog(
      choicesView<'allow' | 'deny'>(
        {
          title: [paint.bold(cutToWidth(`${i + 1} of ${calls.length}: ${about}`, terminal.columns - 1))],
          choices: [
            { key: 'y', label: 'yes, this once', value: 'allow' },
            { key: 'n', label: 'no', value: 'deny' },
          ],
          initial: 'deny',
          onEscape: 'deny',
          escapeLabel: 'no',
        },
        terminal,
      ),
      context,
    )
    verdicts[id] = verdict
    say(
      verdict === 'allow' ? `${paint.green('✓')} allowed once: ${about}` : `${paint.red('✗')} not allowed: ${about}`,
      context,
    )
  }
  return { status: 'accepted', value: { calls: verdicts } }
}

function refused(reason: string, about: string, context: DialogContext): InteractionResponse {
  const because = reason === '' ? '' : ` (${fullyVisible(reason)})`
  say(`${context.terminal.paint.red('✗')} not allowed${because}: ${about}`, context)
  return { status: 'rejected', reason }
}

/** One line: what it is about stands above, whole. */
function say(line: string, { terminal }: DialogContext): void {
  terminal.line(cutToWidth(line, terminal.columns - 1))
}

/** What somebody may say about a call, or about several. */
export type Verdict = ApprovalScope | 'no' | 'reason' | 'each'

/** How long an approval holds, in words. */
export const scopeWords: Readonly<Record<ApprovalScope, string>> = {
  once: 'once',
  session: 'for this session',
  project: 'always, in this project',
  always: 'always, everywhere',
}

/** The choices for calls with these scopes: nothing that is not offered. `a` is the widest of them. */
export function scopeChoices(offered: unknown, count: number): Choice<Verdict>[] {
  const has = (scope: ApprovalScope): boolean => Array.isArray(offered) && offered.includes(scope)
  const [all, none] = count > 1 ? [', all of them', ', none of them'] : ['', '']
  const yes = (key: string, scope: ApprovalScope, label: string): Choice<Verdict>[] =>
    has(scope) ? [{ key, label: `yes${all}, ${label}`, value: scope }] : []
  return [
    { key: 'y', label: `yes${all}, this once`, value: 'once' },
    ...yes('s', 'session', 'in this session, and those like it'),
    ...yes(has('always') ? 'p' : 'a', 'project', 'always in this project, and those like it'),
    ...yes('a', 'always', 'always and everywhere, and those like it'),
    ...(count > 1 ? [{ key: 'e', label: 'decide on each', value: 'each' as const }] : []),
    { key: 'n', label: `no${none}`, value: 'no' },
    { key: 'r', label: `no${none}, and say why`, value: 'reason' },
  ]
}
