import type { ApprovalExtent } from '../core/authority.ts'
import { areEditDecisions, type EditDecision, isDenied } from '../core/edit-outcomes.ts'
import { type InteractionResponse, questionAbout } from '../core/interaction.ts'
import { isRecord } from '../core/is-record.ts'
import type { PendingAnswer, PendingCall } from '../core/store.ts'
import { cutText } from '../core/text.ts'
import { parsePreview, type ToolPreview } from '../core/tool.ts'
import { type Card, type CardOutcome, closeCard, closedReason } from './card-status.ts'

/** A request to approve calls, for a screen. */
export interface ApprovalCard extends Card {
  readonly title: string
  /** The calls that one answer covers. */
  readonly calls: readonly ApprovalCall[]
  /** The buttons, in their order. */
  readonly choices: readonly ApprovalChoice[]
  /** What each choice allows, in the words of the authority. */
  readonly words: Readonly<Partial<Record<ApprovalChoice, string>>>
  /** A rule that `allow-project` may keep instead of what it covers, such as `shell:git commit *`; a person may change it. */
  readonly rule?: string
  /** When it expires, in ms since the epoch, if known. */
  readonly expiresAt?: number
  /** Set when it is answered. */
  readonly answer?: ApprovalAnswer
}

export interface ApprovalCall {
  readonly callId: string
  readonly tool: string
  /** Why an approval is needed. Empty if the lines say it. */
  readonly reason: string
  /** As the model wrote them; absent if only the lines are known. */
  readonly parameters?: Readonly<Record<string, unknown>>
  /** The text of the question: complete, and without control characters. */
  readonly lines: readonly string[]
  /** The file changes that the call would make, if its tool has a preview. */
  readonly preview?: ToolPreview
  /** How many edits it has, if they can be decided about one by one; `preview` has what each would change. */
  readonly edits?: number
}

/** `allow`: once, inside the sandbox where there is one. */
export type ApprovalChoice = 'allow' | 'allow-outside' | 'allow-session' | 'allow-project' | 'deny'

export interface ApprovalAnswer {
  readonly choice: ApprovalChoice
  /** For the model. */
  readonly note?: string
  readonly calls: Readonly<Record<string, 'allow' | 'deny'>>
  /** The rule to keep, as the person changed it. */
  readonly rule?: string
  /** The decisions about single edits, by call. */
  readonly edits?: Readonly<Record<string, readonly EditDecision[]>>
}

/** The card of a prompt of kind `Approve` or `grantStageTool`, for one call or for several, as an interactor receives it. */
export function approvalOfPrompt({
  correlationId,
  payload,
  expiresAt,
}: {
  readonly correlationId: string
  readonly payload: Readonly<Record<string, unknown>>
  readonly expiresAt?: number
}): ApprovalCard {
  const list = Array.isArray(payload.calls) ? payload.calls.filter(isRecord) : []
  const each = list.length > 0 ? list : [payload]
  // A call without an id gets an unknown one, so that it is never allowed by mistake.
  const calls = each.map((one, i) => callOf(one, each.length > 1 ? `${correlationId}/${i + 1}` : correlationId))
  return cardOf(correlationId, calls, { offers: [payload.choices], ...(expiresAt !== undefined && { expiresAt }) })
}

/** The card of one or more calls that wait in a session (`session.pending`). */
export function approvalOfPending(pending: PendingCall | readonly PendingCall[]): ApprovalCard {
  const list: readonly PendingCall[] = Array.isArray(pending) ? pending : [pending as PendingCall]
  if (list.length === 0)
    throw new TypeError('approvalOfPending needs at least one call that waits, got none; show no card')
  const payloads = list.map(({ callId, request }) => questionAbout(request, callId))
  const calls = list.map(({ callId, name, input, reason }, i) => {
    const payload = payloads[i]!
    return { callId, tool: name, reason, parameters: input, lines: linesOf(payload), ...previewOf(payload) }
  })
  const card = cardOf(list[0]!.callId, calls, { offers: payloads.map(({ choices }) => choices) })
  if (list.some(({ decision }) => decision === undefined)) return card
  return closeCard(card, list.every(({ decision }) => decision === 'expired') ? 'expired' : 'answered')
}

/** Whether a call waits for an approval; the others wait for the answer to a question. */
export function isPendingApproval({ callId, digest, request }: PendingCall): boolean {
  return request !== undefined || digest !== callId
}

/**
 * Accepts the answer of a person, once. A choice that is not offered is refused, and the card stays open. The note is for
 * the model; `except` has the ids of calls to deny while the others are allowed, `edits` the decisions about single edits,
 * `rule` what "always" keeps instead.
 */
export function answerApproval(
  card: ApprovalCard,
  choice: ApprovalCard['choices'][number],
  {
    note,
    except = [],
    edits = {},
    rule,
  }: Pick<ApprovalAnswer, 'note' | 'edits' | 'rule'> & { readonly except?: readonly string[] } = {},
): CardOutcome<ApprovalCard> {
  const refused = (reason: string) => ({ isAccepted: false, card, reason }) as const
  const closed = closedReason(card)
  if (closed !== undefined) return refused(closed)
  if (!card.choices.includes(choice))
    return refused(`"${cutText(choice, 100)}" is not offered here; choose one of ${card.choices.join(', ')}.`)
  const unknown = except.find((id) => !card.calls.some(({ callId }) => callId === id))
  if (unknown !== undefined)
    return refused(
      `There is no call "${cutText(unknown, 100)}" here; except names calls of this card: ${card.calls.map(({ callId }) => callId).join(', ')}.`,
    )
  if (rule !== undefined && (choice !== 'allow-project' || card.rule === undefined))
    return refused('No rule can be kept here; choose one of the others.')
  const wrong = whyEditsWrong(edits, card.calls)
  if (wrong !== undefined) return refused(wrong)
  const isRefused = (callId: string): boolean =>
    choice === 'deny' || except.includes(callId) || edits[callId]?.every(isDenied) === true
  const calls = Object.fromEntries(
    card.calls.map(({ callId }) => [callId, isRefused(callId) ? 'deny' : 'allow'] as const),
  )
  const decided = Object.entries(edits).filter(([callId]) => calls[callId] === 'allow')
  const answer: ApprovalAnswer = Object.freeze({
    choice,
    calls,
    ...(rule !== undefined && { rule }),
    ...(decided.length > 0 && { edits: Object.fromEntries(decided) }),
    ...(note !== undefined && note.trim() !== '' && { note }),
  })
  return { isAccepted: true, answer, card: closeCard({ ...card, answer }, 'answered') }
}

function whyEditsWrong(
  edits: NonNullable<ApprovalAnswer['edits']>,
  calls: readonly ApprovalCall[],
): string | undefined {
  for (const [id, decisions] of Object.entries(edits)) {
    const count = calls.find(({ callId }) => callId === id)?.edits ?? 0
    if (count === 0) return `The edits of "${cutText(id, 100)}" cannot be decided about one by one.`
    if (!areEditDecisions(decisions) || decisions.length !== count)
      return `"${cutText(id, 100)}" has ${count} edits; decide about each of them.`
  }
  return undefined
}

/** The argument for `respond` of a prompt, or for `interactions.answer`. */
export function approvalResponse({ choice, calls, edits = {}, rule, note }: ApprovalAnswer): InteractionResponse {
  if (choice === 'deny') return { status: 'rejected', reason: note ?? 'declined' }
  const isBatch = Object.keys(calls).length > 1
  const isAllDenied = Object.values(calls).every((decision) => decision === 'deny')
  if (isAllDenied) return { status: 'rejected', reason: note ?? 'declined' }
  const kept = rule !== undefined && { rule }
  const value = {
    ...extentOf[choice],
    ...kept,
    ...(isBatch ? { calls: withEdits(calls, edits) } : editsOfFirst(edits)),
  }
  return { status: 'accepted', value: { ...value, ...(note !== undefined && { note }) } }
}

function withEdits(calls: ApprovalAnswer['calls'], edits: NonNullable<ApprovalAnswer['edits']>): object {
  const verdicts = Object.entries(calls).map(([id, decision]) => [
    id,
    edits[id] ? { decision, edits: edits[id] } : decision,
  ])
  return Object.fromEntries(verdicts)
}

function editsOfFirst(edits: NonNullable<ApprovalAnswer['edits']>): Pick<ApprovalExtent, 'edits'> {
  const [first] = Object.values(edits)
  return first ? { edits: first } : {}
}

/** The arguments for `session.answer`, for each call. An `allow` counts only if the host signs it. */
export function approvalPendingAnswers({
  choice,
  calls,
  edits = {},
  rule,
  note,
}: ApprovalAnswer): readonly (readonly [callId: string, answer: PendingAnswer])[] {
  return Object.entries(calls).map(([callId, decision]) => {
    const only = edits[callId] && { edits: edits[callId] }
    const kept = rule !== undefined && { rule }
    const extent = choice !== 'deny' && decision === 'allow' && { ...extentOf[choice], ...kept, ...only }
    return [callId, { decision, ...extent, ...(note !== undefined && { content: note }) }]
  })
}

const extentOf = {
  allow: { scope: 'once' },
  'allow-outside': { scope: 'once', where: 'outside' },
  'allow-session': { scope: 'session' },
  'allow-project': { scope: 'project' },
} as const satisfies Record<Exclude<ApprovalChoice, 'deny'>, ApprovalExtent>

function cardOf(
  id: string,
  calls: readonly ApprovalCall[],
  { offers, expiresAt }: { readonly offers: readonly unknown[]; readonly expiresAt?: number },
): ApprovalCard {
  const words = offeredWords(offers)
  const wider = (['allow-outside', 'allow-session', 'allow-project'] as const).filter((choice) => words[choice])
  return Object.freeze({
    id,
    status: 'open',
    isDisabled: false,
    title: calls.length === 1 ? `Allow ${cutText(calls[0]!.tool, 100)}?` : `Allow these ${calls.length} calls?`,
    calls: Object.freeze(calls),
    choices: Object.freeze(['allow', ...wider, 'deny'] as const),
    words: Object.freeze(words),
    ...ruleIn(offers),
    ...(expiresAt !== undefined && { expiresAt }),
  })
}

/** Only the rule of a single call: one for several would have to cover them all. */
function ruleIn([offer, ...others]: readonly unknown[]): Pick<ApprovalCard, 'rule'> {
  const all = Array.isArray(offer) && others.length === 0 ? offer.filter(isRecord) : []
  const proposed = all.find(({ scope, rule }) => scope === 'project' && isRecord(rule))?.rule
  const rule = isRecord(proposed) ? textOf(proposed.rule) : undefined
  return rule === undefined ? {} : { rule }
}

/** The words of each choice that all calls have. */
function offeredWords(offers: readonly unknown[]): Partial<Record<ApprovalChoice, string>> {
  const each = offers.map((offer) => (Array.isArray(offer) ? offer.filter(isRecord) : []))
  const words = Object.entries(extentOf).flatMap(([choice, wanted]: [string, ApprovalExtent]) => {
    const fits = ({ scope, where }: Readonly<Record<string, unknown>>): boolean =>
      scope === wanted.scope && (wanted.where === undefined || where === wanted.where)
    const found = each.map((offer) => textOf(offer.find(fits)?.words))
    return found.includes(undefined) ? [] : [[choice, [...new Set(found)].join('; ')]]
  })
  const isOnlyOutside = each.every((offer) => offer.every(({ where }) => where === 'outside'))
  return Object.fromEntries(isOnlyOutside ? words.filter(([choice]) => choice !== 'allow-outside') : words)
}

/** The payload may come from another machine, so nothing in it is trusted. */
function callOf(payload: Readonly<Record<string, unknown>>, fallbackId: string): ApprovalCall {
  const call = isRecord(payload.call) ? payload.call : {}
  const tool = textOf(call.tool) ?? textOf(payload.toolId) ?? 'a tool that is not named'
  return {
    callId: textOf(call.callId) ?? fallbackId,
    tool,
    reason: textOf(payload.reason) ?? '',
    ...(isRecord(payload.parameters) && { parameters: payload.parameters }),
    lines: linesOf(payload),
    ...previewOf(payload),
  }
}

function previewOf(payload: Readonly<Record<string, unknown>>): Pick<ApprovalCall, 'preview' | 'edits'> {
  const preview = parsePreview(payload.preview)
  const { edits } = payload
  return { ...(preview && { preview }), ...(typeof edits === 'number' && { edits }) }
}

function linesOf({ consent, description }: Readonly<Record<string, unknown>>): readonly string[] {
  const lines: unknown = isRecord(consent) ? consent.lines : undefined
  if (Array.isArray(lines)) return lines.filter((line) => typeof line === 'string')
  return typeof description === 'string' && description !== '' ? description.split('\n') : []
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)
