import type { Clock } from '../../core/clock.ts'
import type { PendingCall, Session, SessionStore } from '../../core/store.ts'
import { loadSession } from '../../sessions/session.ts'
import type { Engine } from '../engine/make-engine.ts'
import { callsNamed } from './calls-named.ts'
import { type LostToolCheck, refuseLostTool } from './lost-tool.ts'

/** A call that waits for a person. */
export interface Waiting extends PendingCall {
  /** What it is answered by: no other call has this name. Models of several agents may use the same `callId`. */
  readonly approvalId: string
  /** The agent's, or that of one of its sub-agents. */
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
  readonly definitionId: () => string
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
      .map((call) => ({ ...call, approvalId: approvalIdOf(call), isQuestion: isQuestion(call) }))
  }

  /** Writes down what was decided about a call. The first answer counts. */
  async decide(
    name: string,
    answer: { readonly decision: 'allow' | 'deny'; readonly by?: string; readonly note?: string },
  ): Promise<void> {
    const call = await this.#find(name, 'permission')
    const engine = await this.#options.engine()
    const { authority } = engine
    const root = await this.#options.session() // for a denial too: of two decisions the one that came first is first
    const session = await this.#sessionOf(call.sessionId)
    if (answer.decision === 'allow') this.#refuseLost({ call, asking: session, root, engine })
    await authority.answer(session, call.callId, answer)
  }

  /** The same for an answer to a question: it is the result of the call that asked. */
  async answer(name: string, content: string): Promise<void> {
    const call = await this.#find(name, 'an answer')
    if (typeof content === 'string' && content.trim() === '')
      throw new TypeError(
        `the answer to question "${name}" of agent ${this.#options.agentId} is empty; say something: the question still waits`,
      )
    const session = await this.#sessionOf(call.sessionId)
    const root = await this.#options.session()
    this.#refuseLost({ call, asking: session, root, engine: await this.#options.engine() })
    await session.answer(call.callId, { content })
  }

  #refuseLost(check: Omit<LostToolCheck, 'definitionId'>): void {
    refuseLostTool({ ...check, definitionId: this.#options.definitionId() })
  }

  /** Needs no engine: an agent can be cancelled and closed whose definition or plugins are gone. */
  async denyAll(waiting: readonly Waiting[]): Promise<void> {
    const session = await this.#options.session()
    for (const call of waiting) {
      if (call.isQuestion || call.sessionId !== session.id) continue
      await session.answer(call.callId, { decision: 'deny', by: 'user', content: 'it was cancelled' }).catch(() => {})
    }
  }

  async #find(name: string, what: string): Promise<Waiting> {
    const { agentId } = this.#options
    const all = await this.list()
    const [found, ...more] = callsNamed(name, all)
    if (!found)
      throw new Error(
        `agent ${agentId} has no call "${name}" that waits for ${what}; ${all.length === 0 ? 'none waits' : `there is ${names(all)}`}`,
      )
    if (more.length > 0)
      throw new Error(
        `${more.length + 1} calls of agent ${agentId} and its sub-agents are named "${name}"; say which one by its approvalId: ${names([found, ...more])}`,
      )
    return found
  }

  async #sessionOf(sessionId: string): Promise<Session> {
    const { session, store, clock, agentId } = this.#options
    if (sessionId === agentId) return session()
    return loadSession(store, sessionId, { clock })
  }
}

/** Ids of calls come from models: none may look like a call of another session. */
const approvalIdOf = ({ sessionId, callId }: { readonly sessionId: string; readonly callId: string }): string =>
  `${sessionId}/${callId.replace(/[%/]/g, encodeURIComponent)}`

const names = (calls: readonly Waiting[]): string =>
  calls.map(({ approvalId, name }) => `"${approvalId}" (${name})`).join(', ')

/** Permissions are asked for by the authority, and carry its request; a question is put by the tool itself. */
const isQuestion = ({ request }: PendingCall): boolean => request === undefined
