import type { Clock } from '../core/clock.ts'
import type { PendingCall, Session, SessionStore } from '../core/store.ts'
import type { Engine } from './agent-parts.ts'

/** A call that waits for a person. */
export interface Waiting extends PendingCall {
  readonly sessionId: string
  readonly isQuestion: boolean
}

export interface WaitingCallsOptions {
  readonly agentId: string
  /** Its session as it is in the store by now: another process may have written it. */
  readonly session: () => Promise<Session>
  /** Where the sessions of its sub-agents are. */
  readonly store: SessionStore
  readonly clock: Clock
  readonly engine: () => Promise<Engine>
  readonly isCancelled: () => boolean
}

/** What of an agent waits for people: permissions and questions, of sub-agents too. */
export class WaitingCalls {
  readonly #options: WaitingCallsOptions

  constructor(options: WaitingCallsOptions) {
    this.#options = options
  }

  async list(): Promise<readonly Waiting[]> {
    const session = await this.#options.session()
    // Who cancelled it does not want to be asked any more; the next message leaves the calls behind.
    if (this.#options.isCancelled()) return []
    const all = await session.pendingInTree()
    return all
      .filter(({ decision }) => decision === undefined)
      .map((call) => ({ ...call, isQuestion: isQuestion(call) }))
  }

  /** Writes down what was decided about a call. The first answer counts. */
  async decide(
    callId: string,
    answer: { readonly decision: 'allow' | 'deny'; readonly by?: string; readonly note?: string },
  ): Promise<void> {
    const { sessionId } = await this.#find(callId, 'permission')
    const { authority } = await this.#options.engine()
    await authority.answer(await this.#sessionOf(sessionId), callId, answer)
  }

  /** The same for an answer to a question: it is the result of the call that asked. */
  async answer(callId: string, content: string): Promise<void> {
    const { sessionId } = await this.#find(callId, 'an answer')
    const session = await this.#sessionOf(sessionId)
    await session.answer(callId, { content })
  }

  async denyAll(waiting: readonly Waiting[]): Promise<void> {
    const { session: current, engine } = this.#options
    const session = await current()
    const { authority } = await engine()
    for (const call of waiting) {
      if (call.isQuestion || call.sessionId !== session.id) continue
      await authority.answer(session, call.callId, { decision: 'deny', note: 'it was cancelled' }).catch(() => {})
    }
  }

  async #find(callId: string, what: string): Promise<Waiting> {
    const all = await this.list()
    const found = all.find((call) => call.callId === callId)
    if (found) return found
    const others = all.map((call) => `"${call.callId}" (${call.name})`).join(', ')
    throw new Error(
      `agent ${this.#options.agentId} has no call "${callId}" that waits for ${what}; ${others === '' ? 'none waits' : `there is ${others}`}`,
    )
  }

  async #sessionOf(sessionId: string): Promise<Session> {
    const { session, store, clock, agentId } = this.#options
    if (sessionId === agentId) return session()
    const { loadSession } = await import('../sessions/session.ts')
    return loadSession(store, sessionId, { clock })
  }
}

/** Permissions are asked for by the authority, and carry its request; a question is put by the tool itself. */
const isQuestion = ({ request }: PendingCall): boolean => request === undefined
