import type { SessionAnswer } from '../../authority/answer-session.ts'
import { isChildOf } from '../../core/children.ts'
import type { PendingCall, Session } from '../../core/store.ts'
import { loadSession } from '../../sessions/session.ts'
import { noteFromStates } from '../agent-instance.ts'
import type { Engine } from './engine.ts'
import type { LiveAgent } from './live-agent.ts'

/** A call that waits for a person: for a permission, or for the answer to a question. */
export interface PendingApproval extends PendingCall {
  /** Names this call only. The models of several agents may use the same `callId`. */
  readonly approvalId: string
  /** The session of the agent, or of one of its sub-agents. */
  readonly sessionId: string
  readonly isQuestion: boolean
}

/** The calls of an agent and its sub-agents that wait for a person. */
export class PendingCalls {
  readonly #agent: LiveAgent

  constructor(agent: LiveAgent) {
    this.#agent = agent
  }

  async list(): Promise<readonly PendingApproval[]> {
    const session = await this.#agent.current()
    // A cancelled agent asks nothing any more; the next message leaves its calls behind.
    if (this.#agent.log.views.messages.status.state === 'canceled') return []
    const all = await session.pendingInTree()
    return all
      .filter(({ decision }) => decision === undefined)
      .map((call) => ({ ...call, approvalId: approvalIdOf(call), isQuestion: isQuestion(call) }))
  }

  /** Records the decision about a call. The first decision counts. */
  async decide(name: string, answer: SessionAnswer): Promise<void> {
    const call = await this.#find(name, 'permission')
    const engine = await this.#agent.engine.load()
    const root = await this.#agent.current() // for a denial too, so that of two decisions the earlier one comes first
    const session = await this.#sessionOf(call.sessionId)
    if (answer.decision === 'allow') checkToolExists(call, { session, root, engine, definitionId: this.#definitionId })
    await engine.authority.answer(session, call.callId, answer)
  }

  /** Records the answer to a question: it becomes the result of the call that asked. */
  async answer(name: string, content: string): Promise<void> {
    const call = await this.#find(name, 'an answer')
    if (typeof content === 'string' && content.trim() === '')
      throw new TypeError(
        `the answer to question "${name}" of agent ${this.#agent.id} is empty; say something: the question still waits`,
      )
    const session = await this.#sessionOf(call.sessionId)
    const root = await this.#agent.current()
    const engine = await this.#agent.engine.load()
    checkToolExists(call, { session, root, engine, definitionId: this.#definitionId })
    await session.answer(call.callId, { content })
  }

  get #definitionId(): string {
    return this.#agent.instance.definitionId
  }

  /** Needs no engine: an agent can be cancelled and closed after its definition or plugins were removed. */
  async denyAll(calls: readonly PendingApproval[]): Promise<void> {
    const session = await this.#agent.current()
    for (const call of calls) {
      if (call.isQuestion || call.sessionId !== session.id) continue
      await session.answer(call.callId, { decision: 'deny', by: 'user', content: 'it was cancelled' }).catch(() => {})
    }
  }

  async #find(name: string, what: string): Promise<PendingApproval> {
    const { id } = this.#agent
    const all = await this.list()
    const [found, ...more] = callsNamed(name, all)
    if (!found)
      throw new Error(
        `agent ${id} has no call "${name}" that waits for ${what}; ${all.length === 0 ? 'none waits' : `there is ${names(all)}`}`,
      )
    if (more.length > 0)
      throw new Error(
        `${more.length + 1} calls of agent ${id} and its sub-agents are named "${name}"; say which one by its approvalId: ${names([found, ...more])}`,
      )
    return found
  }

  async #sessionOf(sessionId: string): Promise<Session> {
    const { id, store, dependencies } = this.#agent
    if (sessionId === id) return this.#agent.current()
    return loadSession(store, sessionId, { clock: dependencies.clock })
  }
}

/** Models choose the ids of calls: none may look like a call of another session. */
const approvalIdOf = ({ sessionId, callId }: { readonly sessionId: string; readonly callId: string }): string =>
  `${sessionId}/${callId.replace(/[%/]/g, encodeURIComponent)}`

const names = (calls: readonly PendingApproval[]): string =>
  calls.map(({ approvalId, name }) => `"${approvalId}" (${name})`).join(', ')

/** The authority asks for permissions, with its request; a tool asks questions by itself. */
const isQuestion = ({ request }: PendingCall): boolean => request === undefined

/** The calls that a name may mean: the one that has it as `approvalId`, or else all that have it as `callId`. */
export function callsNamed<Call extends Pick<PendingApproval, 'approvalId' | 'callId'>>(
  name: string,
  calls: readonly Call[],
): readonly Call[] {
  const exact = calls.filter(({ approvalId }) => approvalId === name)
  return exact.length > 0 ? exact : calls.filter(({ callId }) => callId === name)
}

interface CallOrigin {
  /** The session of the call: the agent's, or a sub-agent's. */
  readonly session: Session
  readonly root: Session
  readonly definitionId: string
  readonly engine: Pick<Engine, 'lacksTool'>
}

/** Throws if an answer would be lost, because the definition certainly has no tool for the call any more. */
function checkToolExists(call: PendingApproval, { session, root, definitionId, engine }: CallOrigin): void {
  if (session.id !== root.id) {
    const rest = session.id.slice(root.id.length + 1)
    const [name = rest] = rest.split('/')
    const parentCall = root.log.transcript.openCalls.find(({ id }) => isChildOf(name, id))
    if (parentCall && engine.lacksTool(parentCall.name))
      throw new Error(missingTool(call, parentCall.name, definitionId))
  }
  if (!session.log.transcript.hasCall(call.callId)) return // a tool made the call, and may have tools of its own
  const subAgent = session.id === root.id ? undefined : noteFromStates(session.log.transcript.states)
  if (session.id !== root.id && !subAgent) return
  if (engine.lacksTool(call.name, subAgent))
    throw new Error(missingTool(call, call.name, subAgent?.definitionId ?? definitionId))
}

function missingTool({ callId, isQuestion }: PendingApproval, tool: string, definitionId: string): string {
  const what = isQuestion ? 'the answer to question' : 'the permission for call'
  const otherwise = isQuestion ? 'or send the agent a message, which leaves the question behind' : 'or deny the call'
  return `the definition "${definitionId}" has no tool "${tool}" any more, so ${what} "${callId}" would be lost, and was not taken; give it the tool again, ${otherwise}`
}
