import { fullyVisible } from '../../platform/visible-text.ts'
import type { AgentInstanceLatestStatus, AgentState } from '../../plugins/message.ts'
import { createScreen, type Screen } from '../../tui/one-shot/screen.ts'
import { createTerminal } from '../../tui/terminal/terminal.ts'
import type { PendingApproval } from '../../workflow/agent/pending-calls.ts'
import { statusText } from '../assembly/sandbox-status.ts'
import { CliError, exitCodes } from '../cli-error.ts'
import type { WorkValues } from '../commands/run.ts'
import type { Io } from '../io.ts'
import { type RunSupervisor, restoringTerminal, superviseRuns } from '../run/supervise-run.ts'
import type { TerminalUser } from '../run/terminal-user.ts'
import { timeIn } from '../schedules/schedule-text.ts'
import { isSchedulerRunning, noSchedulerNotice } from '../schedules/scheduler-state.ts'
import { jsonText } from '../text.ts'
import { askUntilAnswered } from './ask-person.ts'
import { type OpenedWorkflow, openWorkflow } from './open-workflow.ts'
import { waitingJson, waitingLines } from './pending-calls.ts'
import { usageSince, type WorkSpan } from './usage-since.ts'

/** An agent and the work to start; without `work`, the person is only asked about what the agent waits for. */
interface AgentTask {
  readonly agentId: string
  work?(): Promise<AgentInstanceLatestStatus>
  /** The call that was allowed, if any. */
  readonly allowed?: PendingApproval
}

interface WorkOptions {
  readonly values: WorkValues & { readonly json?: boolean }
  readonly io: Io
  begin(opened: OpenedWorkflow): Promise<AgentTask>
}

/** Runs an agent in the foreground, as `libero run` start: the answer goes to stdout, the rest to stderr. Ctrl-C stops it. */
export async function runAgent({ values, io, begin }: WorkOptions): Promise<number> {
  const terminal = createTerminal(io)
  const screen = createScreen({ terminal, cwd: io.cwd, ...(values.json && { isQuiet: true }) })
  let opened: OpenedWorkflow | undefined
  let task: AgentTask | undefined
  let person: TerminalUser | undefined
  const restoreTerminal = (): void => {
    person?.close()
    terminal.close()
  }
  const asking: Asking = {}
  const supervisor = superviseRuns(
    restoringTerminal(io, restoreTerminal),
    () => {
      // Nothing runs while a person is asked: Ctrl-C then only closes the question.
      if (asking.stop) asking.stop()
      else if (task) void opened?.workflow.cancelAgent(task.agentId).catch(() => {})
    },
    (text) => {
      if (!asking.stop) screen.notice(text) // closing a question stops nothing
    },
  )
  try {
    if (terminal.isInteractive && !values.json) {
      const { openTerminalUser } = await import('../run/terminal-user.ts')
      person = openTerminalUser({ io, cwd: io.cwd, terminal, screen, onInterrupt: supervisor.interrupt })
    }
    opened = await openWorkflow(io, {
      work: values,
      ...(person && { person: person.interactor }),
      onError: (error) =>
        screen.notice(`${error.message}${error.cause instanceof Error ? `: ${error.cause.message}` : ''}`, 'failure'),
    })
    for (const notice of opened.notices) screen.notice(notice, 'warning')
    if (opened.sandbox.notice !== undefined) screen.keepShowing('no sandbox')
    task = await begin(opened)
    const foreground = { io, screen, person, supervisor, asking }
    const outcome = await converse(opened, task, foreground)
    const finish = values.json ? printJson : conclude
    return await finish(opened, task.agentId, { ...foreground, ...outcome })
  } finally {
    screen.close()
    restoreTerminal()
    supervisor.close()
    await opened?.close()
  }
}

/** Closes the question that the person sees, while there is one. */
interface Asking {
  stop?: () => void
}

interface Foreground {
  readonly io: Io
  readonly screen: Screen
  readonly person: TerminalUser | undefined
  readonly supervisor: RunSupervisor
  readonly asking: Asking
}

interface Outcome {
  readonly status: AgentInstanceLatestStatus
  readonly span: WorkSpan
  /** Another process did the last part, or still works: it received the message, or the question was answered there. */
  readonly elsewhere: 'received' | 'answered' | undefined
  /** The call that was allowed last. */
  readonly allowed: PendingApproval | undefined
}

/** Works, and asks the person at the terminal about everything the agent waits for, until it waits for nothing. */
async function converse(
  opened: OpenedWorkflow,
  { agentId, work, allowed: allowedFirst }: AgentTask,
  { screen, person, supervisor, asking, io: { cwd } }: Foreground,
): Promise<Outcome> {
  const { workflow, modelOf, sandbox } = opened
  const chosen = modelOf((await workflow.getAgent(agentId))?.definitionId)
  const model = chosen && `${fullyVisible(agentId)}, ${fullyVisible(chosen.name)} (${chosen.why})`
  if (work && model) screen.notice(`${model}${statusText(sandbox)}`)
  let allowed: PendingApproval | undefined
  /** The last status in the log, from any process. */
  let lastStatus: AgentInstanceLatestStatus | undefined
  const unsubscribe = workflow.subscribe(agentId, (update) => {
    if (update.type === 'status') lastStatus = update.status
  })
  const unfollow = await workflow.follow(agentId, (event) => {
    // While a person is asked, another process may work on the agent and prints its output. Several runs may follow.
    if (!asking.stop && !(event.durable && event.entry.type === 'run_ended')) screen.show(event)
  })
  const expectCall = (call: PendingApproval | undefined): void => {
    allowed = call
    if (call?.sessionId !== agentId) return
    screen.expect([{ type: 'tool_call', id: call.callId, name: call.name, input: call.input }])
    screen.waitFor(undefined) // draws it
  }
  const since = Date.now()
  let elapsed = 0
  let elsewhere: Outcome['elsewhere']
  const working = async (
    start: () => Promise<AgentInstanceLatestStatus>,
    call: PendingApproval | undefined,
  ): Promise<AgentInstanceLatestStatus> => {
    const startedAt = performance.now()
    lastStatus = undefined
    expectCall(call)
    try {
      const status = await supervisor.during(start())
      elsewhere = status.state === 'submitted' ? 'received' : undefined
      return elsewhere && lastStatus && isOver(lastStatus) ? lastStatus : status
    } finally {
      elapsed += performance.now() - startedAt // without the time for answers of a person
    }
  }
  try {
    let status: AgentInstanceLatestStatus = work
      ? await working(work, allowedFirst)
      : { ...(await workflow.getStatus(agentId)), state: waits }
    while (person && status.state === waits && supervisor.exitCode === undefined) {
      const [call] = await workflow.pending(agentId)
      if (!call) break
      const closing = new AbortController()
      asking.stop = () => closing.abort()
      const question = { person: person.interactor, agentId, call, cwd, closing }
      const reply = await supervisor.during(askUntilAnswered(opened, question))
      delete asking.stop
      if (!reply || supervisor.exitCode !== undefined) break
      if (reply === 'answered') {
        elsewhere = reply
        const now = await workflow.getStatus(agentId).catch(() => status)
        status = { state: now.state === 'canceled' ? 'canceled' : 'submitted', modified: now.modified }
        break
      }
      status = await working(() => reply.give(workflow, agentId), reply.allowed)
    }
    return { status, span: { since, elapsed }, elsewhere, allowed }
  } finally {
    unfollow()
    unsubscribe()
  }
}

const waits = 'input-required' satisfies AgentState

const isOver = ({ state }: AgentInstanceLatestStatus): boolean =>
  state === 'completed' || state === 'failed' || state === 'canceled'

async function conclude(opened: OpenedWorkflow, agentId: string, ended: Foreground & Outcome): Promise<number> {
  const { io, screen, supervisor, status, span, elsewhere, allowed } = ended
  const { state, message } = status
  const waiting = state === 'input-required' ? await opened.workflow.pending(agentId) : []
  if (message?.role === 'tool' && state !== 'failed') screen.answer(message.content)
  if (!elsewhere) await sayCost(opened, agentId, { span, screen })
  screen.close()
  if (supervisor.error !== undefined) throw supervisor.error
  if (state === 'failed') throw await failure(status, io)
  if (state === 'submitted')
    io.err(`${elsewhereWords[elsewhere ?? 'received'](agentId)}; follow it with: libero agents watch ${agentId}`)
  if (message?.role === 'agent') io.err(fullyVisible(message.content))
  if (state === 'canceled')
    io.err(`The agent was stopped; continue with: libero agents send ${fullyVisible(agentId)} "…"`)
  if (waiting.some(({ approvalId }) => approvalId === allowed?.approvalId))
    io.err('It is asked again: what the call would run or write, or a rule, has changed since the request.')
  for (const call of waiting) for (const line of waitingLines(call, agentId, waiting)) io.err(line)
  if (state === 'completed') await sayWaking(opened, agentId, io)
  return supervisor.exitCode ?? exitCodeOf(status, waiting)
}

const elsewhereWords = {
  received: (agentId: string) => `Another program is working on ${agentId} and received the message`,
  answered: (agentId: string) => `${agentId} continues in another program`,
}

/** Prints the cost of this process' work, as at the end of a run. */
async function sayCost(
  { workflow, store, modelOf }: OpenedWorkflow,
  agentId: string,
  { span, screen }: { readonly span: WorkSpan; readonly screen: Screen },
): Promise<void> {
  const chosen = modelOf((await workflow.getAgent(agentId))?.definitionId)
  // If the log cannot be read again, the work has still succeeded.
  const stats = await usageSince(store, agentId, span).catch(() => undefined)
  if (stats && chosen) screen.end({ stats, provider: chosen.name, model: chosen.model })
}

/** Says when a schedule wakes the agent next, and whether a scheduler is running. */
async function sayWaking({ workflow, store }: OpenedWorkflow, agentId: string, io: Io): Promise<void> {
  const wakes = (await workflow.schedules.list(agentId)).flatMap(({ nextRunAt }) => nextRunAt ?? [])
  if (wakes.length === 0) return
  const isWoken = await isSchedulerRunning(store)
  io.err(`It wakes ${timeIn(Math.min(...wakes), Date.now())}.${isWoken ? '' : ` ${noSchedulerNotice}`}`)
}

/** Prints the outcome as JSON. The exit codes are the same. */
async function printJson({ workflow }: OpenedWorkflow, agentId: string, ended: Foreground & Outcome): Promise<number> {
  const { io, supervisor, status } = ended
  const { state, message } = status
  const waiting = await workflow.pending(agentId)
  const answer = message === undefined || message.role === 'error' ? null : message.content
  const error = message?.role === 'error' ? { error: message.content } : {}
  io.out(jsonText({ agentId, status: state, answer, ...error, pending: waiting.map(waitingJson) }))
  return supervisor.exitCode ?? exitCodeOf(status, waiting)
}

/** The exit code for the final status of an agent. */
function exitCodeOf({ state, message }: AgentInstanceLatestStatus, waiting: readonly PendingApproval[]): number {
  if (state === 'canceled') return exitCodes.interrupted
  if (state === 'failed') return exitCodes.error
  if (state === 'completed' && message?.role === 'agent') return exitCodes.budget
  return state === 'input-required' && waiting.length > 0 ? exitCodes.permission : exitCodes.done
}

/** The error without secrets that a provider's message may contain. */
async function failure({ message }: AgentInstanceLatestStatus, { env }: Io): Promise<CliError> {
  const { explainFailure } = await import('../explain-failure.ts')
  const said = message?.role === 'error' ? message.content : 'unknown reason'
  return new CliError(
    `the agent failed: ${explainFailure(new Error(said), { env: { ...env, LIBERO_DEBUG: '' } }).message}`,
  )
}
