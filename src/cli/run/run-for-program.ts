import type { Writable } from 'node:stream'
import type { Meta } from '../../core/meta.ts'
import { version } from '../../core/version.ts'
import { durable } from '../../events/events.ts'
import type { EventsHost } from '../../rpc/event-server.ts'
import { exitCodes, UsageError } from '../cli-error.ts'
import type { RunValues } from '../commands/run.ts'
import { checkWritten } from '../failures/output-failure.ts'
import type { Io } from '../io.ts'
import { reserveStdout } from '../rpc/reserve-stdout.ts'
import { followPaced, holdBack } from '../rpc/slow-reader.ts'
import { type OpenedAgent, openAgent, runOptions } from './open-agent.ts'
import { exitCodeOf, outcomeOf } from './run-outcome.ts'
import { superviseRuns } from './supervise-run.ts'

/** `libero run` with `--json` or `--events`: writes lines for a program to stdout and has no screen. */
export async function runForProgram(
  values: RunValues,
  task: string | undefined,
  { io, cwd }: { readonly io: Io; readonly cwd: string },
): Promise<number> {
  if (values.json && task === undefined)
    throw new UsageError('there is no task; write it as in: libero --json "list the files here"')
  const { frames, restore } = reserveStdout(io)
  let opened: OpenedAgent | undefined
  const stopping = new AbortController()
  const supervisor = superviseRuns(io, () => stopping.abort(), io.err)
  try {
    opened = await openAgent(values, { io, cwd })
    for (const notice of opened.notices) io.err(notice)
    const serve = values.json ? writeJson : serveLines
    const exitCode = await supervisor.during(serve(values, task, opened, { io, cwd, frames, signal: stopping.signal }))
    checkWritten(frames)
    if (supervisor.error !== undefined) throw supervisor.error
    return supervisor.exitCode ?? exitCode
  } finally {
    await opened?.close()
    supervisor.close()
    restore()
  }
}

interface Wire {
  readonly io: Io
  readonly cwd: string
  readonly frames: Writable
  readonly signal: AbortSignal
}

async function writeJson(
  values: RunValues,
  task: string | undefined,
  opened: OpenedAgent,
  wire: Wire,
): Promise<number> {
  const { runJson } = await import('../rpc/one-shot.ts')
  const run = await runOptions(values, task, opened, wire.cwd)
  return runJson({ agent: opened.agent, run: { ...run, signal: wire.signal }, stdout: wire.frames })
}

async function serveLines(
  values: RunValues,
  task: string | undefined,
  opened: OpenedAgent,
  wire: Wire,
): Promise<number> {
  const { serveEvents } = await import('../../rpc/event-server.ts')
  const last = await serveEvents({
    host: hostOf(values, opened, wire.cwd),
    input: wire.io.stdin as AsyncIterable<Uint8Array>,
    output: wire.frames,
    signal: wire.signal,
    ...(task !== undefined ? { first: task } : isUnfinished(opened) && { first: true as const }),
    ...(values.after !== undefined && { after: Number(values.after) }),
  })
  if (last?.error !== undefined) wire.io.err(`libero: ${last.error}`)
  return last ? exitCodeOf(last) : exitCodes.done
}

/** Whether the session ended in the middle of a run: it continues without a task. */
function isUnfinished({ agent: { log } }: OpenedAgent): boolean {
  return log.transcript.turns.length > 0 && !log.transcript.isAnswered
}

function hostOf(values: RunValues, opened: OpenedAgent, cwd: string): EventsHost {
  const { agent, authority, chosen, session } = opened
  const { image: _, ...withoutImages } = values
  let flags: RunValues = values
  let active: AbortController | undefined
  let isReady: () => Promise<void> | undefined = () => undefined
  return {
    version,
    provider: chosen.name,
    model: chosen.model,
    cwd,
    ...(session && { session: session.id }),
    head: agent.log.head,
    replay: async (after) => (await opened.entries(after)).map(durable),
    follow: (listener) => followPaced(agent, () => isReady(), listener),
    async run(message, clientKey, meta) {
      active = new AbortController() // at once: an abort may arrive before the agent starts
      const { signal } = active
      const options = await runOptions(message === undefined ? withoutImages : flags, message, opened, cwd)
      if (message !== undefined) flags = withoutImages // the model has seen them with the first prompt
      return outcomeOf(agent.run({ ...options, signal, ...given(clientKey, meta) }))
    },
    steer: (message, clientKey, meta) => agent.steer(message, given(clientKey, meta)),
    followUp: (message, clientKey, meta) => agent.followUp(message, given(clientKey, meta)),
    abort: () => active?.abort(),
    attach: (present) =>
      authority.attach({
        name: 'program',
        present(prompt) {
          const { correlationId, kind, payload, expiresAt, signal } = prompt
          present({
            correlationId,
            kind,
            payload,
            expiresAt,
            signal,
            respond: (answer) =>
              prompt.respond(
                'value' in answer
                  ? { status: 'accepted', value: answer.value }
                  : { status: 'rejected', reason: answer.reason },
              ),
          })
        },
      }),
    applyBackpressure(ready) {
      isReady = ready
      holdBack(agent, ready)
    },
  }
}

/** The options of a message, as far as the client gave them. */
const given = (clientKey: string | undefined, meta: Meta | undefined) => ({
  ...(clientKey !== undefined && { clientKey }),
  ...(meta && { meta }),
})
