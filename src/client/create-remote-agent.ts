import type { LogEntry, RunStatus } from '../core/log.ts'
import { textOf } from '../core/turn.ts'
import { emptyView, foldOnwards, type UsageView } from '../view/session-view.ts'
import type { RemoteOptions } from './connection.ts'
import { createRemoteClient, type RemoteClient } from './create-remote-client.ts'
import { RemoteProblem } from './remote-problem.ts'
import type { RemoteAnswer, RemoteContent, RemotePendingCall } from './remote-types.ts'
import type { RemoteEvent, RemoteEventsOptions } from './session-events.ts'

/** How a run ended. */
export interface RemoteRun {
  readonly status: RunStatus
  readonly stop: string
  /** The last reply of the model. */
  readonly text: string
  /** Of the model calls between the prompt and the end. */
  readonly usage: UsageView
  readonly error?: string
  /** The number of the last entry. */
  readonly head: number
}

/** An agent that works in a session of a server. A lost connection stops nothing; `abort` does. */
export interface RemoteAgent {
  readonly client: RemoteClient
  readonly session: string
  /**
   * Sends a prompt and waits for the end of the run that answers it; rejects if another client takes the prompt back. Without a prompt: continues, and waits for the end of
   * a run after the last one that was waited for, as after an answer. The signal ends the waiting, not the run.
   */
  run(options?: { readonly prompt?: RemoteContent; readonly signal?: AbortSignal }): Promise<RemoteRun>
  /** Delivers a message before the next model call of the run. */
  steer(message: RemoteContent): Promise<void>
  /** Delivers a message when the model is done. */
  followUp(message: RemoteContent): Promise<void>
  /** Stops the run under way. */
  abort(): Promise<void>
  events(options?: RemoteEventsOptions): AsyncGenerator<RemoteEvent, void, undefined>
  /** The calls that wait for a person. */
  pending(): Promise<readonly RemotePendingCall[]>
  answer(call: RemotePendingCall, answer: RemoteAnswer): Promise<void>
}

/** A handle on one session of a server, for programs that only want to run an agent there. */
export function createRemoteAgent({
  session = crypto.randomUUID(),
  ...options
}: RemoteOptions & {
  /** The id of the session. It is made with the first prompt if there is none. Default: a new one. */
  readonly session?: string
}): RemoteAgent {
  const client = createRemoteClient(options)
  /** The end of the last run that was waited for. */
  let seen: number | undefined

  /** The head of the session, which is made if there is none. Who makes it does not matter: another try, or another client. */
  async function open(triesLeft = 10): Promise<number> {
    try {
      return (await client.sessions.get(session)).head
    } catch (problem) {
      if (codeOf(problem) !== 'no_session' || triesLeft === 0) throw problem
    }
    await client.sessions.make({ id: session }).catch((problem: unknown) => {
      if (codeOf(problem) !== 'session_exists' && codeOf(problem) !== 'no_connection') throw problem
    })
    return open(triesLeft - 1)
  }

  /** Throws if no run would ever end. */
  async function goOn(): Promise<number> {
    const { head, status, attention } = await client.sessions.get(session)
    const after = seen ?? head
    const isOver = status === 'idle' || status === 'failed' || status === 'parked'
    if (head === after && isOver && attention === undefined) {
      const detail = `There is nothing to continue in session ${JSON.stringify(session)}; run it with a prompt`
      throw new RemoteProblem({ status: 409, code: 'nothing_to_do', detail })
    }
    await client.continue(session)
    return after
  }

  async function untilEnd(after: number, key: string | undefined, signal: AbortSignal | undefined): Promise<RemoteRun> {
    const types = ['input', 'withdrawn', 'turn', 'usage', 'run_ended', 'parked'] as const
    let view = { ...emptyView, head: after }
    let text = ''
    let input: string | undefined
    let isAnswering = key === undefined
    for await (const event of client.events(session, { after, types, deltas: false, ...(signal && { signal }) })) {
      if (!event.durable) continue
      const { entry } = event
      view = foldOnwards(view, event)
      if (entry.type === 'input' && entry.clientKey === key) input = entry.id
      if (entry.type === 'withdrawn' && entry.input === input && !isAnswering)
        throw new RemoteProblem({
          status: 409,
          code: 'withdrawn',
          detail: 'The prompt was taken back; no run answers it',
        })
      if (entry.type === 'turn') {
        const isIt = entry.clientKey === key || (input !== undefined && entry.consumed?.includes(input) === true)
        if (isIt && !isAnswering) text = '' // of a run before it
        isAnswering ||= isIt
        if (entry.turn.role === 'assistant') text = textOf(entry.turn)
      }
      if (!isAnswering || !isEnd(entry)) continue
      seen = event.seq
      const { usage } = view
      if (entry.type === 'parked')
        return { status: 'error', stop: 'parked', text, usage, error: entry.reason, head: seen }
      const { status, stop, error } = entry
      return { status, stop, text, usage, ...(error && { error: error.message }), head: seen }
    }
    throw signal?.reason ?? new Error('unreachable: events end only with their signal')
  }

  const send = async (content: RemoteContent, mode: 'steer' | 'followUp'): Promise<void> =>
    void (await client.send(session, { content, mode }))

  return {
    client,
    session,
    async run({ prompt, signal } = {}) {
      if (prompt === undefined) return untilEnd(await goOn(), undefined, signal)
      // Read before it is sent: an answer that was lost and repeated tells a later one.
      const after = await open()
      const key = crypto.randomUUID()
      await client.send(session, { content: prompt, key, ...(signal && { signal }) })
      return untilEnd(after, key, signal)
    },
    steer: (message) => send(message, 'steer'),
    followUp: (message) => send(message, 'followUp'),
    abort: () => client.stop(session),
    events: (given) => client.events(session, given),
    pending: () => client.pending({ session }),
    answer: (call, answer) => client.answer(call, answer),
  }
}

/** A run that its process left, or died in, goes on in another one. */
const isEnd = (entry: LogEntry): entry is Extract<LogEntry, { type: 'run_ended' | 'parked' }> =>
  entry.type === 'parked' || (entry.type === 'run_ended' && entry.status !== 'left' && entry.stop !== 'crashed')

const codeOf = (error: unknown): string | undefined => (error instanceof RemoteProblem ? error.code : undefined)
