import type { Authority } from '../authority/authority.ts'
import { systemClock } from '../core/clock.ts'
import type { SessionStore, SessionSummary } from '../core/store.ts'
import { oneLine } from '../core/text.ts'
import { type OpenCall, openCalls } from '../sessions/open-calls.ts'
import { loadSession } from '../sessions/session.ts'
import type { ChatHost, ElsewhereAnswer, WaitingCall, WaitingSession } from './chat.ts'

/** Other sessions that wait for a person. */
export interface WaitingElsewhere {
  /** Looks now, or as soon as the last look is five seconds old. */
  look(): void
  /** Sends an answer, and looks again. */
  answer(authority: Authority | undefined, call: Answered): Promise<void>
  close(): void
}

interface Answered {
  readonly sessionId: string
  readonly callId: string
  readonly answer: ElsewhereAnswer
}

interface WaitingOptions extends Pick<ChatHost, 'store' | 'clock'> {
  /** The session that the chat shows itself. */
  ownId(): string | undefined
  onChange(sessions: readonly WaitingSession[]): void
}

export function createWaitingElsewhere(options: WaitingOptions): WaitingElsewhere {
  const { store, clock = systemClock, ownId, onChange } = options
  /** By id: what a session waited for when it ended with that entry. */
  let known = new Map<string, { readonly head: number; readonly waiting: WaitingSession }>()
  let shown = ''
  let lookedAt = Number.NEGATIVE_INFINITY
  let cancelTimer: (() => void) | undefined
  let isClosed = false

  async function query(from: SessionStore): Promise<void> {
    const { sessions } = await from.list({ status: 'waiting', parent: null, limit: most })
    const now: typeof known = new Map()
    for (const summary of sessions) {
      if (summary.id === ownId() || summary.attention === 'answered') continue
      const before = known.get(summary.id)
      const isSame = before?.head === summary.head
      now.set(summary.id, isSame ? before : { head: summary.head, waiting: await waitingSession(from, summary) })
    }
    known = now
    const list = [...now.values()].map(({ waiting }) => waiting).filter(({ calls }) => calls.length > 0)
    const text = JSON.stringify(list.map(({ id, calls }) => [id, calls.map(({ callId }) => callId)]))
    if (isClosed || text === shown) return
    shown = text
    onChange(list)
  }

  function look(): void {
    if (!store || isClosed || cancelTimer) return
    const waitMs = lookedAt + pauseMs - clock.now()
    const now = (): void => {
      cancelTimer = undefined
      lookedAt = clock.now()
      query(store).catch(() => {}) // the next look may find the store again
    }
    if (waitMs <= 0) now()
    else cancelTimer = clock.timer(waitMs, now)
  }

  return {
    look,
    async answer(authority, { sessionId, callId, answer }) {
      if (!store) throw new Error('This chat has no store, so no other session can be answered')
      const session = await loadSession(store, sessionId)
      if ('text' in answer) await session.answer(callId, { content: answer.text, by: answer.by ?? 'user' })
      else if (!authority) throw new Error('There is no authority that could sign the answer; open a session first')
      else await authority.answer(session, callId, { by: 'user', ...answer })
      known.clear()
      await query(store)
    },
    close() {
      isClosed = true
      cancelTimer?.()
    },
  }
}

const most = 50
const pauseMs = 5000

async function waitingSession(store: SessionStore, { id, title, folder }: SessionSummary): Promise<WaitingSession> {
  const calls = await openCalls(store, id).catch(() => []) // deleted meanwhile
  return { id, title: oneLine(title ?? id, 200), ...(folder !== undefined && { folder }), calls: calls.map(inWords) }
}

function inWords({ sessionId, callId, name, input, request, wasAsked }: OpenCall): WaitingCall {
  const { command, path, question, url } = input
  const subject = [command, path, question, url].find((one) => typeof one === 'string') ?? JSON.stringify(input)
  return {
    ...{ sessionId, callId, name, input },
    text: oneLine(`${name}: ${subject}`, 200),
    ...(!wasAsked && { isQuestion: true }),
    ...(request !== undefined && { request }),
  }
}
