import { AgentAbortedError, printable } from './errors.ts'
import type { HookContexts } from './hook-map.ts'
import { deliverInbox, tellTurns } from './inbox.ts'
import { goOnNote } from './interrupted-turn.ts'
import { askModel } from './model-call.ts'
import type { Run } from './run.ts'
import { runToolBatch } from './tool-batch.ts'

/** How a loop came to its end by itself. */
export interface Ending {
  readonly status: 'completed' | 'suspended'
  readonly stopReason: string
}

/**
 * Takes turns until there is nothing left to do. What comes next is read from the log and never remembered here, so a
 * run that goes on after a crash or a suspension is a run like any other.
 */
export async function runLoop(run: Run): Promise<Ending> {
  const { transcript } = run.log
  const hasNothingToAnswer = transcript.isAnswered || transcript.turns.length === 0
  if (hasNothingToAnswer && !(await nextStep(run, { turnId: '', isDone: true }))) return completed(run)
  if (!hasNothingToAnswer) await deliverWaiting(run)
  let turn: Turn
  do {
    stopIfAborted(run)
    if (!transcript.openTurn && run.progress.turn >= run.settings.behavior.maxTurns)
      return { status: 'completed', stopReason: 'max_turns' }
    turn = await takeTurn(run)
    if (turn.suspended !== undefined) return { status: 'suspended', stopReason: turn.suspended }
    stopIfAborted(run)
  } while (await nextStep(run, turn))
  stopIfAborted(run)
  return completed(run)
}

/** What waits for the session comes before the model is asked, where the run has no prompt of its own. */
async function deliverWaiting(run: Run): Promise<void> {
  const { transcript } = run.log
  if (transcript.openTurn || transcript.turns.at(-1)?.runId === run.id) return
  const letters = run.inbox.waitingAtStart()
  const notes = letters.length === 0 && transcript.isInterrupted ? [goOnNote] : []
  if (letters.length > 0 || notes.length > 0) await deliverInbox(run, letters, notes)
}

interface Turn {
  readonly turnId: string
  /** The model asked for nothing more. */
  readonly isDone: boolean
  readonly suspended?: string
}

/** One turn: what the model says, and an answer to every call it makes. */
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

/** Steering first, then the model's own end, then follow-ups; extensions have the last word. True: take another turn. */
async function nextStep(run: Run, { turnId, isDone }: Turn): Promise<boolean> {
  // A message whose write is still under way was accepted: wait for it rather than end without it.
  if (isDone) await run.log.flushed()
  let letters = run.inbox.next(isDone)
  const next: HookContexts['turn:next'] = {
    turnId,
    turn: run.progress.turn,
    stop: isDone && letters.length === 0,
    add: [],
  }
  if (run.hooks.has('turn:next')) await run.hooks.ask('turn:next', next)
  if (next.error !== undefined) throw next.error
  // Extensions may have taken their time: what was accepted meanwhile keeps the run alive too.
  if (next.stop) await run.log.flushed()
  if (next.stop) letters = run.inbox.next(isDone)
  const notes = Array.isArray(next.add) ? next.add.map(printable).filter((note) => note !== '') : []
  if (letters.length === 0 && notes.length === 0) return !next.stop

  await deliverInbox(run, letters, notes)
  return true
}

const completed = (run: Run): Ending => ({ status: 'completed', stopReason: run.result.stopReason })

function stopIfAborted(run: Run): void {
  if (run.cancellation.isCancelled)
    throw new AgentAbortedError('The run was aborted', { cause: run.cancellation.reason })
}
