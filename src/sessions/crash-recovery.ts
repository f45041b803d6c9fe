import type { EntryBody, LogEntry } from '../core/log.ts'
import { abortedResult, interruptedResult } from '../core/tool-result.ts'
import { isProgress, type Transcript } from '../core/transcript.ts'
import type { ToolCallBlock } from '../core/turn.ts'

/** After this many crashes in a row without progress, a session is parked. */
const maxCrashes = 3
/**
 * The same for a suspect, a session that also crashed among others. Where such processes die, something else may be ending them:
 * of 5,700 takeovers after 300 random kills, one session was killed three times while it ran alone.
 */
export const maxCrashesOfSuspect = 5
/**
 * The same if the process lives, and its store failed after the model had been asked. The store may have been away; but if it refuses one
 * entry for ever, each attempt costs another reply of the model.
 */
const maxLostReplies = 5

/**
 * The entries to append when a process died during a run. An opaque call that had begun gets a result that says its
 * outcome is unknown. Pure and keyed calls, and calls that had not begun, stay open and run again. A run that was asked to
 * stop is not resumed.
 */
export function crashEntries(
  transcript: Transcript,
  { hasStoreFailed = false, sessionCountOfDeadProcess = 1, describeLeftoverCommands }: CrashFacts = {},
): EntryBody[] {
  const run = transcript.activeRun
  if (!run) return []
  const interrupted = transcript.openCalls.filter(
    ({ id }) => transcript.isUnderWay(id) && transcript.lastStartOf(id)?.replay === 'opaque',
  )
  const results = interrupted.map(({ id }) => interruptedResult(id, describeLeftoverCommands?.(id)))
  if (run.stopSeq !== undefined) return [...results, ...stoppedEntries(transcript, run.id, run.stopSeq, interrupted)]
  const hasLostReply = hasStoreFailed && run.hasAskedModel === true
  const stop = hasLostReply ? 'store_failed' : hasStoreFailed ? 'error' : 'crashed'
  const isShared = !hasStoreFailed && sessionCountOfDeadProcess > 1
  const shared = isShared && { sharedCrash: sessionCountOfDeadProcess }
  const ended: EntryBody = { type: 'run_ended', runId: run.id, status: 'error', stop, ...shared }
  const crashes = transcript.crashes + 1
  const most = hasLostReply ? maxLostReplies : maxCrashes
  if (isShared || stop === 'error' || crashes < most) return [...results, ended]
  const what = hasLostReply ? 'its store failed' : 'its process ended'
  const reason = `${what} ${crashes} times in a row without getting anywhere`
  return [...results, ended, { type: 'parked', reason }]
}

interface CrashFacts {
  /** The run ended because its store failed, in a process that still lives. */
  readonly hasStoreFailed?: boolean
  /** How many sessions the dead process held. If it held several, it is unknown which of them caused the crash. */
  readonly sessionCountOfDeadProcess?: number | undefined
  readonly describeLeftoverCommands?: DescribeLeftoverCommands | undefined
}

/** Ends a run that was asked to stop, as the run itself would have done. */
function stoppedEntries(
  transcript: Transcript,
  runId: string,
  stoppedAt: number,
  interrupted: readonly ToolCallBlock[],
): EntryBody[] {
  const others = transcript.openCalls
    .filter((call) => !interrupted.includes(call))
    .map(({ id }) => abortedResult(transcript, id))
  return [...others, { type: 'run_ended', runId, status: 'aborted', stop: 'aborted', stoppedAt }]
}

/** Whether a log, read from its end, has made progress since a time. */
export async function madeProgress(entries: AsyncIterable<LogEntry>, since: number): Promise<boolean> {
  for await (const entry of entries) {
    if (entry.at < since) return false
    if (isProgress(entry)) return true
  }
  return false
}

/** Describes to the model what became of the commands that an interrupted call left running. */
type DescribeLeftoverCommands = (callId: string) => string

/** Ends the processes that commands of a dead process left running on this machine. `undefined` if processes cannot be inspected. */
export async function endLeftoverCommands({ runs }: Transcript): Promise<DescribeLeftoverCommands | undefined> {
  if (typeof process === 'undefined' || process.platform !== 'linux') return undefined
  const { endCallProcesses } = await import('../platform/leftover-processes.ts')
  const leftovers = await endCallProcesses(runs.map(({ id }) => id))
  if (!leftovers) return undefined
  return (callId) => {
    const { isEnded, startedBy, commands } = leftovers.of(callId) ?? {}
    if (isEnded === undefined) return 'No command of it was found running on this machine.'
    if (!isEnded) return `Its command is still running, under process ${startedBy} of this machine; it was left alone.`
    return `Its command was still running, and was ended now: ${commands?.join('; ')}`
  }
}
