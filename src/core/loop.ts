import { AgentAbortedError, printable } from './errors.ts'
import type { HookContexts } from './hook-map.ts'
import { deliverInbox, tellTurns } from './inbox.ts'
import { continueNote } from './interrupted-turn.ts'
import { askModel } from './model-call.ts'
import type { Run } from './run.ts'
import { runToolBatch } from './tool-batch.ts'

/** How the loop ended, unless it threw. */
interface LoopEnd {
  readonly status: 'completed' | 'suspended'
  readonly stopReason: string
}

/**
 * Takes turns until there is nothing left to do. The next step is always read from the log and never remembered here, so
 * a run that continues after a crash or a suspension is a run like any other.
 */
export async function runLoop(run: Run): Promise<LoopEnd> {
  const { transcript } = run.log
  const hasNothingToAnswer = transcript.isAnswered || transcript.turns.length === 0
  if (hasNothingToAnswer && !(await prepareNextTurn(run, { turnId: '', isDone: true }))) return completed(run)
  if (!hasNothingToAnswer) await deliverWaiting(run)
  let turn: Turn
  do {
    throwIfCancelled(run)
    if (!transcript.openTurn && run.progress.turn >= run.settings.behavior.maxTurns)
      return { status: 'completed', stopReason: 'max_turns' }
    turn = await takeTurn(run)
    if (turn.suspended !== undefined) return { status: 'suspended', stopReason: turn.suspended }
    throwIfCancelled(run)
  } while (await prepareNextTurn(run, turn))
  throwIfCancelled(run)
  return completed(run)
}

/** A run without a prompt first delivers the messages that wait in the session. */
async function deliverWaiting(run: Run): Promise<void> {
  const { transcript } = run.log
  if (transcript.openTurn || transcript.turns.at(-1)?.runId === run.id) return
  const messages = run.inbox.waitingAtStart()
  const notes = messages.length === 0 && transcript.isInterrupted ? [continueNote] : []
  if (messages.length > 0 || notes.length > 0) await deliverInbox(run, messages, notes)
}

interface Turn {
  readonly turnId: string
  /** The model made no calls. */
  readonly isDone: boolean
  /** The reason for which the run has to be suspended. */
  readonly suspended?: string
}

/** One turn: the model replies, and every call in the reply is answered. */
async function takeTurn(run: Run): Promise<Turn> {
  const turn = run.log.transcript.openTurn ?? (await askModel(run))
  const turnId = turn.id
  if (!run.log.transcript.openTurn) return { turnId, isDone: true }

  const suspended = await runToolBatch(run, turn)
  if (suspended !== undefined) return { turnId, isDone: false, suspended }

  const resultTurn = run.log.transcript.turns.at(-1)!
  if (run.hooks.has('tool-results:after')) {
    await run.hooks.tell('tool-results:after', { turnId, assistantTurn: turn, resultTurn })
  }
  await tellTurns(run, resultTurn)
  return { turnId, isDone: false }
}

/**
 * Delivers what comes next: steering, or follow-ups once the model is done, and notes of extensions. Extensions decide
 * last whether the run stops. Returns whether to take another turn.
 */
async function prepareNextTurn(run: Run, { turnId, isDone }: Turn): Promise<boolean> {
  // A message that is still being written was accepted: the run must not end without it.
  if (isDone) await run.log.flushed()
  let messages = run.inbox.next(isDone)
  const { turn } = run.progress
  const next: HookContexts['turn:next'] = { turnId, turn, stop: isDone && messages.length === 0, add: [] }
  if (run.hooks.has('turn:next')) await run.hooks.ask('turn:next', next)
  if (next.error !== undefined) throw next.error
  // Messages may have arrived while the extensions were asked.
  if (next.stop) await run.log.flushed()
  if (next.stop) messages = run.inbox.next(isDone)
  const notes = Array.isArray(next.add) ? next.add.map(printable).filter((note) => note !== '') : []
  if (messages.length === 0 && notes.length === 0) return !next.stop

  await deliverInbox(run, messages, notes)
  return true
}

const completed = (run: Run): LoopEnd => ({ status: 'completed', stopReason: run.result.stopReason })

function throwIfCancelled({ cancellation }: Run): void {
  if (cancellation.isCancelled) throw new AgentAbortedError('The run was aborted', { cause: cancellation.reason })
}
