import type { Agent } from '../../core/agent.ts'
import type { RunOptions } from '../../core/run.ts'
import { writeLines } from '../../rpc/write-lines.ts'
import { ZotProjection } from '../../rpc/zot-projection.ts'
import { exitCodes } from '../cli-error.ts'
import type { Output } from '../io.ts'
import { exitCodeOf, outcomeOf } from '../run/run-outcome.ts'
import { followPaced, holdBack } from './slow-reader.ts'

interface JsonRun {
  /** Assembled and not running yet; the caller destroys it. */
  readonly agent: Agent
  readonly run: RunOptions
  /** For frames only. The run waits for a slow reader; a reader that closes it aborts the run. */
  readonly stdout: Pick<Output, 'write' | 'on'>
}

/** Runs once and writes zot's events without responses. Resolves with the exit code when all is written. */
export async function runJson({ agent, run, stdout }: JsonRun): Promise<number> {
  const projection = new ZotProjection({ isOneShot: true })
  const writer = writeLines(stdout as Parameters<typeof writeLines>[0], { onClosed: () => agent.abort() })
  const ready = (): Promise<void> | undefined => writer.ready()
  const release = holdBack(agent, ready)
  const unfollow = followPaced(agent, ready, (event) => {
    for (const frame of projection.framesFor(event)) writer.write(frame)
  })
  try {
    const outcome = await outcomeOf(agent.run(run))
    for (const frame of projection.end(outcome)) writer.write(frame)
    await writer.drained()
    return writer.isClosed ? exitCodes.closed : exitCodeOf(outcome)
  } finally {
    unfollow()
    release()
  }
}
