import { once } from 'node:events'
import { messageOf } from '../../core/errors.ts'
import { fullyVisible, visibleName } from '../../platform/visible-text.ts'
import type { AgentInstanceMessage, AgentState } from '../../plugins/message.ts'
import { createPaint, hasColours } from '../../tui/terminal/paint.ts'
import type { WorkflowUpdate } from '../../workflow/listeners.ts'
import { messageLines } from '../agents/message-lines.ts'
import { type OpenedWorkflow, openWorkflow } from '../agents/open-workflow.ts'
import { waitingLines } from '../agents/pending-calls.ts'
import { exitCodes } from '../cli-error.ts'
import type { WorkValues } from '../commands/run.ts'
import type { Io } from '../io.ts'
import { untilUnread } from '../until-stopped.ts'
import { localTime, nextWords } from './schedule-text.ts'

/** `libero schedules run`: wakes agents on schedule and prints what they do, until Ctrl-C. */
export async function run({ values }: { readonly values: WorkValues }, io: Io): Promise<number> {
  const onError = (error: Error): void => {
    const why = error.cause === undefined ? '' : `: ${messageOf(error.cause)}`
    io.err(`${now()}  ${fullyVisible(`${error.message}${why}`.slice(0, 600))}`)
  }
  const waking = new WakingState()
  const opened = await openWorkflow(io, { work: values, onError, onWaking: () => waking.begin() })
  try {
    for (const notice of [...opened.notices, ...opened.definitions.problems]) io.err(notice)
    const exitCode = await untilUnread(io, (signal) => wakeUntilStopped(opened, io, { signal, waking }))
    if (exitCode === exitCodes.interrupted)
      io.err('Stopped. Schedules that become due meanwhile run at the next start.')
    return exitCode === exitCodes.interrupted ? exitCodes.done : exitCode
  } finally {
    await opened.close()
  }
}

/** Whether this process is the one that wakes agents. */
class WakingState {
  isBegun = false
  /** Called when it takes over from another process. */
  onTakeOver: (() => void) | undefined

  begin(): void {
    this.isBegun = true
    this.onTakeOver?.()
  }
}

interface WakingOptions {
  readonly signal: AbortSignal
  readonly waking: WakingState
}

async function wakeUntilStopped(
  { workflow, modelOf }: OpenedWorkflow,
  io: Io,
  { signal, waking }: WakingOptions,
): Promise<void> {
  const model = fullyVisible(modelOf()?.name ?? '')
  const print = reporter(workflow, io)
  const off = workflow.subscribe(undefined, print)
  try {
    await workflow.start()
    const all = await workflow.schedules.list()
    const [next] = all
      .flatMap((one) => (one.nextRunAt === undefined ? [] : [one]))
      .sort((a, b) => a.nextRunAt! - b.nextRunAt!)
    if (!waking.isBegun)
      io.err(
        'Another program already wakes agents (libero schedules run, or one of yours); this one takes over when it ends.',
      )
    else io.err(`Waking agents with ${model}; Ctrl-C ends it.`)
    waking.onTakeOver = () => io.err(`${now()}  The other program has ended: this one now wakes agents, with ${model}.`)
    io.err(
      `${all.length} ${all.length === 1 ? 'schedule' : 'schedules'}${next ? `; the next one ${nextWords(next, Date.now())}: ${fullyVisible(next.id)}` : ''}`,
    )
    if (!signal.aborted) await once(signal, 'abort')
  } finally {
    off()
  }
}

/** Prints messages on stdout, each once with its agent, and status changes on stderr. */
function reporter(workflow: OpenedWorkflow['workflow'], io: Io): (update: WorkflowUpdate) => void {
  const paint = createPaint({ colours: hasColours(io.stdout, io.env) })
  const begunAt = Date.now()
  const seen = new Set<string>()
  const print = (message: AgentInstanceMessage): void => {
    const { id, agentId, created = 0, metadata } = message
    if (metadata?.isComplete === false || seen.has(id) || created < begunAt) return
    seen.add(id)
    const lines = messageLines(message, { paint, cwd: io.cwd, isFull: false }).filter((line) => line !== '')
    for (const line of lines) io.out(`${paint.dim(visibleName(agentId))}  ${line}`)
  }
  return (update) => {
    if (update.type === 'message') print(update.message)
    if (update.type !== 'status') return
    const { state } = update.status
    io.err(`${now()}  ${visibleName(update.agentId)}: ${stateLabels[state]}`)
    if (state === 'input-required') void sayWaiting(workflow, update.agentId, io)
  }
}

const stateLabels: Readonly<Record<AgentState, string>> = {
  submitted: 'has work to do',
  working: 'working',
  'input-required': 'waits for you',
  completed: 'done',
  canceled: 'stopped',
  failed: 'failed',
  unknown: 'unknown',
}

async function sayWaiting({ pending }: OpenedWorkflow['workflow'], agentId: string, io: Io): Promise<void> {
  const waiting = await pending(agentId).catch(() => [])
  for (const call of waiting) for (const line of waitingLines(call, agentId, waiting)) io.err(line)
}

const now = (): string => localTime(Date.now())
