import type { Decision, ToolOrigin } from '../../core/authority.ts'
import type { ToolPreview } from '../../core/tool.ts'
import type { Redactor } from '../../platform/redact.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { changedDefinition } from '../decide.ts'
import type { ApprovalScope } from '../grants/grants.ts'
import type { JudgedCall } from '../judged-call.ts'
import { argumentLines, changeLines, commandLines, effectsLine, ending, originText } from './consent-lines.ts'
import { changeHeading, maskSecrets } from './preview.ts'

interface ConsentOptions {
  /** Why somebody is asked. */
  readonly decision: Decision
  /** Where the call runs. */
  readonly cwd: string
  /** What holds it in, in a few words. */
  readonly sandbox?: string
  /** Knows the secrets that are masked. */
  readonly redactor?: Redactor
  /** Whether an approval may be kept for the project. Default false. */
  readonly projectGrants?: boolean
  /** What the call would change, or why it cannot work, as the tool itself found out. */
  readonly preview?: ToolPreview
  readonly wouldFail?: string
}

/**
 * What a person is shown who is asked about a call. Drawn from the call alone: no word in it is the model's but as an
 * argument, and nothing of the call is left out. Every line is one line, and does nothing to a terminal.
 */
interface Consent {
  readonly title: string
  readonly lines: readonly string[]
  /** Title and lines. */
  readonly text: string
  readonly truncated: false
  /** Characters of the arguments. */
  readonly length: number
  /** Secrets that are not shown. Nothing else is hidden. */
  readonly masked: number
  /** What may be offered: more than `once` only where the call can be remembered for what it says. */
  readonly scopes: readonly ApprovalScope[]
  /** What to mind; part of the lines, too. */
  readonly notes: readonly string[]
}

/** Draws the consent for a call. */
export function consentOf(call: JudgedCall, options: ConsentOptions): Consent {
  const { decision, cwd, sandbox, redactor, projectGrants = false } = options
  const { tool, origin, input, shell, effects } = call
  const seen = { masked: 0, hasHidden: false, isTooLong: false }
  const show = (text: string, lines: 'kept' | 'shown' = 'shown'): string => {
    // Looking for secrets takes its time, and nobody else has a turn meanwhile.
    if (redactor && text.length > mostMasked) seen.isTooLong = true
    const masked = redactor && text.length <= mostMasked ? maskSecrets(text, redactor) : text
    if (masked !== text) seen.masked += placeholdersIn(masked) - placeholdersIn(text)
    const visible = fullyVisible(masked, { lines: 'kept' })
    if (visible !== masked) seen.hasHidden = true
    return lines === 'kept' ? visible : fullyVisible(visible)
  }
  const args = argumentLines(input, show)
  const onceOnly = whyOnce(call, decision)
  const body = [
    `tool: ${show(tool)} (${show(originText(origin))})`,
    `asked because: ${show(decision.why)}${decision.rule === undefined ? '' : ` (${show(decision.rule)})`}`,
    ...changeLines(call, show),
    `runs in: ${show(cwd)}`,
    ...(sandbox === undefined ? [] : [`sandbox: ${show(sandbox)}`]),
    ...(shell ? commandLines(shell, show) : [effectsLine(effects, show)]),
    ...(options.preview?.files ?? []).map((file) => show(changeHeading(file))),
    ...(options.wouldFail === undefined ? [] : [`would fail: ${show(options.wouldFail)}`]),
    ...args.lines,
  ]
  const notes = [
    ...(args.hasPadding ? ['There is text behind many blanks or empty lines: read to the end.'] : []),
    ...(seen.hasHidden ? ['Characters that cannot be seen are shown escaped.'] : []),
    ...(seen.masked > 0 ? [`Only secrets are masked, ${seen.masked} of them: [REDACTED:…]. All else is shown.`] : []),
    ...(seen.isTooLong ? ['It is too long to look for secrets: nothing in the long text is masked.'] : []),
    ...(onceOnly === undefined ? [] : [`Can be approved for this once only: ${onceOnly}.`]),
  ]
  const title = `Allow ${show(tool)}?`
  const lines = [...body, ...notes.map((note) => `note: ${note}`)]
  return {
    title,
    lines,
    text: [title, ...lines].join('\n'),
    truncated: false,
    length: args.length,
    masked: seen.masked,
    scopes: onceOnly === undefined ? everyScope.filter((one) => one !== 'project' || projectGrants) : ['once'],
    notes,
  }
}

const mostMasked = 256 * 1024

/** What goes to whoever is asked about one call. Plain JSON. */
export interface ApprovePayload extends Readonly<Record<string, unknown>> {
  readonly kind: 'Approve'
  readonly toolId: string
  readonly approvalKey: string
  /** The consent as one text. */
  readonly description: string
  readonly call: AskedCallInfo
  readonly consent: Omit<Consent, 'text'>
  /** What it would change, where the tool can tell: a bounded diff for each file. */
  readonly preview?: ToolPreview
  /** Why the tool says that the call cannot work. */
  readonly wouldFail?: string
  /** What is approved, and nothing else. */
  readonly digest: string
  readonly scopes: readonly ApprovalScope[]
}

interface AskedCallInfo {
  readonly callId: string
  readonly tool: string
  readonly origin: ToolOrigin
  readonly effects: JudgedCall['effects']
}

interface ApproveOptions extends ConsentOptions {
  readonly callId: string
  /** Default: that of the call. */
  readonly digest?: string
}

/** The payload of an `Approve` request for one call. */
export function approvePayload(call: JudgedCall, options: ApproveOptions): ApprovePayload {
  const { text, ...consent } = consentOf(call, options)
  const { tool, origin, effects, key } = call
  return {
    kind: 'Approve',
    toolId: tool,
    approvalKey: key,
    description: text,
    call: { callId: options.callId, tool, origin, effects },
    consent,
    digest: options.digest ?? call.digest,
    scopes: consent.scopes,
    ...(options.preview && { preview: options.preview }),
    ...(options.wouldFail !== undefined && { wouldFail: options.wouldFail }),
  }
}

/** Several calls in one question. Each is judged, shown and answered by itself. */
export interface BatchPayload extends Readonly<Record<string, unknown>> {
  readonly kind: 'Approve'
  readonly toolId: string
  readonly approvalKey: string
  readonly description: string
  readonly calls: readonly ApprovePayload[]
  /** What may be offered for all of them together. */
  readonly scopes: readonly ApprovalScope[]
}

/** The payload of an `Approve` request for several calls. */
export function batchPayload(list: readonly ApprovePayload[]): BatchPayload {
  const tools = [...new Set(list.map(({ toolId }) => toolId))]
  return {
    kind: 'Approve',
    toolId: tools.join(', '),
    approvalKey: list.map(({ approvalKey }) => approvalKey).join(', '),
    description: list.map(({ description }, i) => `${i + 1} of ${list.length}. ${description}`).join('\n\n'),
    calls: list,
    scopes: everyScope.filter((scope) => list.every(({ scopes }) => scopes.includes(scope))),
  }
}

const everyScope: readonly ApprovalScope[] = ['once', 'session', 'project', 'always']

const placeholdersIn = (text: string): number => text.match(/\[REDACTED:\d+\]/g)?.length ?? 0

/** Why an approval must not outlive this call. */
function whyOnce({ shell, origin }: JudgedCall, { by, rule }: Decision): string | undefined {
  if (by === 'floor' && rule !== changedDefinition) return 'it could hurt beyond repair'
  if (origin.isChanged && origin.digest === undefined) return 'nobody could tell it from what it may become next'
  if (!shell) return undefined
  if (!shell.isWhole || shell.obstacles.length > 0) return 'not all that it does can be known'
  const never = shell.commands.find(({ mayRemember }) => !mayRemember)
  return never && `what ${fullyVisible(ending(never.command.words[0] ?? 'this'))} does depends on more than its words`
}
