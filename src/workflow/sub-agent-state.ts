import { isChildOf } from '../core/fork.ts'
import type { LogEntry } from '../core/log.ts'
import { Transcript } from '../core/transcript.ts'
import { LogViews } from '../plugins/log-views.ts'
import { yieldEntry } from '../plugins/yield-note.ts'
import type { Directory } from './directory.ts'

/** What the log of a sub-agent amounts to, together with what became of the call that began it. */
export async function readSubAgent(
  directory: Directory,
  agentId: string,
  resultDuration: number | null,
): Promise<LogViews> {
  const views = new LogViews(agentId, resultDuration)
  const entries = await directory.entries(agentId)
  for (const entry of entries) views.apply(entry)
  const { state } = views.messages.status
  const mayGoOn = state === 'input-required' || state === 'working' || state === 'submitted'
  const at = mayGoOn ? await leftBehindAt(directory, entries, resultDuration) : undefined
  // Nobody writes that into its log: whoever cancels an agent would have to write all logs below it.
  if (at !== undefined) views.apply({ ...yieldEntry('canceled'), seq: views.head + 1, id: `${agentId}.left`, at })
  return views
}

/** Since when nobody goes on with it, because its parent is cancelled or closed, or has done without the call. */
async function leftBehindAt(
  directory: Directory,
  entries: readonly LogEntry[],
  resultDuration: number | null,
): Promise<number | undefined> {
  const parent = entries.findLast((entry) => entry.type === 'run_started')?.parent
  if (parent?.session === undefined) return undefined
  const { session, callId } = parent
  const above = await directory.entries(session)
  const last = above.at(-1)
  if (!last) return undefined
  const transcript = new Transcript()
  for (const entry of above) transcript.apply(entry)
  const result = above.findLast((entry) => entry.type === 'call_result' && entry.callId === callId)
  if (!transcript.openCalls.some(({ id }) => isChildOf(callId, id))) {
    if (result?.type === 'call_result' && result.outcome === 'done') return undefined
    return (result ?? last).at
  }
  const instance = await directory.get(session)
  if (!instance) return undefined
  // A parent may itself be a sub-agent.
  const { status } = (await readSubAgent(directory, session, resultDuration)).messages
  return instance.closed || status.state === 'canceled' ? status.modified : undefined
}
