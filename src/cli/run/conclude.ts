import { CliError } from '../cli-error.ts'
import type { RunValues } from '../commands/run.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { programName } from '../program-name.ts'
import type { RunEnding, Screen } from '../screen/screen.ts'
import type { Terminal } from '../screen/terminal.ts'
import type { Attended } from './attend.ts'
import type { OpenedAgent } from './open-agent.ts'

interface Concluding {
  readonly io: Io
  readonly screen: Screen
  readonly terminal: Terminal
  readonly values: RunValues
  /** There may be another run. */
  readonly isTalk: boolean
}

/** Shows how a run ended, and says what that means for the process. What failed is thrown, in words. */
export async function conclude(
  { stats, error, exitCode }: Attended,
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
    const { whatWaits } = await import('./what-waits.ts')
    for (const line of await whatWaits(session)) io.err(line)
  }
  return exitCode
}

/** How to go on is said once, when it is over, and of a session that could be written. */
export const withSession = (ending: RunEnding, { session }: Pick<OpenedAgent, 'session'>, io: Io): RunEnding =>
  session?.turns.length ? { ...ending, sessionId: session.id, program: programName(io) } : ending
