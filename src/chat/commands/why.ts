import type { DecidedBy, Decision } from '../../core/authority.ts'
import { oneLine } from '../../core/text.ts'
import type { CallRow, Row } from '../../view/rows.ts'
import type { CommandContext } from '../command.ts'
import type { CommandWork } from '../lazy-command.ts'

/** A decision that was made about a call, by an earlier process perhaps. */
export interface RecordedDecision {
  readonly decision: Decision
  readonly approver?: string
}

/** Finds the decision about a call of a session, in an audit. `calledAt` says since when there can be one. */
export type FindDecision = (
  sessionId: string,
  callId: string,
  calledAt?: number,
) => Promise<RecordedDecision | undefined>

/** Only the process that made the decisions knows them. */
export const why: CommandWork = whyCommand(async () => undefined)

export function whyCommand(findDecision: FindDecision): CommandWork {
  return {
    complete: (_, context) => callsOf(context).map((row, i) => ({ text: String(i + 1), detail: summaryOf(row) })),
    async run(argument, context) {
      const { screen, chat } = context
      const row = await chooseCall(argument, context)
      if (!row) return
      const { sessionId } = chat.state
      const { decision, approver } = row.live ?? {}
      const live = decision && { decision, ...(approver !== undefined && { approver }) }
      const found = live ?? (sessionId === undefined ? undefined : await findDecision(sessionId, row.id, row.at))
      screen.print([summaryOf(row), ...whyLines(row, found)].join('\n'))
    },
  }
}

/** The calls of this session, the last one first. */
function callsOf({ chat }: CommandContext): readonly CallRow[] {
  return [...chat.state.view.rows].filter(isCall).toReversed().slice(0, mostCalls)
}

const mostCalls = 100
const isCall = (row: Row): row is CallRow => row.kind === 'call'

async function chooseCall(argument: string, context: CommandContext): Promise<CallRow | undefined> {
  const calls = callsOf(context)
  if (calls.length === 0)
    throw new Error('No tool was called in this session yet; /policy explains a command before it is called')
  if (argument !== '') {
    const call = calls[Number(argument) - 1] ?? calls.find(({ id }) => id === argument)
    if (!call) throw new Error(`There is no call ${argument}; 1 is the last of ${calls.length}`)
    return call
  }
  const items = calls.map((row) => ({ label: summaryOf(row), ...(row.result ? {} : { detail: 'at work' }) }))
  const index = await context.screen.choose({ title: 'Why was this call decided as it was?', items })
  return index === undefined ? undefined : calls[index]
}

/** The name of a call and a short form of its input: its only or first text, else all of it. */
function summaryOf({ name, input }: CallRow): string {
  const { command, path, pattern } = input
  const text = [command, path, pattern, ...Object.values(input)].find((value) => typeof value === 'string')
  return oneLine(`${name} ${text ?? JSON.stringify(input)}`, 100)
}

/** A decision in sentences: that of the authority, and that of the person whom it asked. */
export function whyLines(
  { approvals }: Pick<CallRow, 'approvals'>,
  found: RecordedDecision | undefined,
): readonly string[] {
  const asked = approvals?.at(-1)
  const lines = found ? decisionLines(found) : []
  if (asked?.reason) lines.push(`asked because: ${asked.reason}`)
  if (asked?.answer)
    lines.push(
      `answered: ${asked.answer.decision}${asked.answer.by === undefined ? '' : ` by ${asked.answer.by}`}${asked.answer.scope ? `, for this ${asked.answer.scope}` : ''}`,
    )
  return lines.length > 0 ? lines : ['The decision is not known here any more; libero audit may have it']
}

function decisionLines({ decision, approver }: RecordedDecision): string[] {
  const { verdict, by, rule, why: reason, confinement } = decision
  const place = confinement === undefined ? undefined : placeOf(confinement)
  return [
    `${verdicts[verdict]}: ${reason}`,
    `decided by: ${approver ?? names[by]}${rule === undefined ? '' : ` ${rule}`}`,
    ...(place === undefined ? [] : [`its commands: ${place}`]),
    `what would change it: ${changes[by]}`,
  ]
}

const verdicts = { allow: 'allowed', ask: 'asked about', deny: 'refused' } as const

const placeOf = (confinement: NonNullable<Decision['confinement']>): string =>
  confinement === 'outside' ? 'outside any sandbox' : `in the sandbox ${confinement.profile}`

const names: Readonly<Record<DecidedBy, string>> = {
  ungated: 'the tool, which needs no decision',
  'deny-rule': 'the deny rule',
  plan: 'the mode plan',
  'sm-envelope': 'the stage of the work',
  'sm-grant-token': 'a grant of the stage',
  'ask-rule': 'the ask rule',
  'allow-rule': 'the allow rule',
  grant: 'an approval that is kept',
  'mode-gate': 'the mode',
  sandbox: 'the sandbox',
  floor: 'the floor of every mode',
  preview: 'its preview',
  guard: 'a guard of the program',
  person: 'a person',
  hook: 'a hook of the program',
}

const changes: Readonly<Record<DecidedBy, string>> = {
  ungated: 'an ask or deny rule for the tool',
  'deny-rule': 'removing that rule from the settings',
  plan: '/mode ask leaves the mode plan',
  'sm-envelope': 'another stage of the work',
  'sm-grant-token': 'another stage of the work',
  'ask-rule': 'removing that rule from the settings',
  'allow-rule': 'an ask or deny rule, or removing that rule',
  grant: '/grants revokes it',
  'mode-gate': 'another mode (/mode), or an allow, ask or deny rule',
  sandbox: 'another mode (/mode), or an ask or deny rule',
  floor: 'nothing but an approval for each call: it protects from irreparable damage',
  preview: 'another call: this one could not have worked',
  guard: 'the program that runs the agent',
  person: 'the answer of the person; /grants shows those that are kept',
  hook: 'the program that runs the agent',
}
