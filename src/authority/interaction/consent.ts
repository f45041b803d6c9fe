import type { ApprovalScope, Decision } from '../../core/authority.ts'
import type { Confinement, SandboxSupport } from '../../core/execution.ts'
import type { ToolPreview } from '../../core/tool.ts'
import type { Redactor } from '../../platform/redact.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { isEnforcing, placementText } from '../confinement.ts'
import { changedDefinition, outsideRequest } from '../floor.ts'
import { coveredCalls } from '../grants/covered-calls.ts'
import { proposedRule } from '../grants/grant-rule.ts'
import { factsOf, type JudgedCall } from '../judged-call.ts'
import { runsCommands } from '../placement.ts'
import { protection } from '../rules/protected-paths.ts'
import { type ApprovalOption, approvalOptions } from './approval-options.ts'
import { argumentLines, changeLines, commandLines, effectsLine, originText, programName } from './consent-lines.ts'
import { changeHeading, maskSecrets } from './preview.ts'

interface ConsentOptions {
  readonly decision: Decision
  readonly cwd: string
  /** The kind of execution context, if it is not this machine. */
  readonly context?: string
  /** Its sandboxes. */
  readonly sandbox?: SandboxSupport | undefined
  readonly redactor?: Redactor
  /** Whether a grant for the project may be offered. Default true. */
  readonly projectGrants?: boolean
  /** The changes the call would make, or why it would fail, as the tool reports it. */
  readonly preview?: ToolPreview
  readonly wouldFail?: string
  /** The same command ran before in a sandbox in which it could change the workspace. */
  readonly hasRun?: boolean
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
  /** What a person may choose: more than `once` only where a grant identifies the call. */
  readonly choices: readonly ApprovalOption[]
  /** Warnings, which are part of the lines too. */
  readonly notes: readonly string[]
  /** What decided that a person is asked, and why; part of the lines too. */
  readonly asked: Pick<Decision, 'by' | 'why' | 'rule'>
}

/** Builds the prompt for a call. */
export function consentOf(call: JudgedCall, options: ConsentOptions): Consent {
  const { decision, cwd, context, redactor } = options
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
  const { by, why, rule } = decision
  const asked = { by, why: show(why), ...(rule !== undefined && { rule: show(rule) }) }
  const place = placementText(decision.confinement ?? 'outside', options.sandbox)
  const kept = keptInside(call, options).map((target) => show(target))
  const reached = hostsLeft(call, options)
  const body = [
    `tool: ${show(tool)} (${show(originText(origin))})`,
    `asked because: ${asked.why}${asked.rule === undefined ? '' : ` (${asked.rule})`}`,
    ...changeLines(call, show),
    `runs in: ${show(cwd)}`,
    ...(runsCommands(call) ? [`commands run: ${show(place)}`] : []),
    ...(context === undefined ? [] : [`execution context: ${show(context)}`]),
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
    ...(options.hasRun
      ? ['It ran already in this session, in the sandbox workspace-write: it would run a second time.']
      : []),
    ...(call.isBackground && isUnreachable(options)
      ? [
          'It goes on in the background, and its ports cannot be reached there: a server is of use only outside of the sandbox.',
        ]
      : []),
    ...(kept.length > 0
      ? [`The sandbox keeps ${kept.join(' and ')} as it is: only outside of it can this change.`]
      : []),
    ...(reached === undefined
      ? []
      : [
          `Its words do not name every host, and rules limit the network: inside the sandbox it reaches ${show(reached)}. Outside of it the rules about hosts do not hold.`,
        ]),
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
    choices: choicesFor(call, options).map((one) => shownOption(one, show)),
    notes,
    asked,
  }
}

/** The sandbox of the system that holds it; none in a container. */
function sandboxOf({ decision: { confinement }, sandbox }: ConsentOptions): Confinement | undefined {
  return typeof confinement === 'object' && (!sandbox || isEnforcing(sandbox)) ? confinement : undefined
}

/** Without the network of this machine it has one of its own, or may open no port. */
function isUnreachable(options: ConsentOptions): boolean {
  const { hosts = 'any' } = sandboxOf(options) ?? {}
  return hosts !== 'any'
}

/** What is left of the network to a call with unnamed hosts where rules limit the hosts; undefined if nothing is taken from it. */
function hostsLeft(call: JudgedCall, options: ConsentOptions): string | undefined {
  const { hosts = 'any' } = sandboxOf(options) ?? {}
  const hasUnnamed = factsOf(call).some(({ effect, target }) => effect === 'net' && target === undefined)
  if (hosts === 'any' || !hasUnnamed) return undefined
  return hosts.length === 0 ? 'no host' : `only ${hosts.join(', ')}`
}

/** What the line would write and the sandbox does not let it write: protected paths at the top of the workspace. */
function keptInside(call: JudgedCall, options: ConsentOptions): string[] {
  if (!call.shell || !sandboxOf(options)) return []
  const isKept = (target: string): boolean => protection(target.split('/')[0]!) !== undefined
  return [
    ...new Set(
      factsOf(call).flatMap(({ effect, target, isOutside }) =>
        effect === 'fs.write' && target !== undefined && !isOutside && protection(target) && isKept(target)
          ? [target]
          : [],
      ),
    ),
  ]
}

const mostMasked = 256 * 1024

/** A rule in which a secret would be masked, or a character is hidden, is not offered: it would not be the one that is read. */
function shownOption({ rule, ...option }: ApprovalOption, show: (text: string) => string): ApprovalOption {
  const words = show(option.words)
  const isShown = rule && [rule.rule, ...rule.examples.flat()].every((text) => show(text) === text)
  return { ...option, words, ...(isShown && { rule }) }
}

/** What a person may choose about a call. The words may contain secrets of the call. */
export function choicesFor(
  call: JudgedCall,
  { decision, sandbox, projectGrants = true }: Pick<ConsentOptions, 'decision' | 'projectGrants' | 'sandbox'>,
): ApprovalOption[] {
  const { confinement } = decision
  const isInside = confinement !== undefined && confinement !== 'outside'
  // Outside any sandbox an approval ends with its session.
  const isLasting = projectGrants && (isInside || !runsCommands(call))
  const longest = isLasting ? 'project' : 'session'
  return approvalOptions({
    place: call.effects.some(({ effect }) => effect === 'exec' || effect === 'unknown') ? confinement : undefined,
    sandbox,
    covers: coveredCalls(call).words,
    longest: whyOnce(call, decision) === undefined ? longest : 'once',
    rule: proposedRule(call),
  })
}

/** The payload of an `Approve` request for one call. Plain JSON. */
export interface ApprovePayload extends Readonly<Record<string, unknown>> {
  readonly kind: 'Approve'
  readonly toolId: string
  readonly approvalKey: string
  readonly description: string
  readonly call: Pick<JudgedCall, 'tool' | 'origin' | 'effects'> & { readonly callId: string }
  readonly consent: Omit<Consent, 'text' | 'choices'>
  /** The changes it would make, if the tool reports them: a bounded diff per file. */
  readonly preview?: ToolPreview
  readonly wouldFail?: string
  /** How many edits it has, if they can be decided about one by one: by `edits` in the answer. */
  readonly edits?: number
  /** Identifies exactly what is approved. */
  readonly digest: string
  /** What a person may choose, with what each choice covers. */
  readonly choices: readonly ApprovalOption[]
  /** The scopes of the choices. */
  readonly scopes: readonly ApprovalScope[]
}

interface ApproveOptions extends ConsentOptions {
  readonly callId: string
  readonly digest?: string
  readonly edits?: number
}

/** The payload of an `Approve` request for one call. */
export function approvePayload(call: JudgedCall, options: ApproveOptions): ApprovePayload {
  const { text, choices, ...consent } = consentOf(call, options)
  const { tool, origin, effects, key } = call
  return {
    kind: 'Approve',
    toolId: tool,
    approvalKey: key,
    description: text,
    call: { callId: options.callId, tool, origin, effects },
    consent,
    digest: options.digest ?? call.digest,
    ...offering(choices),
    ...(options.preview && { preview: options.preview }),
    ...(options.edits !== undefined && { edits: options.edits }),
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
  /** What may be chosen for all calls at once. */
  readonly choices: readonly ApprovalOption[]
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
    ...offering(commonChoices(list)),
  }
}

const offering = (choices: readonly ApprovalOption[]): Pick<ApprovePayload, 'choices' | 'scopes'> => ({
  choices,
  scopes: [...new Set(choices.map(({ scope }) => scope))],
})

/** The choices that every call has, with the words of all. */
function commonChoices([first, ...rest]: readonly ApprovePayload[]): ApprovalOption[] {
  return (first?.choices ?? []).flatMap((one) => {
    const same = rest.map(({ choices }) =>
      choices.find(({ scope, where }) => scope === one.scope && where === one.where),
    )
    if (same.includes(undefined)) return []
    const words = [...new Set([one, ...same].map((choice) => choice!.words))]
    const { rule: _, ...all } = one // of one call
    return [{ ...all, words: words.join('; ') }]
  })
}

const placeholdersIn = (text: string): number => text.match(/\[REDACTED:\d+\]/g)?.length ?? 0

function whyOnce({ shell, origin }: JudgedCall, { by, rule, confinement }: Decision): string | undefined {
  if (by === 'floor' && rule !== changedDefinition && rule !== outsideRequest) return 'it is asked about each time'
  if (origin.isChanged && origin.digest === undefined) return 'without a digest it cannot be told from a later version'
  // Whatever the same line does, it does inside the sandbox.
  if (!shell || typeof confinement === 'object') return undefined
  if (!shell.isWhole || shell.obstacles.length > 0) return 'not all that it does can be known'
  const never = shell.commands.find(({ mayRemember }) => !mayRemember)
  return (
    never && `what ${fullyVisible(programName(never.command.words[0] ?? 'this'))} does depends on more than its words`
  )
}
