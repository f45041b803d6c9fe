import type { Row } from '../libero.ts'
import { outputText } from '../model/rows-with.ts'
import type { SessionModel } from '../model/session-model.ts'
import { wholeRow } from '../model/whole-row.ts'
import { textOf } from './message-view.tsx'

/** A message of the person and all that came after it, each with its speaker, as the log has it. */
export async function turnText(session: SessionModel, id: string): Promise<string> {
  const { rows } = session.state.view
  let at = rows.length - 1
  while (at > 0 && rows.at(at)!.id !== id) at--
  while (at > 0 && !isPrompt(rows.at(at)!)) at--
  const texts: string[] = []
  for (let i = at; i < rows.length && (i === at || !isPrompt(rows.at(i)!)); i++)
    texts.push(spoken(await wholeRow(session, rows.at(i)!)))
  return texts.filter((text) => text !== '').join('\n\n')
}

const isPrompt = (row: Row): boolean => row.kind === 'message' && row.isNote !== true

function spoken(row: Row): string {
  switch (row.kind) {
    case 'message':
      return `User:\n${textOf(row.content)}`
    case 'answer':
      return row.text === '' ? '' : `Assistant:\n${row.text}`
    case 'call':
      return `Tool ${row.name}: ${JSON.stringify(row.input)}\n${row.result ? outputText(row.result.output) : ''}`.trim()
    default:
      return ''
  }
}
