import { AgentAbortedError, printable } from './errors.ts'
import type { HookContexts } from './hook-map.ts'
import { deliverInbox, fireSessionTurns } from './inbox.ts'
import { continueNote } from './interruption-note.ts'
import { askModel } from './model-call.ts'
import type { Run } from './run.ts'
import { runToolBatch } from './tool-batch.ts'

/** How the loop ended, unless it threw. */
interface LoopEnd {
  readonly status: 'completed' | 'suspended'
  readonly stopReason: string
}

/**
 * Takes steps until there is nothing left to do. What to do next is always read from the log and never remembered here,
 * so a run that continues after a crash or a suspension is a run like any other.
 */
export async function runLoop(run: Run): Promise<LoopEnd> {
  const { transcript } = run.log
  if (run.result.isDone) return completed(run) // an extension has set the result while the run started
  if (transcript.turns.length > 0 && !transcript.isAnswered) await deliverBeforeFirstReply(run)
  else if (!(await prepareNextStep(run, noStep))) return completed(run)
  let step: StepOutcome
  do {
    throwIfCancelled(run)
    if (!transcript.turnWithOpenCalls && isAtTurnLimit(run)) return { status: 'completed', stopReason: 'max_turns' }
    step = await takeStep(run)
    throwIfCancelled(run)
    if (step.suspendReason !== undefined) return { status: 'suspended', stopReason: step.suspendReason }
  } while (await prepareNextStep(run, step))
  throwIfCancelled(run)
  return completed(run)
}

/** Delivers waiting messages or, after an interrupted reply, a note to continue. Does nothing if the run has a prompt or open calls. */
async function deliverBeforeFirstReply(run: Run): Promise<void> {
  const { transcript } = run.log
  const hasOwnPrompt = transcript.turns.at(-1)?.runId === run.id // at its start, a run has logged no other turn than its prompt
  if (transcript.turnWithOpenCalls || hasOwnPrompt) return
  const messages = run.inbox.waitingAtStart()
  const notes = messages.length === 0 && transcript.isInterrupted ? [continueNote] : []
  if (messages.length > 0 || notes.length > 0) await deliverInbox(run, messages, notes)
}

interface StepOutcome {
  /** The id of the model's turn. */
  readonly turnId: string
  /** The model made no calls. */
  readonly isModelDone: boolean
  /** Why the run must be suspended; absent if it goes on. */
  readonly suspendReason?: string
}

/** Stands for the previous step when a run starts with a conversation that is empty or already answered: a follow-up may then be delivered, as after a step in which the model was done. */
const noStep: StepOutcome = { turnId: '', isModelDone: true }

/** One step: a reply of the model (one turn) and the results of its calls (another turn). If the log has open calls, the step is only their results. */
async function takeStep(run: Run): Promise<StepOutcome> {
  const turn = run.log.transcript.turnWithOpenCalls ?? (await askModel(run))
  const turnId = turn.id
  if (!run.log.transcript.turnWithOpenCalls) return { turnId, isModelDone: true }
  const suspendReason = await runToolBatch(run, turn)
  if (suspendReason !== undefined) return { turnId, isModelDone: false, suspendReason }

  const resultTurn = run.log.transcript.turns.at(-1)!
  if (run.hooks.has('tool-results:after'))
    await run.hooks.tell('tool-results:after', { turnId, assistantTurn: turn, resultTurn })
  await fireSessionTurns(run, resultTurn)
  return { turnId, isModelDone: false }
}

/** Delivers steering or, if the model is done, a follow-up, with notes of extensions. Returns whether the loop goes on. */
async function prepareNextStep(run: Run, { turnId, isModelDone }: StepOutcome): Promise<boolean> {
  // A message may still be on its way into the log. Its sender may rely on the delivery, so the run must not end without it.
  if (isModelDone) await run.log.flushed()
  let messages = run.inbox.nextAfterStep({ isModelDone })
  const stop = isModelDone && messages.length === 0
  const next: HookContexts['turn:next'] = { turnId, turn: run.progress.turnNumber, stop, add: [] }
  if (run.hooks.has('turn:next')) await run.hooks.ask('turn:next', next)
  if (next.error !== undefined) throw next.error
  // The inbox may have changed meanwhile. If the run would end now, a message that has just come is delivered. Else it waits for the next step.
  if (next.stop) await run.log.flushed()
  messages = next.stop ? run.inbox.nextAfterStep({ isModelDone }) : run.inbox.stillWaiting(messages)
  const notes = Array.isArray(next.add) ? next.add.map(printable).filter((note) => note !== '') : []
  // If the run was to go on only because of a message, and that was withdrawn, the handlers are asked again, with `stop: true`.
  if (messages.length === 0 && notes.length === 0)
    return isModelDone && !stop && !next.stop ? prepareNextStep(run, { turnId, isModelDone }) : !next.stop
  // At the turn limit messages wait for the next run, and notes, which would be out of date by then, are dropped.
  if (!isAtTurnLimit(run)) await deliverInbox(run, messages, notes)
  return true
}

const isAtTurnLimit = ({ progress, settings }: Run): boolean => progress.turnNumber >= settings.behavior.maxTurns
const completed = (run: Run): LoopEnd => ({ status: 'completed', stopReason: run.result.stopReason })

function throwIfCancelled({ cancellation }: Run): void {
  if (cancellation.isCancelled) throw new AgentAbortedError('The run was aborted', { cause: cancellation.reason })
}
