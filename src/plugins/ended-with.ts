import type { Session } from '../core/store.ts'
import { toolResultToText } from '../core/tool-output.ts'
import { marksOf } from './tool-marks.ts'

/** The result with which a call ended the work of an agent for good; nothing where it has not, or was spoken to since. */
export async function endedWith(session: Session): Promise<string | undefined> {
  if (session.log.transcript.openCalls.length > 0) return undefined
  const [entries = []] = await session.tree()
  const lastTurn = entries.findLastIndex(({ type }) => type === 'turn')
  const results = entries
    .slice(lastTurn + 1)
    .flatMap((entry) => (entry.type === 'call_result' ? [{ ...entry, ...marksOf(entry.details) }] : []))
  if (results.some(({ leavesTo }) => leavesTo === 'human')) return undefined
  const last = results.findLast(({ leavesTo, isError }) => leavesTo === 'end' && !isError)
  return last && toolResultToText(last.output)
}
