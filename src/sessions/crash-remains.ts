import type { EntryBody, LogEntry } from '../core/log.ts'
import { abortedResult, syntheticResult } from '../core/tool-result.ts'
import { isProgress, type RunRecord, type Transcript } from '../core/transcript.ts'
import type { ToolCallBlock } from '../core/turn.ts'
import type { CommandsOf } from './left-commands.ts'

/** Crashes in a row after which a session that got nowhere is not tried any more. */
const mostCrashes = 3

/**
 * What the log has to say about a process that died over it. Of an opaque call that had begun we cannot know what it
 * did, and say so; pure and keyed calls stay open and run again, as do those that never began. A run that was cut off
 * by its store, in a process that lives, is no crash; one that was told to stop is not gone on with.
 */
export function leftBehind(
  transcript: Transcript,
  { wasCutOff = false, commandsOf }: { wasCutOff?: boolean; commandsOf?: CommandsOf | undefined } = {},
): EntryBody[] {
  const run = transcript.activeRun
  if (!run) return []
  const lost = transcript.openCalls.filter(
    ({ id }) => transcript.wasInterrupted(id) && transcript.startOf(id)?.replay === 'opaque',
  )
  const results = lost.map(({ id }) => syntheticResult(id, 'unknown', commandsOf?.(id)))
  if (run.stopSeq !== undefined) return [...results, ...stoppedOver(transcript, run.id, run.stopSeq, lost)]
  const stop = wasCutOff ? 'error' : 'crashed'
  const ended: EntryBody = { type: 'run_ended', runId: run.id, status: 'error', stop }
  const crashes = transcript.crashes + 1
  if (wasCutOff || crashes < mostCrashes) return [...results, ended]
  const reason = `its process ended ${crashes} times in a row without getting anywhere`
  return [...results, ended, { type: 'parked', reason }]
}

/** As the run would have ended by itself, had its process lived a moment longer. */
function stoppedOver(
  transcript: Transcript,
  runId: string,
  stoppedAt: number,
  lost: readonly ToolCallBlock[],
): EntryBody[] {
  const others = transcript.openCalls
    .filter((call) => !lost.includes(call))
    .map(({ id }) => abortedResult(transcript, id))
  return [...others, { type: 'run_ended', runId, status: 'aborted', stop: 'aborted', stoppedAt }]
}

/** Whether something was achieved in one of these logs while a run was under way. */
export function gotOn(logs: readonly (readonly LogEntry[])[], run: RunRecord | undefined): boolean {
  return logs.some((log) => log.some((entry) => run !== undefined && entry.at >= run.startedAt && isProgress(entry)))
}
