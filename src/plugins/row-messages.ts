import { isRecord } from '../core/is-record.ts'
import { toolResultToText } from '../core/tool-output.ts'
import type { PersistentList } from '../view/persistent-list.ts'
import type { AnswerRow, CallResultView, CallRow, MessageRow, NoticeRow, Row } from '../view/rows.ts'
import { readAttachments } from './attachments.ts'
import type { AgentInstanceMessage, MessageCall } from './message.ts'
import type { HandlerMessage } from './yield-note.ts'

/** The fields of a message that do not depend on its place in the list. */
export type MessageBody = Pick<AgentInstanceMessage, 'role' | 'content'> & Partial<AgentInstanceMessage>

/** A message of a session, with the log entry that it comes from. */
interface SessionMessage {
  readonly seq: number
  readonly message: MessageBody & { readonly id: string }
}

/** The messages that a row of a session is shown as. A call is part of the answer that made it, and has a result. */
export function messagesOfRow(rows: PersistentList<Row>, at: number): readonly SessionMessage[] {
  const row = rows.at(at)
  switch (row?.kind) {
    case 'message':
      return [{ seq: row.seq, message: { id: row.id, created: row.at, ...userMessage(row) } }]
    case 'answer':
      return [answerMessage(row, callsAfter(rows, at))]
    case 'call': {
      let first = at
      while (rows.at(first)?.kind === 'call') first--
      const answer = rows.at(first)
      const of =
        answer?.kind === 'answer' && answer.id === row.turnId ? [answerMessage(answer, callsAfter(rows, first))] : []
      if (!row.result) return of
      const { seq, at: created } = row.result
      return [...of, { seq, message: { id: `${row.id}.result`, created, ...resultMessage(row, row.result) } }]
    }
    case 'notice': {
      const body = row.run && endMessage(row.run)
      return body ? [{ seq: row.seq, message: { id: `${row.run!.runId}.end`, created: row.at, ...body } }] : []
    }
    default:
      return []
  }
}

function answerMessage(row: AnswerRow, calls: readonly CallRow[]): SessionMessage {
  const { metadata, ...body } = modelMessage(row, calls)
  const message = { id: row.id, created: row.at, ...body, metadata: { ...metadata, isComplete: !row.isOpen } }
  return { seq: row.seq, message }
}

export function userMessage({ content, meta, isNote }: MessageRow): MessageBody {
  const { text, ...attached } = readAttachments(content)
  const metadata = { ...attached, ...(meta && { meta }) }
  return { role: 'user', content: text, metadata, ...(isNote && { hidden: true }) }
}

export function modelMessage({ text, thinking, isInterrupted }: AnswerRow, calls: readonly CallRow[]): MessageBody {
  const [first] = calls
  const called = first && {
    containsToolCall: true,
    callId: first.id,
    toolId: first.name,
    toolParameters: first.input,
    calls: calls.map(messageCall),
  }
  return {
    role: 'assistant',
    content: text,
    ...(thinking !== '' && { reasoning_content: thinking }),
    metadata: { ...called, ...(isInterrupted && { interrupted: true }) },
  }
}

/** A call as the message shows it that made it. */
export function messageCall({ id, name, input, result, waitsFor }: CallRow): MessageCall {
  return {
    ...{ callId: id, toolId: name, parameters: input },
    ...(result && { outcome: result.outcome }),
    ...(waitsFor && { waitsFor }),
  }
}

/** The calls of an answer are the rows after it. */
export function callsAfter(rows: PersistentList<Row>, index: number): readonly CallRow[] {
  const calls: CallRow[] = []
  for (let at = index + 1; ; at++) {
    const row = rows.at(at)
    if (row?.kind !== 'call') return calls
    calls.push(row)
  }
}

export function resultMessage(
  { id: callId, name, input }: CallRow,
  { output, details, isError }: CallResultView,
): MessageBody {
  return {
    role: 'tool',
    content: toolResultToText(output),
    metadata: {
      isToolResult: true,
      ...(isError && { isError }),
      toolId: name,
      callId,
      toolParameters: input,
      ...(details !== undefined && { details }),
      ...(isRecord(details) && 'questionId' in details && { askQuestionAnswered: true }),
    },
  }
}

export function handlerMessage({ role, content, errorDetail }: HandlerMessage): MessageBody {
  const failed = errorDetail && { metadata: { isError: true, errorDetail } }
  return { role, content, ...failed, duration: role === 'error' ? 1 : 0 }
}

/** The message with which a run ends that was stopped by a limit or failed; undefined for other runs. */
export function endMessage(
  { status, stop, error }: NonNullable<NoticeRow['run']>,
  rounds?: number,
): MessageBody | undefined {
  const limit = status === 'completed' ? reachedLimit(stop, rounds) : undefined
  if (limit !== undefined) {
    const content = `Stopped: ${limit}, and it was not done. Send a message to go on.`
    return { role: 'agent', content, metadata: {} }
  }
  if (status !== 'error' || stop === 'crashed') return undefined
  const { name = 'Error', message = 'the run failed', providerCode: code } = error ?? {}
  const errorDetail = { name, message, ...(code !== undefined && { code }) }
  return { role: 'error', content: message, metadata: { isError: true, errorDetail }, duration: 1 }
}

function reachedLimit(stop: string, rounds: number | undefined): string | undefined {
  if (stop === 'max_turns')
    return rounds === undefined
      ? 'the limit of rounds is reached'
      : `it took ${rounds} rounds, as many as maxIterations allows`
  return stop === 'budget' ? 'a limit of what it may use up is reached' : undefined
}
