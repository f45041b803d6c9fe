import type { Agent } from '../../core/agent.ts'
import { AgentAbortedError, messageOf } from '../../core/errors.ts'
import { version } from '../../core/version.ts'
import { durable, followEvents } from '../../events/events.ts'
import type { EventsHost } from '../../rpc/event-server.ts'
import type { RunOutcome } from '../../rpc/host.ts'
import { UsageError } from '../cli-error.ts'
import type { RunValues } from '../commands/run.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { watch } from './attend.ts'
import { type OpenedAgent, openAgent } from './open-agent.ts'
import { runOptions } from './run-options.ts'

/** `libero run` with `--json` or `--events`: lines for a program on stdout, and no screen. */
export async function workForProgram(
  values: RunValues,
  task: string | undefined,
  { io, cwd }: { readonly io: Io; readonly cwd: string },
): Promise<number> {
  if (values.json && task === undefined)
    throw new UsageError('there is no task; say it as in: libero --json "list the files here"')
  let opened: OpenedAgent | undefined
  const watching = watch(io, () => opened?.agent.abort(), io.err)
  try {
    opened = await openAgent(values, { io, cwd })
    for (const notice of opened.notices) io.err(notice)
    const working = values.json
      ? asFrames(values, task, opened, { io, cwd })
      : overLines(values, task, opened, { io, cwd })
    const exitCode = await watching.during(working)
    return watching.exitCode ?? exitCode
  } finally {
    await opened?.close()
    watching.close()
  }
}

async function asFrames(
  values: RunValues,
  task: string | undefined,
  opened: OpenedAgent,
  { io, cwd }: { readonly io: Io; readonly cwd: string },
): Promise<number> {
  const { runJson } = await import('../rpc/one-shot.ts')
  const run = await runOptions(values, task, opened, cwd)
  return runJson({ agent: opened.agent, run, stdout: io.stdout })
}

async function overLines(
  values: RunValues,
  task: string | undefined,
  opened: OpenedAgent,
  { io, cwd }: { readonly io: Io; readonly cwd: string },
): Promise<number> {
  const { serveEvents } = await import('../../rpc/event-server.ts')
  const last = await serveEvents({
    host: hostOf(values, opened, cwd),
    input: io.stdin as AsyncIterable<Uint8Array>,
    output: io.stdout,
    ...(task !== undefined ? { first: task } : isOpen(opened) && { first: true as const }),
    ...(values.after !== undefined && { after: Number(values.after) }),
  })
  if (last?.error !== undefined) io.err(`libero: ${last.error}`)
  return last ? exitCodeOf(last) : exitCodes.done
}

/** A session that stopped in the middle goes on by itself. */
const isOpen = ({ agent }: OpenedAgent): boolean =>
  agent.log.transcript.turns.length > 0 && !agent.log.transcript.isAnswered

function hostOf(values: RunValues, opened: OpenedAgent, cwd: string): EventsHost {
  const { agent, authority, chosen, session } = opened
  return {
    version,
    provider: chosen.name,
    model: chosen.model,
    cwd,
    ...(session && { session: session.id }),
    head: agent.log.head,
    replay: async (after) => (await opened.entries(after)).map(durable),
    follow: (listener) => followEvents(agent, listener),
    run: async (message, clientKey) => {
      const options = await runOptions(values, message, opened, cwd)
      return outcomeOf(agent.run({ ...options, ...(clientKey !== undefined && { clientKey }) }))
    },
    steer: (message, clientKey) => agent.steer(message, clientKey === undefined ? {} : { clientKey }),
    followUp: (message, clientKey) => agent.followUp(message, clientKey === undefined ? {} : { clientKey }),
    abort: () => agent.abort(),
    attach: (present) =>
      authority.attach({
        name: 'program',
        present(prompt) {
          present({
            ...prompt,
            signal: prompt.signal,
            respond: (answer) =>
              prompt.respond(
                'value' in answer
                  ? { status: 'accepted', value: answer.value }
                  : { status: 'rejected', reason: answer.reason },
              ),
          })
        },
      }),
    holdBack(isReady) {
      for (const moment of heldMoments) agent.hooks.hook(moment, () => isReady())
    },
  }
}

/** Each of these is awaited: whoever streams is held up while the reader is slow. */
const heldMoments = [
  'turn:before',
  'stream:text',
  'stream:thinking',
  'stream:tool:args',
  'turn:after',
  'tool:after',
] as const

async function outcomeOf(running: ReturnType<Agent['run']>): Promise<RunOutcome> {
  try {
    const { status, stopReason } = await running
    return { status, stopReason }
  } catch (error) {
    if (error instanceof AgentAbortedError) return { status: 'aborted', stopReason: 'aborted' }
    return { status: 'error', stopReason: 'error', error: messageOf(error) }
  }
}

function exitCodeOf({ status, stopReason }: RunOutcome): number {
  if (status === 'aborted') return exitCodes.interrupted
  if (status === 'error') return exitCodes.error
  if (status === 'suspended') return exitCodes.permission
  return stopReason === 'budget' || stopReason === 'max_turns' ? exitCodes.budget : exitCodes.done
}
