import type { ApprovalScope } from '../authority/grants/grants.ts'
import type { InteractionResponse } from '../core/interaction.ts'
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
}

export type ApprovalChoice = 'allow' | 'allow-session' | 'allow-project' | 'allow-always' | 'deny'

export interface ApprovalAnswer {
  readonly choice: ApprovalChoice
  /** For the model. */
  readonly note?: string
  readonly calls: Readonly<Record<string, 'allow' | 'deny'>>
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
  return cardOf(correlationId, calls, { scopes: payload.scopes, ...(expiresAt !== undefined && { expiresAt }) })
}

/** The card of one or more calls that wait in a session (`session.pending`). */
export function approvalOfPending(pending: PendingCall | readonly PendingCall[]): ApprovalCard {
  const list: readonly PendingCall[] = Array.isArray(pending) ? pending : [pending as PendingCall]
  if (list.length === 0)
    throw new TypeError('approvalOfPending needs at least one call that waits, got none; show no card')
  const calls = list.map(({ callId, name, input, reason, request }) => {
    const payload = payloadFor(callId, request)
    return { callId, tool: name, reason, parameters: input, lines: linesOf(payload), ...previewOf(payload) }
  })
  const card = cardOf(list[0]!.callId, calls, {})
  if (list.some(({ decision }) => decision === undefined)) return card
  return closeCard(card, list.every(({ decision }) => decision === 'expired') ? 'expired' : 'answered')
}

/** Whether a call waits for an approval; the others wait for the answer to a question. */
export function isPendingApproval({ callId, digest, request }: PendingCall): boolean {
  return request !== undefined || digest !== callId
}

/**
 * Accepts the answer of a person, once. A choice that is not offered is refused, and the card stays open. The note is for
 * the model; `except` has the ids of calls to deny while the others are allowed.
 */
export function answerApproval(
  card: ApprovalCard,
  choice: ApprovalChoice,
  { note, except = [] }: { readonly note?: string; readonly except?: readonly string[] } = {},
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
  const isDenied = (callId: string): boolean => choice === 'deny' || except.includes(callId)
  const calls = Object.fromEntries(
    card.calls.map(({ callId }) => [callId, isDenied(callId) ? 'deny' : 'allow'] as const),
  )
  const answer: ApprovalAnswer = Object.freeze({
    choice,
    calls,
    ...(note !== undefined && note.trim() !== '' && { note }),
  })
  return { isAccepted: true, answer, card: closeCard({ ...card, answer }, 'answered') }
}

/** The argument for `respond` of a prompt, or for `interactions.answer`. */
export function approvalResponse({ choice, calls, note }: ApprovalAnswer): InteractionResponse {
  if (choice === 'deny') return { status: 'rejected', reason: note ?? 'declined' }
  const isBatch = Object.keys(calls).length > 1
  const isAllDenied = Object.values(calls).every((decision) => decision === 'deny')
  if (isAllDenied) return { status: 'rejected', reason: note ?? 'declined' }
  const value = { scope: scopeOf[choice], ...(isBatch && { calls }), ...(note !== undefined && { note }) }
  return { status: 'accepted', value }
}

/** The arguments for `session.answer`, for each call. An `allow` counts only if the host signs it. */
export function approvalPendingAnswers({
  calls,
  note,
}: ApprovalAnswer): readonly (readonly [callId: string, answer: PendingAnswer])[] {
  return Object.entries(calls).map(([callId, decision]) => [
    callId,
    { decision, ...(note !== undefined && { content: note }) },
  ])
}

const scopeOf: Readonly<Record<Exclude<ApprovalChoice, 'deny'>, ApprovalScope>> = {
  allow: 'once',
  'allow-session': 'session',
  'allow-project': 'project',
  'allow-always': 'always',
}

function cardOf(
  id: string,
  calls: readonly ApprovalCall[],
  { scopes, expiresAt }: { readonly scopes?: unknown; readonly expiresAt?: number },
): ApprovalCard {
  const offered: readonly unknown[] = Array.isArray(scopes) ? scopes : []
  const wider = (['allow-session', 'allow-project', 'allow-always'] as const).filter((choice) =>
    offered.includes(scopeOf[choice]),
  )
  return Object.freeze({
    id,
    status: 'open',
    isDisabled: false,
    title: calls.length === 1 ? `Allow ${cutText(calls[0]!.tool, 100)}?` : `Allow these ${calls.length} calls?`,
    calls: Object.freeze(calls),
    choices: Object.freeze(['allow', ...wider, 'deny'] as const),
    ...(expiresAt !== undefined && { expiresAt }),
  })
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

function previewOf(payload: Readonly<Record<string, unknown>>): { readonly preview?: ToolPreview } {
  const preview = parsePreview(payload.preview)
  return preview ? { preview } : {}
}

/** The part of a request for one call. The request of a halted run is wrapped once more. */
function payloadFor(callId: string, request: unknown): Readonly<Record<string, unknown>> {
  if (!isRecord(request)) return {}
  const payload = isRecord(request.payload) ? request.payload : request
  const calls: readonly unknown[] = Array.isArray(payload.calls) ? payload.calls : []
  const own = calls.find((one) => isRecord(one) && isRecord(one.call) && one.call.callId === callId)
  return isRecord(own) ? own : payload
}

function linesOf({ consent, description }: Readonly<Record<string, unknown>>): readonly string[] {
  const lines: unknown = isRecord(consent) ? consent.lines : undefined
  if (Array.isArray(lines)) return lines.filter((line) => typeof line === 'string')
  return typeof description === 'string' && description !== '' ? description.split('\n') : []
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)
