import { isDenied } from '../../../core/edit-outcomes.ts'
import type { ToolOutput } from '../../../core/turn.ts'
import { fullyVisible } from '../../../platform/visible-text.ts'
import { visibleLine } from '../session-title.ts'
import type { CallApproval, CallPart } from './transcript-view.ts'

const mainArguments = ['command', 'path', 'pattern', 'url', 'query', 'task', 'prompt', 'question']

/** The main argument of a call on one line: its command or its file, else all arguments. */
export function describeCall({ input }: Pick<CallPart, 'input'>): string {
  for (const name of mainArguments) {
    const value = input[name]
    if (typeof value === 'string' && value !== '') return visibleLine(value.slice(0, 1000), 100)
  }
  const rest = JSON.stringify(input) ?? ''
  return rest === '{}' ? '' : visibleLine(rest.slice(0, 1000), 100)
}

/** The status of a call; an empty text if it simply succeeded. */
export function callStatus({ approvals, isWaiting, output, isError, outcome }: CallPart): {
  tone: 'good' | 'bad' | 'waits'
  text: string
} {
  if (output === undefined) return { tone: 'waits', text: isWaiting ? 'waits for you' : 'no result' }
  if (approvals.some(({ decision }) => decision === 'deny')) return { tone: 'bad', text: 'refused' }
  const special = outcome === undefined ? undefined : outcomes[outcome]
  if (special !== undefined) return { tone: 'bad', text: special }
  if (isError) return { tone: 'bad', text: 'failed' }
  return approvals.some(({ decision }) => decision === 'allow')
    ? { tone: 'good', text: 'approved' }
    : { tone: 'good', text: '' }
}

/** The decision about a call and who made it. */
export function decisionText({ decision, by = 'a person', note, edits }: CallApproval): string {
  if (decision === 'asked') return 'Waits for an answer'
  const what = edits ? ` ${edits.length - edits.filter(isDenied).length} of ${edits.length} edits` : ''
  return fullyVisible(`${decisions[decision]}${what} by ${by}${note === undefined ? '' : `: ${note}`}`)
}

const decisions = { allow: 'Allowed', deny: 'Refused', expired: 'Not answered in time, asked', reply: 'Answered' }

const outcomes: Readonly<Record<string, string>> = {
  timeout: 'took too long',
  blocked: 'refused',
  unknown_tool: 'unknown tool',
  invalid: 'invalid',
  aborted: 'aborted',
  skipped: 'skipped',
  cancelled: 'cancelled',
  unknown: 'interrupted',
}

/** The output of a tool as text, without colour sequences. */
export function outputText(output: ToolOutput): string {
  if (typeof output === 'string') return output.replace(colours, '')
  return output
    .map((block) => (block.type === 'text' ? block.text.replace(colours, '') : `[${block.type} ${block.mediaType}]`))
    .join('\n')
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: matches colour sequences
const colours = /\x1b\[[0-9;]*m/g
