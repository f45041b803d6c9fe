import { AgentAbortedError, messageOf } from '../../core/errors.ts'
import type { Session } from '../../core/store.ts'
import type { AgentStats } from '../../core/usage.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { RunOutcome } from '../../rpc/host.ts'
import type { RunEnding, Screen } from '../../tui/one-shot/screen.ts'
import type { Terminal } from '../../tui/terminal/terminal.ts'
import { CliError, exitCodes } from '../cli-error.ts'
import type { RunValues } from '../commands/run.ts'
import type { Io } from '../io.ts'
import { promptFacts } from '../sessions/prompt-facts.ts'
import { programName } from '../text.ts'
import type { OpenedAgent } from './open-agent.ts'
import type { RunResult } from './supervise-run.ts'

/** How a run ended, whether it resolved or was rejected. */
export async function outcomeOf(running: Promise<AgentStats>): Promise<RunOutcome> {
  try {
    const { status, stopReason } = await running
    return { status, stopReason }
  } catch (error) {
    if (error instanceof AgentAbortedError) return { status: 'aborted', stopReason: 'aborted' }
    return { status: 'error', stopReason: 'error', error: messageOf(error) }
  }
}

/** The exit code of a process whose last run ended this way. */
export function exitCodeOf({ status, stopReason }: RunOutcome): number {
  if (status === 'aborted' || status === 'left') return exitCodes.interrupted
  if (status === 'error') return exitCodes.error
  if (status === 'suspended') return exitCodes.permission
  return stopReason === 'budget' || stopReason === 'max_turns' ? exitCodes.budget : exitCodes.done
}

interface ConcludeOptions {
  readonly io: Io
  readonly screen: Screen
  readonly terminal: Terminal
  readonly values: RunValues
}

/** Shows how a run ended and returns the exit code. Throws a `CliError` that explains a failure. */
export async function concludeRun(
  { stats, error, exitCode }: RunResult,
  opened: OpenedAgent,
  { io, screen, terminal, values }: ConcludeOptions,
): Promise<number> {
  if (error === undefined && exitCode === exitCodes.done && values.schema !== undefined)
    terminal.answer(`${JSON.stringify(stats?.output ?? null)}\n`)
  const { session, chosen } = opened
  const { name: provider, model } = chosen
  const ending = { provider, model, ...(stats && { stats }) }
  screen.end(withSession(ending, opened, io))
  if (error !== undefined) {
    const { explainFailure } = await import('../explain-failure.ts')
    const explained = explainFailure(error, { env: io.env, provider, model })
    throw new CliError(explained.message, exitCode === exitCodes.error ? explained.exitCode : exitCode, {
      cause: error,
    })
  }
  if (exitCode === exitCodes.permission)
    for (const line of session ? await pendingCallLines(session) : [notAsked]) io.err(line)
  return exitCode
}

const notAsked =
  'A call needs approval, and there was no one to ask, so it was not run. Run it in a terminal, allow such calls beforehand with --allow, or leave --no-session out to see the call and to answer it.'

/** Adds the session to resume, unless nothing was written to it. */
export const withSession = (ending: RunEnding, { session }: Pick<OpenedAgent, 'session'>, io: Io): RunEnding =>
  session?.turns.length ? { ...ending, sessionId: session.id, program: programName(io) } : ending

/** Names the calls that need approval and the commands that answer them. */
async function pendingCallLines(session: Session): Promise<string[]> {
  const pending = await session.pendingInTree()
  const id = fullyVisible(session.id)
  const facts = pending.flatMap(({ request }) => promptFacts(request))
  const isUnconfined = facts.some((line) => /^asked because: .*there is no sandbox: /.test(line))
  return [
    ...pending.flatMap(({ name, input, reason, request }) => [
      `needs approval: ${fullyVisible(name)} ${fullyVisible(JSON.stringify(input))} (${fullyVisible(reason)})`,
      ...promptFacts(request).map((line) => `    ${line}`),
    ]),
    `There was no one to ask, so nothing of this was run. To answer: libero sessions answer ${id} allow; then: libero --resume ${id}`,
    isUnconfined
      ? 'Or run it in a terminal. Without a sandbox no rule allows a command; libero doctor says how to get one.'
      : 'Or run it in a terminal, or allow such calls beforehand with --allow.',
  ]
}
