import type { Decision } from '../../core/authority.ts'
import type { ToolPreview } from '../../core/tool.ts'
import type { Redactor } from '../../platform/redact.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { changedDefinition } from '../decide.ts'
import type { ApprovalScope } from '../grants/grants.ts'
import type { JudgedCall } from '../judged-call.ts'
import { argumentLines, changeLines, commandLines, effectsLine, originText, programName } from './consent-lines.ts'
import { changeHeading, maskSecrets } from './preview.ts'

interface ConsentOptions {
  readonly decision: Decision
  readonly cwd: string
  readonly sandbox?: string
  readonly redactor?: Redactor
  /** Whether a grant for the project may be offered. Default false. */
  readonly projectGrants?: boolean
  /** The changes the call would make, or why it would fail, as the tool reports it. */
  readonly preview?: ToolPreview
  readonly wouldFail?: string
}

/**
 * The text of a prompt about a call. It is built from the call alone: text of the model appears only as arguments, and
 * no part of the call is left out. Every line is one line and contains no control characters.
 */
interface Consent {
  readonly title: string
  readonly lines: readonly string[]
  readonly text: string
  readonly truncated: false
  /** The length of the arguments in characters. */
  readonly length: number
  /** The number of masked secrets. Nothing else is hidden. */
  readonly masked: number
  /** The scopes a person may choose: more than `once` only where a grant identifies the call. */
  readonly scopes: readonly ApprovalScope[]
  /** Warnings, which are part of the lines too. */
  readonly notes: readonly string[]
}

/** Builds the prompt for a call. */
export function consentOf(call: JudgedCall, options: ConsentOptions): Consent {
  const { decision, cwd, sandbox, redactor, projectGrants = false } = options
  const { tool, origin, input, shell, effects } = call
  const seen = { masked: 0, hasHidden: false, isTooLong: false }
  const show = (text: string, lines: 'kept' | 'shown' = 'shown'): string => {
    // Searching a long text for secrets would block the event loop.
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

/** The payload of an `Approve` request for one call. Plain JSON. */
export interface ApprovePayload extends Readonly<Record<string, unknown>> {
  readonly kind: 'Approve'
  readonly toolId: string
  readonly approvalKey: string
  readonly description: string
  readonly call: Pick<JudgedCall, 'tool' | 'origin' | 'effects'> & { readonly callId: string }
  readonly consent: Omit<Consent, 'text'>
  /** The changes it would make, if the tool reports them: a bounded diff per file. */
  readonly preview?: ToolPreview
  readonly wouldFail?: string
  /** Identifies exactly what is approved. */
  readonly digest: string
  readonly scopes: readonly ApprovalScope[]
}

interface ApproveOptions extends ConsentOptions {
  readonly callId: string
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

/** The payload for several calls in one prompt. Each is judged, shown and answered separately. */
export interface BatchPayload extends Readonly<Record<string, unknown>> {
  readonly kind: 'Approve'
  readonly toolId: string
  readonly approvalKey: string
  readonly description: string
  readonly calls: readonly ApprovePayload[]
  /** The scopes that may be chosen for all calls at once. */
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

function whyOnce({ shell, origin }: JudgedCall, { by, rule }: Decision): string | undefined {
  if (by === 'floor' && rule !== changedDefinition) return 'it could hurt beyond repair'
  if (origin.isChanged && origin.digest === undefined) return 'without a digest it cannot be told from a later version'
  if (!shell) return undefined
  if (!shell.isWhole || shell.obstacles.length > 0) return 'not all that it does can be known'
  const never = shell.commands.find(({ mayRemember }) => !mayRemember)
  return (
    never && `what ${fullyVisible(programName(never.command.words[0] ?? 'this'))} does depends on more than its words`
  )
}
