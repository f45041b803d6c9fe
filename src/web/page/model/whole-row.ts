import type { CallRow, LogEntry, MessageRow, Row } from '../libero.ts'
import { resultIn } from './cut-entry.ts'
import type { SessionModel } from './session-model.ts'

/** A row as the log has it: what the page keeps short is read again. */
export async function wholeRow(session: SessionModel, row: Row): Promise<Row> {
  if (row.kind === 'message') return session.isCut(row.seq) ? { ...row, content: await contentOf(session, row) } : row
  if (row.kind !== 'call') return row
  const { id, seq, result } = row
  const input = session.isCut(seq) ? inputIn(await session.entry(seq), id) : undefined
  const end = result && session.isCut(result.seq) ? resultIn(await session.entry(result.seq)) : undefined
  return { ...row, ...(input && { input }), ...(end && { result: end }) }
}

/** A turn may deliver several messages: each is a part of its content, in their order. */
async function contentOf(
  session: SessionModel,
  { seq, turnId, id, content }: MessageRow,
): Promise<MessageRow['content']> {
  const entry = await session.entry(seq)
  if (entry.type !== 'turn') return content
  let from = 0
  for (const row of session.state.view.rows) {
    if (row.kind !== 'message' || row.turnId !== turnId) continue
    if (row.id === id) break
    from += row.content.length
  }
  return entry.turn.content.slice(from, from + content.length)
}

/** The arguments of a call, in the entry of the reply that made it. */
export function inputIn(entry: LogEntry | undefined, callId: string): CallRow['input'] | undefined {
  if (entry?.type !== 'turn') return undefined
  const block = entry.turn.content.find((one) => one.type === 'tool_call' && one.id === callId)
  return block?.type === 'tool_call' ? block.input : undefined
}
