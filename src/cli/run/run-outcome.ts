import { AgentAbortedError, messageOf } from '../../core/errors.ts'
import type { Session } from '../../core/store.ts'
import type { AgentStats } from '../../core/usage.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { RunOutcome } from '../../rpc/host.ts'
import { CliError, exitCodes } from '../cli-error.ts'
import type { RunValues } from '../commands/run.ts'
import type { Io } from '../io.ts'
import type { RunEnding, Screen } from '../screen/screen.ts'
import type { Terminal } from '../screen/terminal.ts'
import { toolChangeLines } from '../sessions/tool-change.ts'
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

/** What a process ends with whose last run ended so. */
export function exitCodeOf({ status, stopReason }: RunOutcome): number {
  if (status === 'aborted') return exitCodes.interrupted
  if (status === 'error') return exitCodes.error
  if (status === 'suspended') return exitCodes.permission
  return stopReason === 'budget' || stopReason === 'max_turns' ? exitCodes.budget : exitCodes.done
}

interface Concluding {
  readonly io: Io
  readonly screen: Screen
  readonly terminal: Terminal
  readonly values: RunValues
  /** There may be another run. */
  readonly isTalk: boolean
}

/** Shows how a run ended, and says what that means for the process. What failed is thrown, in words. */
export async function concludeRun(
  { stats, error, exitCode }: RunResult,
  opened: OpenedAgent,
  { io, screen, terminal, values, isTalk }: Concluding,
): Promise<number> {
  if (error === undefined && exitCode === exitCodes.done && values.schema !== undefined)
    terminal.answer(`${JSON.stringify(stats?.output ?? null)}\n`)
  const { session, chosen } = opened
  const { name: provider, model } = chosen
  const ending = { provider, model, ...(stats && { stats }) }
  screen.end(isTalk ? ending : withSession(ending, opened, io))
  if (error !== undefined) {
    const { explainFailure } = await import('../explain-failure.ts')
    const explained = explainFailure(error, { env: io.env, provider, model })
    throw new CliError(explained.message, exitCode === exitCodes.error ? explained.exitCode : exitCode, {
      cause: error,
    })
  }
  if (exitCode === exitCodes.permission && session) {
    for (const line of await pendingCallLines(session)) io.err(line)
  }
  return exitCode
}

/** How to go on is said once, when it is over, and of a session that could be written. */
export const withSession = (ending: RunEnding, { session }: Pick<OpenedAgent, 'session'>, io: Io): RunEnding =>
  session?.turns.length ? { ...ending, sessionId: session.id, program: programName(io) } : ending

/** For a person: which calls wait for an answer, and how to give it. */
export async function pendingCallLines(session: Session): Promise<string[]> {
  const pending = await session.pendingInTree()
  const id = fullyVisible(session.id)
  return [
    ...pending.flatMap(({ name, input, reason, request }) => [
      `waits for permission: ${fullyVisible(name)} ${fullyVisible(JSON.stringify(input))} (${fullyVisible(reason)})`,
      ...toolChangeLines(request).map((line) => `    ${line}`),
    ]),
    `Nobody could be asked, so nothing of it was done. To answer: libero sessions answer ${id} allow; then: libero --resume ${id}`,
    'Or run it in a terminal, or allow it beforehand with --allow.',
  ]
}
