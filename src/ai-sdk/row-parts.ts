import { type SessionContentBlock, type ToolOutput, textOf } from '../core/turn.ts'
import type { AnswerRow, ApprovalView, CallRow, MessageRow, Row } from '../view/rows.ts'
import type { UIFilePart, UIMetadata, UIPart, UITextPart, UIToolPart, UIUsage } from './ui-message.ts'

/** The parts of a reply: a step for each model call, with what it thought, said and called. */
export function rowParts(row: Row): readonly UIPart[] {
  const known = partsOfRow.get(row)
  if (known) return known
  const parts = makeParts(row)
  partsOfRow.set(row, parts)
  return parts
}

/** Rows that do not change stay the same objects, and so do their parts: what was sent is found by comparing them. */
const partsOfRow = new WeakMap<Row, readonly UIPart[]>()

function makeParts(row: Row): readonly UIPart[] {
  if (row.kind === 'answer') return answerParts(row)
  if (row.kind === 'call') return [toolPart(row)]
  if (row.kind === 'message' && row.mode === 'steer') return [steeringPart(row)]
  return []
}

/** Whether a message begins with this row. A message that steers a run is part of its reply. */
export const isPrompt = (row: Row): row is MessageRow => row.kind === 'message' && row.mode !== 'steer' && !isNote(row)

/** What the program added. Turns of an imported log look the same, but belong to no run. */
const isNote = ({ isNote, runId }: MessageRow): boolean => isNote === true && runId !== ''

export const messageIdOf = ({ clientKey, id }: Pick<MessageRow, 'clientKey' | 'id'>): string => clientKey ?? id

/** The id of the reply to a message. It depends on the log alone, so that a reload finds the same message. */
export const replyIdOf = ({ turnId }: Pick<MessageRow, 'turnId'>): string => `${turnId}-reply`

function answerParts({ id, thinking, text, content, isOpen }: AnswerRow): readonly UIPart[] {
  const state = isOpen ? 'streaming' : 'done'
  return [
    { type: 'step-start' },
    ...(thinking === '' ? [] : [{ type: 'reasoning' as const, id, text: thinking, state } as const]),
    ...(text === '' ? [] : [{ type: 'text' as const, text, state } as const]),
    ...contentParts(content).filter(({ type }) => type === 'file'),
  ]
}

function steeringPart(row: MessageRow): UIPart {
  return { type: 'steering-message', id: messageIdOf(row), parts: contentParts(row.content) }
}

/** Texts and files as parts; a message of a person has no others. */
export function contentParts(content: readonly SessionContentBlock[]): (UITextPart | UIFilePart)[] {
  return content.flatMap((block): (UITextPart | UIFilePart)[] => {
    if (block.type === 'text') return [{ type: 'text', text: block.text }]
    if (block.type !== 'image' && block.type !== 'document') return []
    const { mediaType, data } = block
    const name = block.type === 'document' && block.name !== undefined && { filename: block.name }
    return [{ type: 'file', mediaType, url: `data:${mediaType};base64,${data}`, ...name }]
  })
}

function toolPart(row: CallRow): UIToolPart {
  const { id: toolCallId, name: toolName, input, state, result } = row
  const base = { type: 'dynamic-tool', toolName, toolCallId } as const
  if (state === 'streaming') return { ...base, state: 'input-streaming', rawInput: row.live?.args ?? '' }
  const asked = row.approvals?.findLast(isDecision)
  const { decision, note } = asked?.answer ?? {}
  const request = asked && {
    id: approvalIdOf(asked),
    ...(asked.reason && { requestReason: asked.reason }),
    ...(asked.call && { descriptor: { toolName: asked.call.name, input: asked.call.input } }),
  }
  const reason = note && textOf({ role: 'user', content: note })
  const why = reason ? { reason } : {}
  const isOwn = asked?.callId === toolCallId
  if (result) {
    if (request && isOwn && decision !== undefined && decision !== 'allow')
      return { ...base, state: 'output-denied', input, approval: { ...request, approved: false, ...why } }
    const approval =
      request && isOwn && decision === 'allow' ? { approval: { ...request, approved: true as const } } : {}
    if (result.isError) return { ...base, state: 'output-error', input, errorText: textIn(result.output), ...approval }
    return { ...base, state: 'output-available', input, output: result.output, ...approval }
  }
  if (request && decision !== undefined)
    return {
      ...base,
      state: 'approval-responded',
      input,
      approval: { ...request, approved: decision === 'allow', ...why },
    }
  if (request && state === 'waiting') return { ...base, state: 'approval-requested', input, approval: request }
  return { ...base, state: 'input-available', input }
}

/** A question of a tool has neither a request nor a digest of its own; it is answered with an output. */
const isDecision = ({ request, digest, callId, answer }: ApprovalView): boolean =>
  answer?.decision !== 'reply' && (request !== undefined || digest !== callId)

const approvalIdOf = ({ digest, callId }: ApprovalView): string => `${digest}:${callId}`

/** The call and the digest that an approval is about; undefined for an id that is not ours. */
export function parseApprovalId(id: string): { readonly digest: string; readonly callId: string } | undefined {
  const at = id.indexOf(':')
  return at < 1 || at === id.length - 1 ? undefined : { digest: id.slice(0, at), callId: id.slice(at + 1) }
}

function textIn(output: ToolOutput): string {
  return typeof output === 'string' ? output : textOf({ role: 'user', content: output })
}

/** Model and tokens of a reply. */
export function metadataOf(rows: Iterable<Row>): UIMetadata {
  let model: string | undefined
  let sum: UIUsage | undefined
  for (const row of rows) {
    if (row.kind !== 'answer') continue
    model = row.model ?? model
    if (!row.usage) continue
    const { input, output, cacheRead = 0, cacheCreation = 0, cost } = row.usage
    const { inputTokens = 0, outputTokens = 0, cachedInputTokens = 0 } = sum ?? {}
    const all = { in: inputTokens + input + cacheRead + cacheCreation, out: outputTokens + output }
    const cached = cachedInputTokens + cacheRead
    const dollars = cost === undefined ? sum?.cost : (sum?.cost ?? 0) + cost
    sum = {
      ...{ inputTokens: all.in, outputTokens: all.out, totalTokens: all.in + all.out },
      ...(cached > 0 && { cachedInputTokens: cached }),
      ...(dollars !== undefined && { cost: dollars }),
    }
  }
  return { ...(model !== undefined && { model }), ...(sum && { usage: sum }) }
}
